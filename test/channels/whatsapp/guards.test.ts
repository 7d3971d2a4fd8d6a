import { Console } from "node:console";
import { EventEmitter } from "node:events";
import { Writable } from "node:stream";
import { runInThisContext } from "node:vm";
import { expect, it } from "vitest";
import type { BinaryNode, WASocket } from "@whiskeysockets/baileys";
import { addressOf } from "../../../channels/whatsapp/baileys/life/address-guard.ts";
import { Cache } from "../../../channels/whatsapp/baileys/life/cache.ts";
import { guardConsole } from "../../../channels/whatsapp/baileys/life/console-guard.ts";
import { flushing } from "../../../channels/whatsapp/baileys/life/flush.ts";
import { libraryLog } from "../../../channels/whatsapp/baileys/life/library-log.ts";
import { socketConfig, newCaches } from "../../../channels/whatsapp/baileys/life/socket-config.ts";
import { watchdog } from "../../../channels/whatsapp/baileys/life/watchdog.ts";
import { waysFor } from "../../../channels/whatsapp/baileys/life/ways.ts";
import { settings } from "../../../channels/whatsapp/settings.ts";
import { type LoggedLine, memoryLog } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";

it("keeps keys that libsignal prints off the terminal, and nobody else's words", async () => {
  const printed: string[] = [];
  const out = new Writable({ write: (chunk, _encoding, done) => (printed.push(String(chunk)), done()) });
  const terminal = new Console(out, out);
  guardConsole(terminal);
  // As libsignal calls it: from a file of its own.
  const asLibsignal = evaluatedIn("/somewhere/node_modules/libsignal/src/session_record.js");
  asLibsignal(terminal, "Closing session:", { privKey: Buffer.from("secret") });
  asLibsignal(terminal, "Opening session:", "secret");
  evaluatedIn("/somewhere/node_modules/other/index.js")(terminal, "a word of another library");
  terminal.log("a word of ours");
  expect(printed).toEqual(["a word of another library\n", "a word of ours\n"]);
});

/** A function that prints, as if its code stood in that file. */
function evaluatedIn(file: string): (terminal: Console, ...words: unknown[]) => void {
  const code = "(terminal, ...words) => { terminal.info(...words) }";
  return runInThisContext(code, { filename: file }) as (terminal: Console, ...words: unknown[]) => void;
}

it.each(["wss://web.example.com/ws/chat", "ws://10.0.0.1:8080/ws", "ws://127.0.0.1.example.com/ws"])(
  "takes %s for WhatsApp under no circumstances",
  (url) => {
    expect(() => addressOf({ testServer: { url, ca: "" } })).toThrow(/not this machine; take testServer out/);
    const checked = settings.safeParse({ testServer: { url, ca: "" } });
    expect(checked.error?.issues.map(({ path }) => path.join("."))).toEqual(["testServer.url"]);
  },
);

it("reaches WhatsApp where the library does, unless a test's server on this machine is named", () => {
  expect(addressOf({})).toBeUndefined();
  expect(addressOf({ testServer: { url: "ws://127.0.0.1:9/ws", ca: "" } })).toBe("ws://127.0.0.1:9/ws");
});

// Floods of "Bad MAC" filled the heap and the log.
it("complaint 67: writes a few lines of a flood, how much there was, and nothing of what the library logs beside it", () => {
  const lines: LoggedLine[] = [];
  const clock = manualClock();
  const log = libraryLog(memoryLog(lines), clock);
  const node = { attrs: { from: "15550000002@s.whatsapp.net" }, content: "the words of somebody" };
  for (let count = 0; count < 10_000; count += 1)
    log.error({ node, key: { id: count }, err: new Error("Bad MAC") }, "failed to decrypt message");
  log.warn({}, "for 15550000002@s.whatsapp.net nothing was found, key 3EB0A1B2C3D4E5F6A7B8C9");
  log.error({ creds: { noiseKey: "secret" } }, 'in "their words" something is wrong');
  log.info({ node }, "seen");
  expect(lines.map(({ level, fields, sentence }) => [level, fields, sentence])).toEqual([
    ...Array.from({ length: 3 }, () => [
      "debug",
      { library: "baileys", fault: "Error: Bad MAC" },
      "failed to decrypt message",
    ]),
    ["debug", { library: "baileys" }, "for …@s.whatsapp.net nothing was found, key …"],
    ["debug", { library: "baileys" }, "in … something is wrong"],
  ]);
});

it("tells after a minute how many lines it left out", async () => {
  const lines: LoggedLine[] = [];
  const clock = manualClock();
  const log = libraryLog(memoryLog(lines), clock);
  for (let count = 0; count < 1_000; count += 1) log.warn({}, `fault ${count.toString(36)}`);
  expect(lines).toHaveLength(30);
  await clock.advance(60_000);
  log.warn({}, "and on");
  expect(lines.slice(30).map(({ fields, sentence }) => [fields["lines"], sentence])).toEqual([
    [970, "more of the same was said"],
    [undefined, "and on"],
  ]);
});

it("hands out what the library holds back for three looks in a row", async () => {
  const clock = manualClock();
  let flushes = 0;
  let open: (update: object) => void = () => {};
  const ev = {
    isBuffering: () => true,
    flush: () => (flushes += 1),
    on: (_event: string, heard: typeof open) => (open = heard),
    off: () => {},
  };
  const stop = flushing(clock)({ socket: { ev } as unknown as WASocket, generation: 1 });
  await clock.advance(10_000);
  expect(flushes).toBe(0);
  open({ connection: "open" });
  await clock.advance(2_999);
  expect(flushes).toBe(0);
  await clock.advance(1);
  expect(flushes).toBe(1);
  stop();
  await clock.advance(10_000);
  expect(flushes).toBe(1);
});

it("forgets after a while, and the oldest where there is too much", async () => {
  const clock = manualClock();
  const cache = new Cache(clock, { keepMs: 1_000, most: 2 });
  for (const key of ["a", "b", "c"]) cache.set(key, key);
  expect(["a", "b", "c"].map((key) => cache.get(key))).toEqual([undefined, "b", "c"]);
  await clock.advance(1_000);
  expect(cache.get("b")).toBeUndefined();
});

it("sets a socket up so that it rings on, loads no history and looks at no links", async () => {
  const clock = manualClock();
  const auth = { creds: {}, keys: () => ({ get: async () => ({}), set: async () => {} }) };
  const given = settings.parse({ version: "2.3000.7", device: "Kitchen" });
  const config = socketConfig(
    {
      settings: given,
      address: undefined,
      ways: await waysFor(given),
      caches: newCaches(clock),
      logger: libraryLog(memoryLog([]), clock),
      clock,
    },
    auth as never,
  );
  expect(config).toMatchObject({
    version: [2, 3000, 7],
    browser: ["Kitchen", "Chrome", "131.0"],
    markOnlineOnConnect: false,
    syncFullHistory: false,
    generateHighQualityLinkPreview: false,
    defaultQueryTimeoutMs: 20_000,
  });
  // Without it the first ids of contacts never come, nor the tokens that keep sends from being refused.
  expect(config.shouldSyncHistoryMessage).toBeUndefined();
  expect(config).not.toHaveProperty("waWebSocketUrl");
});

it("asks a silent other side for a sign of life, but not before its first word: that is the handshake's", async () => {
  const clock = manualClock();
  const asked: string[] = [];
  const ws = Object.assign(new EventEmitter(), { isOpen: true });
  const socket = {
    ws,
    generateMessageTag: () => "1",
    sendNode: async ({ tag }: BinaryNode) => void asked.push(tag),
  } as unknown as WASocket; // all of it that is used
  const stop = watchdog(clock, memoryLog([]))({ socket, generation: 1 });
  await clock.advance(60_000);
  expect(asked).toEqual([]);
  ws.emit("frame");
  await clock.advance(60_000);
  expect(asked).toEqual(["iq", "iq"]);
  stop();
});
