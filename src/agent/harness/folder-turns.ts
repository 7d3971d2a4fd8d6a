import { asError } from "../../core/errors.ts";
import type { AroundTool } from "./stage.ts";

/** Those that follow paths in the folder of a chat from outside of the sandbox. */
const FILE_TOOLS: ReadonlySet<string> = new Set([
  "ls",
  "read_file",
  "write_file",
  "edit_file",
  "glob",
  "grep",
  "present_files",
]);
const SHELL = "shell";

/**
 * Runs no command in the folder of a chat while a file tool works there, and none of these while a command runs: what it
 * looked at could be made a link to somewhere else before it is opened. A turn, which somebody waits for, is let in before
 * tasks in the background: it waits for one command of theirs at most.
 */
export const folderTurns: AroundTool = async (calling, next) => {
  const { call, turn, signal } = calling;
  const alone = call.name === SHELL;
  if (turn === undefined || (!alone && !FILE_TOOLS.has(call.name))) return await next(calling);
  const leave = await enter(turn.folder, { alone, urgent: turn.behind === undefined }, signal);
  try {
    return await next(calling);
  } finally {
    leave();
  }
};

type Lane = {
  inside: number;
  alone: boolean;
  readonly waiting: (Use & { go: () => void })[];
};

type Use = { readonly alone: boolean; readonly urgent: boolean };

/** By the folder; background tasks of a chat are in it too. One that nobody is in is not kept. */
const lanes = new Map<string, Lane>();

/** Resolves with what is to be called at the end. First come, first served, among those that are as urgent. */
async function enter(folder: string, use: Use, signal: AbortSignal | undefined): Promise<() => void> {
  const { alone } = use;
  const lane = lanes.get(folder) ?? { inside: 0, alone: false, waiting: [] };
  lanes.set(folder, lane);
  const free = lane.inside === 0 || (!alone && !lane.alone);
  if (free && lane.waiting.length === 0) {
    lane.inside += 1;
    lane.alone = alone;
  } else await place(lane, use, signal);
  return () => {
    lane.inside -= 1;
    admit(lane);
    if (lane.inside === 0) lanes.delete(folder);
  };
}

function place(lane: Lane, use: Use, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const entry = {
      ...use,
      go: (): void => {
        signal?.removeEventListener("abort", giveUp);
        resolve();
      },
    };
    function giveUp(): void {
      lane.waiting.splice(lane.waiting.indexOf(entry), 1);
      admit(lane);
      reject(asError(signal?.reason));
    }
    const at = use.urgent ? lane.waiting.findIndex(({ urgent }) => !urgent) : -1;
    lane.waiting.splice(at < 0 ? lane.waiting.length : at, 0, entry);
    signal?.addEventListener("abort", giveUp, { once: true });
    admit(lane);
  });
}

function admit(lane: Lane): void {
  for (;;) {
    const [first] = lane.waiting;
    if (first === undefined || (lane.inside > 0 && (first.alone || lane.alone))) return;
    lane.waiting.shift();
    lane.inside += 1;
    lane.alone = first.alone;
    first.go();
  }
}
