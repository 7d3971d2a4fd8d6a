import { request, type IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegram, type TelegramEmulator } from "./emulator.ts";
import { png } from "./pictures.ts";

// A client that has nothing of grammY's: what another library, curl or a script would send.

const MIRA = { id: 700, firstName: "Mira" };
const ENTITIES = [{ type: "bold", offset: 0, length: 1 }];

type Answer = {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly json: unknown;
};

let telegram: TelegramEmulator;
let root: string;

beforeEach(async () => {
  telegram = await startTelegram();
  telegram.privateChat(MIRA);
  root = `/bot${telegram.token}`;
});
afterEach(() => telegram.close());

/** One request over a socket, written out as it is. */
async function call(
  method: "GET" | "POST",
  path: string,
  body?: { readonly type: string; readonly bytes: Buffer | string },
): Promise<Answer> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = body
      ? { "content-type": body.type, "content-length": Buffer.byteLength(body.bytes) }
      : {};
    const sent = request(`${telegram.apiRoot}${path}`, { method, headers }, resolve);
    sent.once("error", reject);
    sent.end(body?.bytes);
  });
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode ?? 0, headers: answer.headers, json: JSON.parse(text) };
}

function json(value: unknown): { type: string; bytes: string } {
  return { type: "application/json", bytes: JSON.stringify(value) };
}

function form(fields: Readonly<Record<string, string>>): { type: string; bytes: string } {
  return { type: "application/x-www-form-urlencoded", bytes: new URLSearchParams(fields).toString() };
}

describe("parameters", () => {
  it("come in the query of a GET or a POST", async () => {
    const query = new URLSearchParams({ chat_id: "700", text: "hi", entities: JSON.stringify(ENTITIES) });
    for (const method of ["GET", "POST"] as const) {
      expect(await call(method, `${root}/sendMessage?${query.toString()}`)).toMatchObject({
        status: 200,
        json: { ok: true, result: { text: "hi", entities: ENTITIES } },
      });
    }
  });

  it("come in a form, encoded like a query", async () => {
    const fields = form({
      chat_id: "700",
      text: "hi",
      disable_notification: "true",
      entities: JSON.stringify(ENTITIES),
    });
    await call("POST", `${root}/sendMessage`, fields);
    expect(telegram.sent).toMatchObject([{ text: "hi", entities: ENTITIES, silent: true }]);
  });

  it("come as JSON, with numbers, flags and objects as themselves or as strings", async () => {
    const loose = {
      chat_id: "700",
      text: "one",
      disable_notification: "1",
      entities: JSON.stringify(ENTITIES),
    };
    const strict = { chat_id: 700, text: "two", disable_notification: true, entities: ENTITIES };
    for (const fields of [loose, strict]) await call("POST", `${root}/sendMessage`, json(fields));
    expect(telegram.sent.map(({ text, silent, entities }) => [text, silent, entities])).toEqual([
      ["one", true, ENTITIES],
      ["two", true, ENTITIES],
    ]);
  });

  it("come in parts, files beside them and named in them", async () => {
    const boundary = "x-x-x";
    const part = (head: string, bytes: Buffer | string) =>
      Buffer.concat([
        Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`),
        Buffer.from(bytes),
        Buffer.from("\r\n"),
      ]);
    const media = [
      { type: "photo", media: "attach://one", caption: "first" },
      { type: "photo", media: "attach://two" },
    ];
    const bytes = Buffer.concat([
      part('name="chat_id"', "700"),
      part('name="media"', JSON.stringify(media)),
      part('name="one"; filename="a.png"', png(10, 10)),
      part("name=two;filename=b.png", png(20, 20)),
      Buffer.from(`--${boundary}--\r\n`),
    ]);
    const type = `multipart/form-data; boundary=${boundary}`;
    expect((await call("POST", `${root}/sendMediaGroup`, { type, bytes })).status).toBe(200);
    expect(telegram.sent.map(({ caption, media: sent }) => [caption, sent?.bytes])).toEqual([
      ["first", png(10, 10)],
      [undefined, png(20, 20)],
    ]);
  });

  it("are merged, those of the body before those of the query", async () => {
    await call("POST", `${root}/sendMessage?chat_id=700&text=query`, form({ text: "body" }));
    expect(telegram.sent).toMatchObject([{ chatId: 700, text: "body" }]);
  });
});

describe("routes", () => {
  it("take a method's name in any case, and /test/ before it", async () => {
    for (const path of ["GETME", "getme", "test/getMe"]) {
      expect((await call("GET", `${root}/${path}`)).json).toEqual({ ok: true, result: telegram.me });
    }
    expect(telegram.calls.map(({ method }) => method)).toEqual(["getMe", "getMe", "getMe"]);
  });

  it("lead to a file after getFile, with or without /test/", async () => {
    const { document } = telegram.privateChat(MIRA).sendDocument(Buffer.from("notes"));
    const asked = await call("GET", `${root}/getFile?file_id=${document?.file_id ?? ""}`);
    const { file_path } = (asked.json as { result: { file_path: string } }).result; // Bot API File
    for (const test of ["", "test/"]) {
      const file = await fetch(`${telegram.apiRoot}/file${root}/${test}${file_path}`);
      expect([file.status, await file.text()]).toEqual([200, "notes"]);
    }
    expect((await fetch(`${telegram.apiRoot}/file${root}/documents/other.txt`)).status).toBe(404);
  });

  it.each([
    ["another token", "/bot123:AAA/getMe", 401, "Unauthorized"],
    ["no token", "/botnonsense/getMe", 404, "Not Found"],
    ["no method", "/nowhere", 404, "Not Found"],
  ])("end with %s", async (_what, path, status, description) => {
    expect(await call("GET", path)).toMatchObject({
      status,
      json: { ok: false, error_code: status, description },
    });
  });

  it("end with a method that there is not", async () => {
    expect(await call("POST", `${root}/sendGift`)).toMatchObject({
      status: 404,
      json: { ok: false, error_code: 404, description: "Not Found: method not found" },
    });
  });
});

describe("answers", () => {
  it("are JSON with the status of their error code, over one connection", async () => {
    const refused = await call("POST", `${root}/sendMessage`, json({ text: "x" }));
    expect(refused.status).toBe(400);
    expect(refused.headers["content-type"]).toBe("application/json");
    expect(refused.headers.connection).toBe("keep-alive");
    expect(refused.json).toEqual({
      ok: false,
      error_code: 400,
      description: "Bad Request: chat_id is empty",
    });
  });

  it("name a wait in the body and in a header", async () => {
    telegram.fault({}, { kind: "rateLimit", seconds: 23 });
    const answer = await call("GET", `${root}/getMe`);
    expect([answer.status, answer.headers["retry-after"]]).toEqual([429, "23"]);
    expect(answer.json).toMatchObject({ parameters: { retry_after: 23 } });
  });

  it.each([
    ["JSON that breaks off", { type: "application/json", bytes: "{" }, "can't parse JSON object"],
    ["a type that nobody reads", { type: "text/plain", bytes: "x" }, "unsupported content-type"],
    [
      "parts without an end",
      { type: "multipart/form-data; boundary=x", bytes: "--x\r\n" },
      "can't parse multipart form",
    ],
    [
      "an object that is none",
      { type: "application/json", bytes: '{"chat_id":700,"text":"x","reply_markup":"{no"}' },
      "can't parse reply_markup JSON object",
    ],
  ])("refuse %s", async (_what, body, why) => {
    const { status, json: answer } = await call("POST", `${root}/sendMessage`, body);
    expect(status).toBe(400);
    expect(answer).toMatchObject({ description: expect.stringContaining(why) as string });
    expect(telegram.sent).toEqual([]);
  });
});

describe("a whole conversation by hand", () => {
  it("goes from a poll over a draft, an answer with buttons and a press to an edit", async () => {
    const mira = telegram.privateChat(MIRA);
    const arrived = telegram.nextCall(({ method }) => method === "getUpdates");
    const poll = call("GET", `${root}/getUpdates?timeout=30`);
    await arrived;
    mira.sendText("Run it?");
    const [update] = ((await poll).json as { result: { update_id: number }[] }).result; // Bot API getUpdates
    await call("POST", `${root}/sendMessageDraft`, json({ chat_id: 700, draft_id: 7, text: "Thinking" }));
    expect(telegram.draftIn(700)).toBe("Thinking");
    const reply_markup = { inline_keyboard: [[{ text: "Yes", callback_data: "y" }]] };
    await call("POST", `${root}/sendMessage`, json({ chat_id: 700, text: "Sure?", reply_markup }));
    expect(telegram.draftIn(700)).toBeUndefined();
    const id = mira.press(2, "y");
    const offset = (update?.update_id ?? 0) + 1;
    const pressed = await call("POST", `${root}/getUpdates`, form({ offset: String(offset) }));
    expect(pressed.json).toMatchObject({ result: [{ callback_query: { id, data: "y" } }] });
    await call("GET", `${root}/answerCallbackQuery?callback_query_id=${id}&text=Running`);
    await call("POST", `${root}/editMessageText`, form({ chat_id: "700", message_id: "2", text: "Done." }));
    expect(telegram.callbackAnswers).toMatchObject([{ queryId: id, text: "Running", alert: false }]);
    expect(telegram.shown(700).map(({ text }) => text)).toEqual(["Run it?", "Done."]);
  });
});
