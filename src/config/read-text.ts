import { readFile, stat } from "node:fs/promises";

import type { Fault } from "./faults.ts";

/**
 * The text of one of the operator's files, or the fault that it cannot be read.
 * UTF-8 alone: another encoding would change names and prompts in silence.
 */
export async function readText(path: string, shown: string): Promise<string | Fault> {
  try {
    // A pipe would be waited for without end, and a device never ends.
    const there = await stat(path);
    if (!there.isFile()) {
      const problem = there.isDirectory() ? "this is a folder" : "this is no regular file";
      return { file: shown, path: "", problem, remedy: "Make it a file, or take it out" };
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (error) {
    if (error instanceof TypeError) {
      return { file: shown, path: "", problem: "the file is not UTF-8", remedy: "Save it as UTF-8" };
    }
    const missing = codeOf(error) === "ENOENT";
    return {
      file: shown,
      path: "",
      problem: missing ? "there is no such file" : `the file cannot be read (${codeOf(error)})`,
      remedy: missing ? "Check the path, or make the file" : "Make it a file that this user may read",
    };
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}
