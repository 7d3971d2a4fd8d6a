import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { programsOn } from "../../src/media/programs.ts";

/** Absolute path of this machine's ffmpeg; undefined where there is none, which a complete run does not let pass. */
export const FFMPEG = (await programsOn(process.env)).ffmpeg;

if (FFMPEG === undefined) {
  if (process.env["PERCH_TESTS_COMPLETE"])
    throw new Error("no ffmpeg is on the PATH, and a complete run needs one");
  console.warn("No ffmpeg is on the PATH: what needs it is not tested.");
}

/** What is asked of a suite that needs ffmpeg: `describe.skipIf(NO_FFMPEG)`. */
export const NO_FFMPEG = FFMPEG === undefined;

/** What ffmpeg makes of these arguments, as a file with this ending. */
export async function made(ending: string, args: readonly string[]): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "perch-made-"));
  const file = join(folder, `made${ending}`);
  try {
    await promisify(execFile)(FFMPEG ?? "", ["-nostdin", "-loglevel", "error", ...args, file]);
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
