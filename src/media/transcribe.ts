import type { Transcriber } from "../core/agent.ts";
import { type Clock, pause, type Timer } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Programs } from "./programs.ts";
import type { Asked, Recording } from "./recording.ts";
import { askCommand } from "./transcribe-command.ts";
import { askOpenAi, OPENAI_AT_ONCE, partsFor } from "./transcribe-openai.ts";

/** It may take this long, and twice the length of the sound: a transcriber that is slower is no use in a chat. */
const LEAST_MS = 60_000;
/** Of a sound whose length is not known. */
const UNKNOWN_SECONDS = 600;
const AGAIN_AFTER_MS = 1_000;
/** A server that asks for more is not waited for: the person hears of it instead. */
const LONGEST_WAIT_MS = 30_000;

/**
 * Whether this transcriber can be asked for this recording at all: a program is handed a WAV, a server also what it
 * documents.
 */
export function takes(transcriber: Transcriber, recording: Recording): boolean {
  return recording.wav !== undefined || (transcriber.use === "openai" && partsFor(recording).length > 0);
}

/**
 * What is said in a recording, "" where nothing is; undefined when the transcriber failed, which is logged. Asked
 * once more where that may help. An abort rejects with the signal's reason.
 */
export async function transcribe(
  recording: Recording,
  transcriber: Transcriber,
  by: { readonly clock: Clock; readonly log: Log; readonly programs: Programs },
  signal: AbortSignal,
): Promise<string | undefined> {
  const { wav } = recording;
  if (transcriber.use === "command") {
    if (!wav) return undefined;
    const patience = patienceMs(recording.seconds);
    return await twice((stop) => askCommand(transcriber, wav.path, by.programs, stop), patience, by, signal);
  }
  const parts = partsFor(recording);
  const said: string[] = [];
  for (const part of parts) {
    const seconds = parts.length > 1 ? OPENAI_AT_ONCE.pieceSeconds : recording.seconds;
    const text = await twice(
      (stop) => askOpenAi(transcriber, part, by.clock, stop),
      patienceMs(seconds),
      by,
      signal,
    );
    if (text === undefined) return undefined;
    said.push(text.trim());
  }
  return parts.length === 0 ? undefined : said.filter((text) => text !== "").join("\n");
}

function patienceMs(seconds = UNKNOWN_SECONDS): number {
  return LEAST_MS + 2_000 * seconds;
}

async function twice(
  ask: (stop: AbortSignal) => Promise<Asked>,
  patience: number,
  by: { readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const asked = await inTime(ask, patience, by.clock, signal);
    signal.throwIfAborted();
    if ("said" in asked) return asked.said;
    by.log.warn({ failed: asked.failed, attempt }, "the transcriber failed");
    const afterMs = asked.again?.afterMs ?? AGAIN_AFTER_MS;
    if (!asked.again || attempt === 2 || afterMs > LONGEST_WAIT_MS) return undefined;
    await pause(by.clock, afterMs, signal);
    signal.throwIfAborted();
  }
}

/** Ends what takes too long; what heeds no abort is left behind. */
async function inTime(
  ask: (stop: AbortSignal) => Promise<Asked>,
  ms: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<Asked> {
  // Not a signal made of both: Node keeps such a one, with all that listens, until the long-lived one aborts.
  const stop = new AbortController();
  const cut = (): void => stop.abort(signal.reason);
  signal.addEventListener("abort", cut, { once: true });
  let timer: Timer | undefined;
  const over = new Promise<Asked>((resolve) => {
    timer = clock.after(ms, () => {
      stop.abort(new Error("it took too long"));
      resolve({ failed: `no answer within ${Math.round(ms / 1_000)} s` });
    });
  });
  try {
    if (signal.aborted) cut();
    return await Promise.race([ask(stop.signal), over]);
  } finally {
    timer?.cancel();
    signal.removeEventListener("abort", cut);
  }
}
