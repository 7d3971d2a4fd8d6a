import { spawn } from "node:child_process";
import { once } from "node:events";
import { Api, GrammyError, HttpError } from "grammy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../clock.ts";
import { startTelegram, type TelegramEmulator } from "./emulator.ts";

const MIRA = { id: 700, firstName: "Mira" };
let telegram: TelegramEmulator;
let api: Api;

beforeEach(async () => {
  telegram = await startTelegram();
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  telegram.privateChat(MIRA);
});
afterEach(() => telegram.close());

function send(text = "x"): Promise<unknown> {
  return api.sendMessage(700, text).catch((error: unknown) => error);
}

describe("faults", () => {
  it.each([
    ["a drop before", { kind: "drop", when: "before" }, 0],
    ["a drop after", { kind: "drop", when: "after" }, 1],
    ["half of the JSON", { kind: "truncate" }, 1],
    ["502 in HTML before", { kind: "html", status: 502, when: "before" }, 0],
    ["502 in HTML after", { kind: "html", status: 502, when: "after" }, 1],
  ] as const)(
    "%s is an error of transport, and the message is there only if it was after",
    async (_what, fault, sent) => {
      const placed = telegram.fault({ method: "sendMessage" }, fault);
      expect(await send()).toBeInstanceOf(HttpError);
      expect(telegram.sent).toHaveLength(sent);
      expect(placed.hits()).toBe(1);
      expect(await send("again")).toMatchObject({ text: "again" });
    },
  );

  it("cuts the connection in the middle of an answer, after the message was accepted", async () => {
    telegram.fault({ method: "sendMessage" }, { kind: "cut" });
    const answer = await fetch(`${telegram.apiRoot}/bot${telegram.token}/sendMessage?chat_id=700&text=x`);
    await expect(answer.json()).rejects.toThrow("terminated");
    expect(telegram.sent).toHaveLength(1);
  });

  it("drips and stalls answers too", async () => {
    telegram.fault({ method: "getMe" }, { kind: "drip", chunkBytes: 40, everyMs: 1 });
    expect(await api.getMe()).toEqual(telegram.me);
    telegram.fault({ method: "sendMessage" }, { kind: "stall", afterBytes: 10 });
    const controller = new AbortController();
    const link = `${telegram.apiRoot}/bot${telegram.token}/sendMessage?chat_id=700&text=x`;
    const answer = await fetch(link, { signal: controller.signal });
    const whole = answer.text();
    controller.abort();
    await expect(whole).rejects.toThrow("aborted");
    expect(telegram.sent).toHaveLength(1);
  });

  it("loses refusals as it loses answers, and tells how calls ended", async () => {
    telegram.fault({ method: "sendMessage" }, { kind: "drop", when: "after" });
    expect(await send(" ")).toBeInstanceOf(HttpError);
    expect(await send(" ")).toBeInstanceOf(GrammyError);
    await send("x");
    telegram.fault({ method: "sendMessage" }, { kind: "rateLimit", seconds: 3 });
    await send("x");
    telegram.fault({ method: "sendMessage" }, { kind: "html", status: 502, when: "before" });
    await send("x");
    await api.getMe();
    expect(telegram.outcomes("sendMessage")).toEqual({
      "drop after": 1,
      "400": 1,
      ok: 1,
      "429": 1,
      "html 502 before": 1,
    });
    expect(telegram.outcomes()["ok"]).toBe(2);
  });

  it("refuses with what Telegram says, and 429 names the wait in the body and in a header", async () => {
    telegram.fault(
      { method: "sendMessage" },
      { kind: "refuse", code: 500, description: "Internal Server Error: restart" },
    );
    const refused = await send();
    expect(refused).toBeInstanceOf(GrammyError);
    expect(refused).toMatchObject({ error_code: 500 });
    telegram.fault({ method: "getMe" }, { kind: "rateLimit", seconds: 18 });
    const answer = await fetch(`${telegram.apiRoot}/bot${telegram.token}/getMe`);
    expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
      429,
      "18",
      {
        ok: false,
        error_code: 429,
        description: "Too Many Requests: retry after 18",
        parameters: { retry_after: 18 },
      },
    ]);
    expect(telegram.sent).toEqual([]);
  });

  it.each([
    ["before", 0],
    ["after", 1],
  ] as const)("never answers when silent %s", async (when, sent) => {
    telegram.fault({ method: "sendMessage" }, { kind: "silence", when });
    const controller = new AbortController();
    const arrived = when === "after" ? telegram.nextSent() : telegram.nextCall(() => true);
    // grammY's type of a signal is that of an older shim; at run time any signal will do.
    const signal = controller.signal as unknown as NonNullable<Parameters<Api["getMe"]>[0]>;
    const outcome = api.sendMessage(700, "x", {}, signal).catch((error: unknown) => error);
    await arrived;
    controller.abort();
    expect(await outcome).toBeInstanceOf(HttpError);
    expect(telegram.sent).toHaveLength(sent);
  });

  it("hits the n-th call that fits, as often as told, and no other", async () => {
    telegram.privateChat({ id: 701, firstName: "Tomás" });
    telegram.fault({ chat: 700, nth: 2, times: 2 }, { kind: "drop", when: "before" });
    const outcomes = [];
    for (const text of ["1", "2", "3", "4"]) {
      outcomes.push((await send(text)) instanceof HttpError);
      await api.sendMessage(701, text);
    }
    expect(outcomes).toEqual([false, true, true, false]);
    expect(telegram.sentTo(701)).toHaveLength(4);
    const placed = telegram.fault(
      { when: (call) => call.parameters["text"] === "bad" },
      { kind: "truncate" },
    );
    await send("good");
    placed.remove();
    expect(await send("bad")).toMatchObject({ text: "bad" });
  });

  it("holds a call back for a time", async () => {
    const clock = manualClock();
    await telegram.close();
    telegram = await startTelegram({ clock });
    telegram.privateChat(MIRA);
    api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
    telegram.fault({ method: "sendMessage" }, { kind: "delay", ms: 5_000 });
    const held = clock.whenTimer(5_000);
    const slow = send("slow");
    await held;
    await send("fast");
    await clock.advance(5_000);
    await slow;
    expect(telegram.sent.map((message) => message.text)).toEqual(["fast", "slow"]);
  });

  it("drips, stalls, cuts and loses downloads", async () => {
    const bytes = Buffer.from("0123456789");
    const { document } = telegram.privateChat(MIRA).sendDocument(bytes);
    const { file_path } = await api.getFile(document?.file_id ?? "");
    const link = `${telegram.apiRoot}/file/bot${telegram.token}/${file_path}`;
    telegram.fault({ method: "file" }, { kind: "drip", chunkBytes: 4, everyMs: 1 });
    expect(await (await fetch(link)).text()).toBe("0123456789");
    telegram.fault({ method: "file" }, { kind: "cut" });
    await expect(fetch(link).then((answer) => answer.text())).rejects.toThrow("terminated");
    telegram.fault({ method: "file" }, { kind: "html", status: 502, when: "before" });
    expect((await fetch(link)).status).toBe(502);
    telegram.fault({ method: "file" }, { kind: "stall", afterBytes: 3 });
    const controller = new AbortController();
    const stalled = await fetch(link, { signal: controller.signal });
    const reader = stalled.body!.getReader(); // a 200 answer has a body
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("012");
    const more = reader.read();
    controller.abort();
    await expect(more).rejects.toThrow("aborted");
  });
});

describe("hooks", () => {
  it("step in before and after a change, with what was called", async () => {
    const seen: unknown[] = [];
    telegram.on("beforeCommit", async (call) => {
      await Promise.resolve();
      seen.push(["before", call.parameters["text"], telegram.sent.length]);
    });
    telegram.on("afterCommit", (call) => void seen.push(["after", call.method, telegram.sent.length]));
    await send("x");
    await send(" "); // refused: nothing is changed
    await api.getMe();
    expect(seen).toEqual([
      ["before", "x", 0],
      ["after", "sendMessage", 1],
    ]);
  });

  it("tell of polls and downloads until they are taken away", async () => {
    const polls: number[][] = [];
    const stop = telegram.on(
      "pollAnswered",
      ({ updates }) => void polls.push(updates.map((item) => item.update_id)),
    );
    const { document } = telegram.privateChat(MIRA).sendDocument(Buffer.from("x"));
    const [update] = await api.getUpdates();
    stop();
    await api.getUpdates();
    expect(polls).toEqual([[update?.update_id]]);
    const { file_path } = await api.getFile(document?.file_id ?? "");
    const requested = new Promise((resolve) => telegram.on("fileRequested", ({ path }) => resolve(path)));
    await fetch(`${telegram.apiRoot}/file/bot${telegram.token}/${file_path}`);
    expect(await requested).toBe(file_path);
  });

  it("let a test kill the process that called, before it hears of what it did", async () => {
    const script = `
      const body = new URLSearchParams({ chat_id: "700", text: "last words" });
      await fetch(process.argv[1], { method: "POST", body });
      console.log("heard");`;
    const link = `${telegram.apiRoot}/bot${telegram.token}/sendMessage`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, link], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    telegram.on("afterCommit", () => void child.kill("SIGKILL"));
    const exit: unknown[] = await once(child, "close");
    expect(exit[1]).toBe("SIGKILL");
    expect(output).toBe("");
    expect(telegram.sent.map((message) => message.text)).toEqual(["last words"]);
  });
});

describe("a listener that throws", () => {
  it("is told of when the emulator is closed", async () => {
    telegram.on("beforeCommit", () => {
      throw new Error("an expectation of a test");
    });
    expect(await send()).toBeInstanceOf(HttpError);
    await expect(telegram.close()).rejects.toThrow("the Telegram emulator failed");
  });
});

describe("waiting", () => {
  it("resolves as soon as what is waited for was sent", async () => {
    const second = telegram.untilSent(700, 2);
    const next = telegram.nextSent((message) => message.text === "b");
    await send("a");
    await send("b");
    expect((await second).map((message) => message.text)).toEqual(["a", "b"]);
    expect(await next).toMatchObject({ text: "b" });
    expect(await telegram.sentMatching((message) => message.text === "a")).toMatchObject({ messageId: 1 });
  });

  it("ends with an error when the emulator is closed", async () => {
    const never = telegram.nextSent();
    await telegram.close();
    await expect(never).rejects.toThrow("closed");
  });
});
