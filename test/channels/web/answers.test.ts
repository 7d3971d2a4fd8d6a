import { afterEach, describe, expect, it } from "vitest";
import { eventStream } from "../../../channels/web/event-stream.ts";
import { Live } from "../../../channels/web/live.ts";
import { Transcript } from "../../../channels/web/transcript.ts";
import type { MediaBlock } from "../../../src/core/blocks.ts";
import { manualClock } from "../../support/clock.ts";
import { memoryState } from "../../support/channel-host.ts";
import { mediaResponse } from "../../../channels/web/media-response.ts";
import { type WebChat, openWebChat, picture, text } from "./set-up.ts";

const CHAT = "conversation-1";
const open: WebChat[] = [];
const readers: Events[] = [];
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  for (const chat of open.splice(0)) await chat.close();
});

async function setUp(options: Parameters<typeof openWebChat>[0] = {}): Promise<WebChat> {
  const chat = await openWebChat(options);
  open.push(chat);
  return chat;
}

function blockOf(
  chat: WebChat,
  bytes: Uint8Array,
  mimeType: string,
  more: Partial<MediaBlock> = {},
): MediaBlock {
  return { type: "file", mimeType, blob: chat.putBlob(bytes), bytes: bytes.length, ...more };
}

describe("send", () => {
  it("writes a piece once, however often it is sent", async () => {
    const chat = await setUp();
    const ids = [await chat.say(CHAT, 7, text("hi")), await chat.say(CHAT, 7, text("hi"))];
    expect([ids, (await chat.entries(CHAT)).map(({ html }) => html)]).toEqual([
      [["1"], ["1"]],
      ["<p>hi</p>"],
    ]);
  });

  it("still knows the piece after a restart", async () => {
    const state = memoryState();
    await (await setUp({ state })).say(CHAT, 7, text("hi"));
    const again = await setUp({ state });
    expect([await again.say(CHAT, 7, text("hi")), (await again.entries(CHAT)).length]).toEqual([["1"], 1]);
  });

  it("gives an album as many ids as it has items, in one entry", async () => {
    const chat = await setUp();
    const media = blockOf(chat, await picture(), "image/png", { type: "image", width: 320, height: 200 });
    const ids = await chat.send(CHAT, 1, {
      kind: "album",
      items: [
        { as: "image", media, caption: { text: "<b>one</b>", marks: [] } },
        { as: "image", media },
      ],
    });
    expect(ids).toEqual(["1/0", "1/1"]);
    expect((await chat.entries(CHAT)).map((entry) => entry.media)).toEqual([
      [
        {
          kind: "image",
          name: "image",
          bytes: media.bytes,
          url: `/api/chats/${CHAT}/media/1/0`,
          caption: "<b>one</b>",
          width: 320,
          height: 200,
        },
        {
          kind: "image",
          name: "image",
          bytes: media.bytes,
          url: `/api/chats/${CHAT}/media/1/1`,
          width: 320,
          height: 200,
        },
      ],
    ]);
  });

  it("says that a piece was not written that the state could not hold, and takes it later", async () => {
    const state = memoryState();
    const chat = await setUp({ state });
    const set = state.set.bind(state);
    Object.assign(state, { set: () => Promise.reject(new Error("disk full")) });
    await expect(chat.say(CHAT, 1, text("hi"))).rejects.toMatchObject({ code: "send.not_written" });
    Object.assign(state, { set });
    expect(await chat.say(CHAT, 1, text("hi"))).toEqual(["1"]);
  });
});

describe("media", () => {
  it("shows a picture in place, from the blob store and from an upload", async () => {
    const chat = await setUp();
    const bytes = await picture();
    await chat.post(CHAT, [
      ["id", "message-1"],
      ["file", bytes, "feeder.png", "image/png"],
    ]);
    await chat.send(CHAT, 1, {
      kind: "media",
      as: "image",
      media: blockOf(chat, bytes, "image/png", { type: "image" }),
    });
    for (const seq of [1, 2]) {
      const response = await fetch(`${chat.origin}/api/chats/${CHAT}/media/${seq}/0`);
      expect(response.headers.get("content-type")).toBe("image/png");
      expect(response.headers.get("content-disposition")).toMatch(/^inline/);
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    }
  });

  it.each([
    "text/html",
    "image/svg+xml",
    "application/xhtml+xml",
    "text/xml",
    "application/pdf",
    "text/javascript",
  ])("offers %s as a download that nothing runs", async (mimeType) => {
    const chat = await setUp();
    const bytes = Buffer.from("<script>alert(1)</script>");
    await chat.send(CHAT, 1, {
      kind: "media",
      as: "file",
      media: blockOf(chat, bytes, mimeType, { type: "image", filename: 'a"\r\nb’.svg' }),
    });
    await chat.post(CHAT, [
      ["id", "message-1"],
      ["file", new Uint8Array(bytes), "a.html", mimeType],
    ]);
    for (const seq of [1, 2]) {
      const { headers } = await fetch(`${chat.origin}/api/chats/${CHAT}/media/${seq}/0`);
      expect(headers.get("content-type")).toBe("application/octet-stream");
      expect(headers.get("content-disposition")).toMatch(/^attachment; filename\*=UTF-8''[\w.%-]+$/);
      expect(headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("are not opened for a request that asks about them alone", async () => {
    const request = new Request("http://localhost/", { method: "HEAD" });
    const response = await mediaResponse(request, { mimeType: "image/png", bytes: 10, name: "a.png" }, () => {
      throw new Error("opened, and nobody would read it to its end");
    });
    expect([response.status, response.headers.get("content-length")]).toEqual([200, "10"]);
  });

  it.each([
    ["bytes=2-5", 206, "cdef", "bytes 2-5/10"],
    ["bytes=7-", 206, "hij", "bytes 7-9/10"],
    ["bytes=-3", 206, "hij", "bytes 7-9/10"],
    ["bytes=0-99", 206, "abcdefghij", "bytes 0-9/10"],
    ["bytes=10-", 416, "", "bytes */10"],
    ["bytes=0-1,4-5", 200, "abcdefghij", null],
    ["lines=1-2", 200, "abcdefghij", null],
  ])("answers the range %s by %i", async (range, status, body, contentRange) => {
    const chat = await setUp();
    await chat.send(CHAT, 1, {
      kind: "media",
      as: "video",
      media: blockOf(chat, Buffer.from("abcdefghij"), "video/mp4"),
    });
    const response = await fetch(`${chat.origin}/api/chats/${CHAT}/media/1/0`, { headers: { range } });
    expect([response.status, await response.text(), response.headers.get("content-range")]).toEqual([
      status,
      body,
      contentRange,
    ]);
  });

  it("is nothing but what the transcript shows", async () => {
    const chat = await setUp();
    const blob = chat.putBlob(Buffer.from("of another channel"));
    await chat.send(CHAT, 1, {
      kind: "media",
      as: "file",
      media: { type: "file", mimeType: "a/b", blob: "sha256:00", bytes: 1 },
    });
    const status = async (path: string): Promise<number> => (await fetch(chat.origin + path)).status;
    expect([
      await status(`/api/chats/${CHAT}/media/1/1`),
      await status(`/api/chats/${CHAT}/media/2/0`),
      await status(`/api/chats/${CHAT}/media/1/0`),
      await status(`/api/chats/${CHAT}/media/${blob}/0`),
    ]).toEqual([404, 404, 404, 404]);
  });
});

describe("events", () => {
  it("give what is said as it is said, and go on where the reader left off", async () => {
    const chat = await setUp();
    await chat.say(CHAT, 1, text("one"));
    const reader = await listen(chat, "?after=0");
    expect(await reader.entry()).toMatchObject({ id: "1", data: { html: "<p>one</p>" } });
    await chat.say(CHAT, 2, text("two"));
    expect(await reader.entry()).toMatchObject({ id: "2" });
    reader.close();
    await chat.say(CHAT, 3, text("three"));
    await chat.say(CHAT, 4, text("four"));
    const later = await listen(chat, "?after=0", { "last-event-id": "2" });
    expect([await later.entry(), await later.entry()]).toMatchObject([{ id: "3" }, { id: "4" }]);
  });

  it("catch up over more than one batch without a gap", async () => {
    const chat = await setUp();
    for (let id = 1; id <= 120; id += 1) await chat.say(CHAT, id, text(String(id)));
    const reader = await listen(chat, "?after=0");
    const ids: string[] = [];
    while (ids.length < 120) ids.push((await reader.entry()).id ?? "");
    expect(ids).toEqual(Array.from({ length: 120 }, (_, n) => String(n + 1)));
  });

  it("show a draft grow and take it down for its final, never after it", async () => {
    const chat = await setUp();
    const to = { channel: "web", chat: CHAT };
    const reader = await listen(chat);
    expect((await reader.next()).data).toEqual({ kind: "idle" });
    const said: unknown[] = [];
    for (const progress of [
      { kind: "typing" },
      { kind: "draft", text: "He" },
      { kind: "draft", text: "Hello" },
    ] as const) {
      await chat.channel.progress?.(to, progress);
      said.push((await reader.next()).data);
    }
    expect(said).toEqual([
      { kind: "typing" },
      { kind: "draft", text: "He" },
      { kind: "draft", text: "Hello" },
    ]);
    await chat.say(CHAT, 1, text("Hello!"));
    await chat.say(CHAT, 2, text("And more."));
    const after: unknown[] = [];
    while (after.length < 3) {
      const { event, data } = await reader.next();
      if (event === "sign") after.push(data);
      if (event === "entry") after.push("entry");
    }
    // Idle comes before, between or after the two; what must not come is the draft.
    expect(after.filter((each) => each !== "entry")).toEqual([{ kind: "idle" }]);
  });

  it("show no draft that came in while its final was being written", async () => {
    const state = memoryState();
    const chat = await setUp({ state });
    const set = state.set.bind(state);
    Object.assign(state, {
      set: async (entries: Parameters<typeof set>[0]) => {
        await chat.channel.progress?.({ channel: "web", chat: CHAT }, { kind: "draft", text: "Hel" });
        return set(entries);
      },
    });
    await chat.say(CHAT, 1, text("Hello!"));
    expect((await listenOnce(chat, "?after=1")).data).toEqual({ kind: "idle" });
  });

  it("hold nothing for a reader that went away without reading on", async () => {
    const live = new Live(manualClock());
    const transcript = new Transcript(
      memoryState(),
      () => "2026-03-01T10:00:00Z",
      () => live.entryAdded(),
    );
    const stream = eventStream(CHAT, 0, transcript, live, new AbortController().signal);
    const reader = stream.getReader();
    await reader.read();
    expect(live.watching).toBe(1);
    await reader.cancel();
    expect(live.watching).toBe(0);
  });

  it("keep the draft when the gateway says that it is typing as well", async () => {
    const chat = await setUp();
    const to = { channel: "web", chat: CHAT };
    await chat.channel.progress?.(to, { kind: "draft", text: "Hello" });
    await chat.channel.progress?.(to, { kind: "typing" });
    expect((await listenOnce(chat)).data).toEqual({ kind: "draft", text: "Hello" });
  });

  it("take a draft down that nobody has carried on for 15 s", async () => {
    const clock = manualClock();
    const chat = await setUp({ clock });
    const reader = await listen(chat);
    await reader.next();
    await chat.channel.progress?.({ channel: "web", chat: CHAT }, { kind: "draft", text: "Hel" });
    expect((await reader.next()).data).toEqual({ kind: "draft", text: "Hel" });
    await clock.advance(15_000);
    expect((await reader.next()).data).toEqual({ kind: "idle" });
  });

  it("tell every open page that the list of conversations changed, and no other's words", async () => {
    const chat = await setUp();
    const reader = await listen(chat);
    await reader.next();
    await chat.say("conversation-2", 1, text("elsewhere"));
    expect(await reader.next()).toEqual({ event: "chats", data: {} });
  });

  it("end when the channel closes", async () => {
    const chat = await setUp();
    const reader = await listen(chat);
    await reader.next();
    await chat.channel.close();
    await expect(reader.next()).rejects.toThrow("the stream ended");
  });

  it("are refused beyond a hundred open pages, and free again when they close", async () => {
    const chat = await setUp();
    for (let n = 0; n < 100; n += 1) await (await listen(chat)).next();
    expect((await fetch(`${chat.origin}/api/chats/${CHAT}/events`)).status).toBe(503);
    for (const reader of readers.splice(0)) reader.close();
    let status = 503;
    while (status === 503) {
      const response = await fetch(`${chat.origin}/api/chats/${CHAT}/events`);
      ({ status } = response);
      await response.body?.cancel();
    }
    expect(status).toBe(200);
  });
});

describe("the page", () => {
  it("is served with its parts, and only when it changed", async () => {
    const chat = await setUp();
    const types: (string | null)[] = [];
    for (const path of ["/", "/chat.css", "/chat.js", "/perch.svg"])
      types.push((await fetch(chat.origin + path)).headers.get("content-type"));
    expect(types).toEqual([
      "text/html; charset=utf-8",
      "text/css; charset=utf-8",
      "text/javascript; charset=utf-8",
      "image/svg+xml",
    ]);
    const etag = (await fetch(`${chat.origin}/chat.js`)).headers.get("etag") ?? "";
    expect((await fetch(`${chat.origin}/chat.js`, { headers: { "if-none-match": etag } })).status).toBe(304);
    expect((await fetch(`${chat.origin}/../index.ts`)).status).toBe(404);
  });
});

type Frame = { readonly event: string; readonly id?: string; readonly data: unknown };
type Events = { next(): Promise<Frame>; entry(): Promise<Frame>; close(): void };

async function listen(chat: WebChat, query = "", headers: Record<string, string> = {}): Promise<Events> {
  const over = new AbortController();
  const url = `${chat.origin}/api/chats/${CHAT}/events${query}`;
  const response = await fetch(url, { headers, signal: over.signal });
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  const next = async (): Promise<Frame> => {
    for (;;) {
      const end = held.indexOf("\n\n");
      if (end >= 0) {
        const lines = held.slice(0, end).split("\n");
        held = held.slice(end + 2);
        const fields = new Map(
          lines.map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
        );
        const [event, data, id] = [fields.get("event"), fields.get("data"), fields.get("id")];
        if (event !== undefined && data !== undefined)
          return { event, data: JSON.parse(data) as unknown, ...(id === undefined ? {} : { id }) };
        continue;
      }
      const more = await chunks?.read();
      if (!more || more.done) throw new Error("the stream ended");
      held += more.value;
    }
  };
  const events: Events = {
    next,
    async entry() {
      for (;;) {
        const frame = await next();
        if (frame.event === "entry") return frame;
      }
    },
    close: () => over.abort(),
  };
  readers.push(events);
  return events;
}

async function listenOnce(chat: WebChat, query = ""): Promise<Frame> {
  const reader = await listen(chat, query);
  const frame = await reader.next();
  reader.close();
  return frame;
}
