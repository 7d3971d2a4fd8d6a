import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ToolMessage } from "@langchain/core/messages";
import { ToolMessage as Result } from "@langchain/core/messages";
import { systemCode } from "../../core/errors.ts";
import type { AroundTool, StageParts } from "./stage.ts";
import { eachResult } from "./tools.ts";

/** A result stands in the thread and in every request after it; as DeerFlow has it. */
const RESULT_CHARACTERS = 12_000;
const HEAD = 2_000;
const TAIL = 1_000;
/** Where the whole of it could not be kept. */
const UNKEPT_HEAD = 8_000;
const UNKEPT_TAIL = 3_000;

/** Tools that read what is in files already, and are bounded themselves; more than that is only cut. */
const READERS: ReadonlySet<string> = new Set(["read_file", "grep", "ls", "glob"]);
const READ_CHARACTERS = 20_000;

/**
 * Keeps long results out of the thread: the model gets their beginning and their end, and where the agent has files,
 * the whole is one of them.
 */
export function budgeted({ files }: Pick<StageParts, "files">): AroundTool {
  return async (calling, next) => {
    const called = await next(calling);
    const { call, turn } = calling;
    const kept = new Map<ToolMessage, string>();
    const long: ToolMessage[] = [];
    eachResult(called, (result) => {
      if (result.text.length > RESULT_CHARACTERS) long.push(result);
      return result;
    });
    if (long.length === 0) return called;
    for (const result of long) {
      const { text } = result;
      if (READERS.has(call.name)) {
        kept.set(result, text.length <= READ_CHARACTERS ? text : cut(text));
        continue;
      }
      const path = files && turn !== undefined ? await keep(turn.folder, call, text) : undefined;
      kept.set(result, path === undefined ? ends(text, files) : inFile(text, path));
    }
    return eachResult(called, (result) => {
      const content = kept.get(result);
      return content === undefined ? result : withContent(result, content);
    });
  };
}

function withContent({ id, tool_call_id, name, status }: ToolMessage, content: string): ToolMessage {
  return new Result({
    ...(id === undefined ? {} : { id }),
    content,
    tool_call_id,
    ...(name === undefined ? {} : { name }),
    ...(status === undefined ? {} : { status }),
  });
}

function cut(text: string): string {
  return `${text.slice(0, READ_CHARACTERS).toWellFormed()}\n[… cut here; ask for less at once]`;
}

function inFile(text: string, path: string): string {
  const what = `The result has ${count(text.length)} characters. All of it is in ${path}: read it in parts, with read_file and its offset and limit.`;
  return shown(what, text, HEAD, TAIL);
}

function ends(text: string, wanted: boolean): string {
  const why = wanted ? " It could not be kept as a file." : "";
  const what = `The result has ${count(text.length)} characters, too many to be shown.${why} Ask for less at once.`;
  return wanted ? shown(what, text, UNKEPT_HEAD, UNKEPT_TAIL) : shown(what, text, HEAD, TAIL);
}

function shown(what: string, text: string, head: number, tail: number): string {
  const left = count(text.length - head - tail);
  const beginning = text.slice(0, head).toWellFormed();
  const end = text.slice(-tail).toWellFormed();
  return `[${what} Its beginning and its end:]\n${beginning}\n[… ${left} characters are left out here …]\n${end}`;
}

function count(characters: number): string {
  return characters.toLocaleString("en-US");
}

/** Gives the path as the agent names it; undefined where nothing could be kept: a full disk ends no turn. */
async function keep(
  folder: string,
  call: { readonly id: string; readonly name: string },
  text: string,
): Promise<string | undefined> {
  const results = join(folder, "workspace", "results");
  try {
    await mkdir(results, { recursive: true, mode: 0o700 });
    for (const each of [join(folder, "workspace"), results])
      if (!(await lstat(each)).isDirectory()) return undefined; // a link could lead to anywhere
    const stem = `${safe(call.name)}-${safe(call.id)}`;
    for (const name of [stem, `${stem}-${randomUUID()}`]) {
      const path = join(results, `${name}.txt`);
      if (await written(path, text)) return `/workspace/results/${name}.txt`;
    }
    return undefined;
  } catch {
    return undefined;
  }
}

/** Whether it was; false where there is a file of that name, as of a server that counts its calls. */
async function written(path: string, text: string): Promise<boolean> {
  const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;
  try {
    const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | (O_NOFOLLOW ?? 0), 0o600);
    try {
      await file.writeFile(text);
      return true;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  }
}

function safe(name: string): string {
  const kept = name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 60);
  return kept === "" ? "call" : kept;
}
