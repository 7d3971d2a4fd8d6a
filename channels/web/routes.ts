import { type ChannelHost } from "../../src/core/host.ts";
import { asError, hasCode } from "../../src/core/errors.ts";
import { eventStream } from "./event-stream.ts";
import { toStop } from "./inbound.ts";
import type { Live } from "./live.ts";
import { mediaResponse } from "./media-response.ts";
import type { Page } from "./page-files.ts";
import { nameOf, toShown } from "./shown.ts";
import { MESSAGE_ID, Refusal, receive } from "./submission.ts";
import type { Transcript } from "./transcript.ts";
import type { Uploads } from "./uploads.ts";

export type Site = {
  readonly host: ChannelHost;
  readonly page: Page;
  readonly transcript: Transcript;
  readonly live: Live;
  readonly uploads: Uploads;
  /** Aborts when the channel closes: nothing more is taken in. */
  readonly closing: AbortSignal;
};

const CHAT = /^\/api\/chats\/([\w-]{8,64})\/(.+)$/;
const ENTRIES_AT_ONCE = 50;
const READERS = 100;
const STOP_BODY_LENGTH = 200;

const NOT_TAKEN = "The server could not take the message just now; please try again in a moment.";

/** Answers every request for the page and its data. */
export async function answer(site: Site, request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  if (site.closing.aborted) return sentence(503, "The server is going down; please try again in a moment.");
  try {
    if (request.method === "GET" || request.method === "HEAD") {
      if (pathname === "/api/chats") return json({ chats: await site.transcript.conversations() });
      const [, chat, what] = CHAT.exec(pathname) ?? [];
      if (chat !== undefined && what !== undefined)
        return await read(site, request, chat, what, searchParams);
      return site.page.answer(request, pathname) ?? sentence(404, "Nothing is here.");
    }
    const [, chat, what] = CHAT.exec(pathname) ?? [];
    if (request.method === "POST" && chat !== undefined && what === "messages")
      return await takeMessage(site, request, chat);
    if (request.method === "POST" && chat !== undefined && what === "stop")
      return await stop(site, request, chat);
    return sentence(404, "Nothing is here.");
  } catch (error) {
    if (error instanceof Refusal) return sentence(error.status, error.message);
    throw error;
  }
}

async function read(
  site: Site,
  request: Request,
  chat: string,
  what: string,
  query: URLSearchParams,
): Promise<Response> {
  if (what === "entries") return entries(site, chat, query);
  if (what === "events") return events(site, request, chat, query);
  const [, seq, n] = /^media\/(\d{1,10})\/(\d{1,2})$/.exec(what) ?? [];
  if (seq !== undefined && n !== undefined) return media(site, request, chat, Number(seq), Number(n));
  return sentence(404, "Nothing is here.");
}

/** The newest entries, or those before number `before`. */
async function entries({ transcript }: Site, chat: string, query: URLSearchParams): Promise<Response> {
  const last = (await transcript.conversation(chat))?.last ?? 0;
  const until = Math.min(whole(query.get("before")) ?? last + 1, last + 1) - 1;
  const after = Math.max(until - ENTRIES_AT_ONCE, 0);
  const found = until > after ? await transcript.entries(chat, after, until - after) : [];
  return json({ entries: found.map(([seq, entry]) => toShown(chat, seq, entry)), earlier: after > 0 });
}

function events(site: Site, request: Request, chat: string, query: URLSearchParams): Response {
  if (site.live.watching >= READERS)
    return sentence(503, `${READERS} pages are open already; close some of them.`);
  const after = whole(request.headers.get("last-event-id")) ?? whole(query.get("after")) ?? 0;
  return new Response(eventStream(chat, after, site.transcript, site.live, site.closing), {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      // nginx would hold the stream back until a buffer is full.
      "x-accel-buffering": "no",
    },
  });
}

/** Bytes are named by the entry that shows them, so that nothing else in the blob store can be asked for. */
async function media(site: Site, request: Request, chat: string, seq: number, n: number): Promise<Response> {
  const { host, transcript, uploads } = site;
  const entry = await transcript.entry(chat, seq);
  try {
    if (entry?.from === "you") {
      const file = entry.files[n];
      if (file) return await mediaResponse(request, file, () => uploads.read(file.ref));
    }
    if (entry?.from === "agent") {
      const block = entry.media[n]?.media;
      if (block)
        return await mediaResponse(
          request,
          { mimeType: block.mimeType, bytes: block.bytes, name: nameOf(block) },
          () => host.blobs.open(block.blob),
        );
    }
  } catch (error) {
    if (!hasCode(error, "blob.missing") && !hasCode(error, "media.unavailable")) throw error;
    host.log.warn({ err: error, seq }, "a file of the web chat is gone");
  }
  return sentence(404, "This file is no longer here.");
}

async function takeMessage(
  { host, transcript, uploads }: Site,
  request: Request,
  chat: string,
): Promise<Response> {
  const received = await receive(request, chat, uploads);
  try {
    const taken = await transcript.take(
      received.submission,
      received.keep,
      async (event) => void (await host.accept([event])),
    );
    if (taken.kind === "conflict")
      return sentence(409, "Another message was sent under this id; give each message a new one.");
    return json({ seq: taken.seq });
  } catch (error) {
    host.log.warn({ err: asError(error) }, "a message from the web chat was not taken");
    return sentence(503, NOT_TAKEN);
  } finally {
    await received.discard();
  }
}

async function stop({ host }: Site, request: Request, chat: string): Promise<Response> {
  const id = (await request.text()).slice(0, STOP_BODY_LENGTH);
  if (!MESSAGE_ID.test(id))
    return sentence(400, "A stop needs an id of 8 to 64 letters, digits, “-” or “_”.");
  try {
    await host.accept([toStop(chat, id, new Date(host.clock.now()).toISOString())]);
    return new Response(null, { status: 204 });
  } catch (error) {
    host.log.warn({ err: asError(error) }, "a stop from the web chat was not taken");
    return sentence(503, "The stop was not taken; please try again in a moment.");
  }
}

function whole(value: string | null): number | undefined {
  return value !== null && /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}

function json(value: unknown): Response {
  return Response.json(value, { headers: { "cache-control": "no-store" } });
}

function sentence(status: number, text: string): Response {
  return Response.json({ error: text }, { status, headers: { "cache-control": "no-store" } });
}
