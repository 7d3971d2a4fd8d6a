import { afterEach, describe, expect, it } from "vitest";
import { stat } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { manualClock } from "../../support/clock.ts";
import { memoryState } from "../../support/channel-host.ts";
import { type WebChat, openWebChat, picture, text } from "./set-up.ts";

const open: WebChat[] = [];
afterEach(async () => {
  for (const chat of open.splice(0)) await chat.close();
});

async function setUp(options: Parameters<typeof openWebChat>[0] = {}): Promise<WebChat> {
  const chat = await openWebChat({ clock: manualClock(Date.parse("2026-03-01T10:00:00Z")), ...options });
  open.push(chat);
  return chat;
}

const CHAT = "conversation-1";
const bytes = (words: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(words));

describe("a message from the page", () => {
  it("becomes one whole event with its files unfetched", async () => {
    const chat = await setUp();
    const answer = await chat.post(CHAT, [
      ["id", "message-1"],
      ["text", "two\r\nlines"],
      ["file", bytes("a list"), "C:\\birds\\list.pdf", "application/pdf"],
      ["voiceSeconds", "2.345"],
      ["voice", bytes("tweet"), "note.webm", "audio/webm;codecs=opus"],
    ]);
    expect(answer).toEqual({ status: 200, seq: 1 });
    expect(chat.accepted).toEqual([
      {
        type: "message",
        id: "message-1",
        ref: "message-1",
        place: { chat: CHAT, kind: "private" },
        from: { id: "owner", name: "You" },
        sentAt: "2026-03-01T10:00:00.000Z",
        content: [
          { type: "text", text: "two\nlines" },
          {
            type: "unfetched",
            kind: "file",
            ref: "conversation-1.message-1.0",
            declared: { mimeType: "application/pdf", filename: "list.pdf", bytes: 6 },
          },
          {
            type: "unfetched",
            kind: "audio",
            ref: "conversation-1.message-1.1",
            declared: {
              mimeType: "audio/webm",
              filename: "note.webm",
              bytes: 5,
              durationSeconds: 2.3,
              label: "voice note",
            },
          },
        ],
        addressed: true,
        whole: true,
      },
    ]);
    expect((await chat.fetched("conversation-1.message-1.1")).toString()).toBe("tweet");
  });

  it("keeps its files where only the gateway's own user can read them", async () => {
    const chat = await setUp();
    await chat.post(CHAT, [
      ["id", "message-1"],
      ["file", bytes("a"), "a", "text/plain"],
    ]);
    const { mode } = await stat(join(chat.host.stateDir, "uploads", "conversation-1.message-1.0"));
    expect(mode & 0o777).toBe(0o600);
  });

  it("is the same event when it is sent again", async () => {
    const chat = await setUp();
    const parts = [
      ["id", "message-1"],
      ["text", "hi"],
      ["file", bytes("a"), "a.txt", "text/plain"],
    ] as const;
    const answers = [await chat.post(CHAT, parts), await chat.post(CHAT, parts)];
    expect(answers).toEqual([
      { status: 200, seq: 1 },
      { status: 200, seq: 1 },
    ]);
    expect([chat.accepts(), (await chat.entries(CHAT)).length, await chat.uploads()]).toEqual([
      1,
      1,
      ["conversation-1.message-1.0"],
    ]);
  });

  it("is refused when its id was another message's, whose file stays as it is", async () => {
    const chat = await setUp();
    await chat.post(CHAT, [
      ["id", "message-1"],
      ["file", bytes("first"), "a.txt", "text/plain"],
    ]);
    const other = await chat.post(CHAT, [
      ["id", "message-1"],
      ["file", bytes("other"), "a.txt", "text/plain"],
    ]);
    expect(other.status).toBe(409);
    expect((await chat.fetched("conversation-1.message-1.0")).toString()).toBe("first");
  });

  it("is not shown while it is not taken, and is the same event once it is", async () => {
    const clock = manualClock();
    const chat = await setUp({ clock });
    chat.refuse(new Error("the store is down"));
    const refused = await chat.post(CHAT, [
      ["id", "message-1"],
      ["text", "hi"],
    ]);
    expect([refused.status, await chat.entries(CHAT)]).toEqual([503, []]);
    const [{ event: first }] = pendingOf(await chat.host.state.list("pending/", { limit: 9 }));
    await clock.advance(60_000);
    chat.refuse(undefined);
    expect(
      (
        await chat.post(CHAT, [
          ["id", "message-1"],
          ["text", "hi"],
        ])
      ).status,
    ).toBe(200);
    expect(chat.accepted).toEqual([first]);
    expect((await chat.entries(CHAT)).map(({ text: said }) => said)).toEqual(["hi"]);
  });

  it("is shown after a crash between its acceptance and its entry, and accepted once", async () => {
    const state = memoryState();
    const crashed = await setUp({ state });
    // The process dies right after the commit: nothing that the channel writes afterwards counts.
    const set = state.set.bind(state);
    crashed.afterAccept(() => {
      Object.assign(state, { set: () => Promise.reject(new Error("crashed")) });
    });
    await crashed.post(CHAT, [
      ["id", "message-1"],
      ["text", "hi"],
    ]);
    expect([crashed.accepted.length, await crashed.entries(CHAT)]).toEqual([1, []]);
    Object.assign(state, { set });
    const again = await setUp({ state });
    expect(again.accepted).toEqual(crashed.accepted);
    expect((await again.entries(CHAT)).map(({ text: said }) => said)).toEqual(["hi"]);
    expect(await state.list("pending/", { limit: 9 })).toEqual([]);
  });

  it("is not brought up by a restart when the page was told that it was refused", async () => {
    const state = memoryState();
    const first = await setUp({ state });
    first.refuse(new Error("the store is down"));
    await first.post(CHAT, [
      ["id", "message-1"],
      ["text", "hi"],
    ]);
    const again = await setUp({ state });
    expect([again.accepted, await again.entries(CHAT)]).toEqual([[], []]);
  });

  it("stands before an answer that comes while it is being taken", async () => {
    const chat = await setUp();
    let answered: Promise<unknown> = Promise.resolve();
    chat.afterAccept(() => {
      answered = chat.say(CHAT, 1, text("an answer"));
    });
    await chat.post(CHAT, [
      ["id", "message-1"],
      ["text", "a question"],
    ]);
    await answered;
    expect((await chat.entries(CHAT)).map(({ from }) => from)).toEqual(["you", "agent"]);
  });

  it("is refused, with nothing left behind, when the upload breaks off", async () => {
    const chat = await setUp();
    const head =
      '--b\r\ncontent-disposition: form-data; name="id"\r\n\r\nmessage-1\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhalf a fi';
    const response = await fetch(`${chat.origin}/api/chats/${CHAT}/messages`, {
      method: "POST",
      headers: { "content-type": "multipart/form-data; boundary=b" },
      body: head,
    });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: "The message was not read: the upload ended before it was complete." },
    ]);
    expect([chat.accepted, await chat.uploads()]).toEqual([[], []]);
  });

  it("leaves nothing behind when its sender goes away half-way", async () => {
    const chat = await setUp();
    await new Promise<void>((resolve) => {
      const request = httpRequest(`${chat.origin}/api/chats/${CHAT}/messages`, {
        method: "POST",
        headers: { "content-type": "multipart/form-data; boundary=b", "content-length": "100000" },
      });
      request.on("error", () => resolve());
      request.write('--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhalf a fi');
      void whenUploads(chat, 1).then(() => request.destroy());
    });
    await whenUploads(chat, 0);
    expect([chat.accepted, chat.logged.filter(({ level }) => level === "error")]).toEqual([[], []]);
  });

  it.each<[string, Parameters<WebChat["post"]>[1], number, RegExp]>([
    ["no id", [["text", "hi"]], 400, /id of 8 to 64/],
    [
      "an id that is a path",
      [
        ["id", "../../../etc"],
        ["text", "hi"],
      ],
      400,
      /id of 8 to 64/,
    ],
    [
      "nothing in it",
      [
        ["id", "message-1"],
        ["text", " \n"],
      ],
      400,
      /is empty/,
    ],
    [
      "too much text",
      [
        ["id", "message-1"],
        ["text", "a".repeat(100_001)],
      ],
      413,
      /longer than 100,000 characters/,
    ],
    [
      "text beyond all bounds",
      [
        ["id", "message-1"],
        ["text", "a".repeat(500_000)],
      ],
      413,
      /longer than 100,000/,
    ],
    [
      "eleven files",
      [
        ["id", "message-1"],
        ...Array.from({ length: 11 }, (_, n) => ["file", bytes("a"), `${n}`, ""] as const),
      ],
      413,
      /at most 10 files/,
    ],
    [
      "a file of more than 50 MB",
      [
        ["id", "message-1"],
        ["file", new Uint8Array(50 * 1024 * 1024 + 1), "film.mp4", "video/mp4"],
        ["text", "x"],
      ],
      413,
      /“film\.mp4” is larger than 50 MB, the most for one file/,
    ],
  ])("is refused in one sentence with %s", async (_what, parts, status, sentence) => {
    const chat = await setUp();
    const answer = await chat.post(CHAT, parts);
    expect(answer).toEqual({ status, error: expect.stringMatching(sentence) as string });
    expect([chat.accepted, await chat.uploads()]).toEqual([[], []]);
  });

  it.each(["..", "short", "a/b/c/d/e/f", "a%2fb%2fc%2fd"])(
    "does not go to a conversation called %s",
    async (name) => {
      const chat = await setUp();
      const response = await fetch(`${chat.origin}/api/chats/${name}/messages`, { method: "POST", body: "" });
      expect(response.status).toBe(404);
    },
  );

  it("holds nothing of fields that nobody asks for, however long they are", async () => {
    const chat = await setUp();
    const form: Parameters<WebChat["post"]>[1] = [
      ["id", "message-1"],
      ["text", "hi"],
      ["other", "x".repeat(500_000)],
    ];
    expect((await chat.post(CHAT, form)).status).toBe(200);
  });

  it("is not taken from another site's page", async () => {
    const chat = await setUp();
    const response = await fetch(`${chat.origin}/api/chats/${CHAT}/messages`, {
      method: "POST",
      headers: { origin: "https://evil.example" },
      body: new FormData(),
    });
    expect([response.status, chat.accepts()]).toEqual([403, 0]);
  });
});

describe("a stop from the page", () => {
  it("becomes a stop event", async () => {
    const chat = await setUp();
    const response = await fetch(`${chat.origin}/api/chats/${CHAT}/stop`, {
      method: "POST",
      body: "stop-0001",
    });
    expect(response.status).toBe(204);
    expect(chat.accepted).toEqual([
      {
        type: "stop",
        id: "stop-0001",
        place: { chat: CHAT, kind: "private" },
        from: { id: "owner", name: "You" },
        sentAt: "2026-03-01T10:00:00.000Z",
      },
    ]);
  });
});

describe("fetch", () => {
  it.each(["../perch.db", "a/b", "", ".part", "gone.message-1.0"])("has nothing under %j", async (ref) => {
    const chat = await setUp();
    await expect(chat.fetched(ref)).rejects.toMatchObject({ code: "media.unavailable" });
  });
});

describe("conversations", () => {
  it("are called by their first words and listed with the newest first", async () => {
    const clock = manualClock();
    const chat = await setUp({ clock });
    await chat.post("conversation-1", [
      ["id", "message-1"],
      ["text", "Which warblers  stay\nhere over the winter, and where do they sleep?"],
    ]);
    await clock.advance(1000);
    await chat.post("conversation-2", [
      ["id", "message-1"],
      ["file", await picture(), "feeder.png", "image/png"],
    ]);
    await clock.advance(1000);
    await chat.post("conversation-3", [
      ["id", "message-1"],
      ["voice", bytes("a"), "n.webm", "audio/webm"],
    ]);
    await clock.advance(1000);
    await chat.say("conversation-1", 1, text("Two."));
    expect(await chat.titles()).toEqual([
      "Which warblers stay here over the winter, and…",
      "Voice note",
      "feeder.png",
    ]);
  });

  it("give the newest fifty messages first and the others on request, none twice", async () => {
    const chat = await setUp();
    for (let id = 1; id <= 120; id += 1) await chat.say(CHAT, id, text(String(id)));
    const seen: number[] = [];
    let before = "";
    for (let earlier = true; earlier;) {
      const response = await fetch(`${chat.origin}/api/chats/${CHAT}/entries${before}`);
      const page = (await response.json()) as { entries: { seq: number }[]; earlier: boolean }; // what the route gives
      seen.unshift(...page.entries.map(({ seq }) => seq));
      before = `?before=${seen[0]}`;
      ({ earlier } = page);
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, n) => n + 1));
  });
});

function pendingOf(rows: readonly (readonly [string, string])[]): [{ event: unknown }] {
  expect(rows.length).toBe(1);
  return [JSON.parse(rows[0]?.[1] ?? "{}") as { event: unknown }]; // as the transcript wrote it
}

async function whenUploads(chat: WebChat, count: number): Promise<void> {
  // Each look is a turn of the file system; the test's own time limit ends it.
  while ((await chat.uploads()).length !== count) await new Promise((resolve) => setImmediate(resolve));
}
