import type { Live, Sign } from "./live.ts";
import type { Transcript } from "./transcript.ts";
import { toShown } from "./shown.ts";

// Proxies cut a connection that is silent for a minute.
const HEARTBEAT_MS = 20_000;
const ENTRIES_AT_ONCE = 50;

/**
 * The server-sent events of one conversation, from entry number `after` on: `entry` (its id is the entry's number),
 * `sign` (what goes on right now) and `chats` (the list of conversations changed). Written as they are read: a reader
 * that is slow or asleep costs one batch of entries. Ends when the reader goes away or `closing` aborts.
 */
export function eventStream(
  chat: string,
  after: number,
  transcript: Transcript,
  live: Live,
  closing: AbortSignal,
): ReadableStream<Uint8Array> {
  const gone = new AbortController();
  const over = AbortSignal.any([gone.signal, closing]);
  const frames = writeFrames(chat, after, transcript, live, over);
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        const next = await frames.next();
        if (next.done) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      },
      async cancel() {
        gone.abort();
        // It may be waiting to be read, where it would not see the signal.
        await frames.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* writeFrames(
  chat: string,
  after: number,
  transcript: Transcript,
  live: Live,
  over: AbortSignal,
): AsyncGenerator<string> {
  const watch = live.watch(chat);
  let seen = after;
  let sign: Sign | undefined;
  let listed = live.listed;
  try {
    yield "retry: 1500\n\n";
    while (!over.aborted) {
      const entries = await transcript.entries(chat, seen, ENTRIES_AT_ONCE);
      for (const [seq, entry] of entries) {
        yield frame("entry", toShown(chat, seq, entry), seq);
        seen = seq;
      }
      if (entries.length === ENTRIES_AT_ONCE) continue;
      // Read after the entries: a draft is never shown behind its final.
      const now = live.sign(chat);
      const news = [
        ...(now === sign ? [] : [frame("sign", now)]),
        ...(live.listed === listed ? [] : [frame("chats", {})]),
      ];
      sign = now;
      ({ listed } = live);
      yield news.join("") || ": still here\n\n";
      await watch.changed(HEARTBEAT_MS, over);
    }
  } finally {
    watch.end();
  }
}

function frame(event: string, data: unknown, id?: number): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
