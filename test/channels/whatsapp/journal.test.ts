import { createHash } from "node:crypto";
import { type BinaryNode, encodeWAMessage, type proto } from "@whiskeysockets/baileys";
import { expect, it, onTestFinished } from "vitest";
import { Journalled } from "../../../channels/whatsapp/baileys/reading/journalled.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import type { Journal } from "../../../src/core/host.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { InboundEvent } from "../../../src/core/events.ts";
import { memoryJournal } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";
import { fromBob, hearing, type Hearing, type HearingOptions, ME, ownStanza, stanza } from "./hearing.ts";

const UNREADABLE = "[a message that could not be read: ask for it to be sent again]";

async function setUp(options: HearingOptions = {}): Promise<Hearing> {
  const test = await hearing(options);
  onTestFinished(() => test.close());
  return test;
}

/** What a process leaves that is killed after it has read a message. */
async function leftBehind(journal: Journal, node: BinaryNode, message?: proto.IMessage): Promise<void> {
  const seal = await sealWith(undefined, "test");
  const journalled = new Journalled({ journal, seal, clock: manualClock(), me: () => ME });
  journalled.load();
  journalled.keep(node);
  const [enc] = Array.isArray(node.content) ? node.content : [];
  if (message && enc?.content instanceof Uint8Array)
    journalled.keepRead(enc.content, encodeWAMessage(message));
}

function stub(test: Hearing, id: string): void {
  const { event, data } = fromBob(id, {});
  const { messages } = data as { readonly messages: readonly object[] };
  test.emit(event, {
    type: "notify",
    messages: messages.map((one) => ({ ...one, message: undefined, messageStubType: 2 })),
  });
}

const rows = (journal: Journal): number => journal.list("").length;
const texts = (events: readonly InboundEvent[]): readonly unknown[] =>
  events
    .map((event) => ("content" in event ? event.content[0] : event.type))
    .map((part) => (typeof part === "object" && part.type === "text" ? part.text : part));

it("takes in what an earlier process has read and not told, in order", async () => {
  const journal = memoryJournal();
  await leftBehind(journal, stanza("A1"), { conversation: "one" });
  await leftBehind(journal, stanza("A2"), { conversation: "two" });
  const test = await setUp({ journal });
  expect(texts(await test.events())).toEqual(["one", "two"]);
  expect((await test.events())[0]).toMatchObject({
    id: "A1",
    from: { name: "Bob" },
    sentAt: "2026-11-30T01:01:40.000Z",
  });
});

it("tells nothing twice that comes again after that, and forgets it", async () => {
  const journal = memoryJournal();
  await leftBehind(journal, stanza("A1"), { conversation: "one" });
  const test = await setUp({ journal });
  await test.events();
  test.stanza(stanza("A1"));
  const { event, data } = fromBob("A1", { conversation: "one" });
  test.emit(event, data);
  expect(texts(await test.events())).toEqual(["one"]);
  expect(rows(journal)).toBe(0);
});

it("forgets what was found and does not come again after ten minutes", async () => {
  const journal = memoryJournal();
  await leftBehind(journal, stanza("A1"), { conversation: "one" });
  const test = await setUp({ journal });
  await test.events();
  expect(rows(journal)).toBe(2);
  await test.clock.advance(620_000);
  expect(rows(journal)).toBe(0);
});

it("keeps a message in the journal until what it says is committed", async () => {
  const test = await setUp();
  let before = 0;
  test.host.beforeAccept(() => void (before = rows(test.journal)));
  test.stanza(stanza("A1"));
  const { event, data } = fromBob("A1", { conversation: "one" });
  test.emit(event, data);
  await test.events();
  expect(before).toBe(1);
  expect(rows(test.journal)).toBe(0);
});

it("keeps it while nothing can be committed, and takes it in after a restart", async () => {
  const test = await setUp();
  test.host.refuse(new GatewayError("store.unavailable", "the disk is full"));
  await leftBehind(test.journal, stanza("A1"), { conversation: "one" });
  const next = await setUp({ journal: test.journal, state: test.state });
  expect(texts(await next.events())).toEqual(["one"]);
});

it("forgets what says nothing to us", async () => {
  const test = await setUp();
  test.stanza(ownStanza("A1", ME.lid, { category: "peer" }));
  const key = { remoteJid: ME.lid, fromMe: true, id: "A1", participant: "" };
  test.emit("messages.upsert", {
    type: "notify",
    messages: [{ key, message: { protocolMessage: { type: 6 } } }],
  });
  expect(await test.events()).toEqual([]);
  expect(rows(test.journal)).toBe(0);
});

it("waits for what cannot be read, and tells it once it can be", async () => {
  const test = await setUp();
  test.stanza(stanza("A1"));
  stub(test, "A1");
  await test.clock.advance(50_000);
  const { event, data } = fromBob("A1", { conversation: "one" });
  test.emit(event, { ...(data as object), requestId: "R" });
  await test.clock.advance(120_000);
  expect(texts(await test.events())).toEqual(["one"]);
  expect(rows(test.journal)).toBe(0);
});

it("says after a minute that a message could not be read, and still takes it when it comes", async () => {
  const test = await setUp();
  test.stanza(stanza("A1"));
  stub(test, "A1");
  await test.clock.advance(80_000);
  expect(await test.events()).toMatchObject([
    { id: "A1/unreadable", content: [{ type: "text", text: UNREADABLE }] },
  ]);
  expect(rows(test.journal)).toBe(0);
  const { event, data } = fromBob("A1", { conversation: "one" });
  test.emit(event, data);
  expect(texts(await test.events())).toEqual([UNREADABLE, "one"]);
});

it("waits while the library is busy with what came before, and no longer than ten minutes", async () => {
  const test = await setUp();
  test.stanza(stanza("A1"));
  const tell = async (count: number): Promise<void> => {
    await test.clock.advance(40_000);
    const { event, data } = fromBob(`B${count}`, { conversation: "before" });
    test.emit(event, data);
  };
  for (let count = 0; count < 14; count += 1) await tell(count);
  expect(texts(await test.events())).not.toContain(UNREADABLE);
  for (let count = 14; count < 20; count += 1) await tell(count);
  expect(texts(await test.events())).toContain(UNREADABLE);
});

it("also after a restart", async () => {
  const journal = memoryJournal();
  await leftBehind(journal, stanza("A1"));
  const test = await setUp({ journal });
  await test.clock.advance(80_000);
  expect(texts(await test.events())).toEqual([UNREADABLE]);
});

it("says nothing of what was told already, or is the account's own", async () => {
  const test = await setUp();
  test.stanza(stanza("A1"));
  const { event, data } = fromBob("A1", { conversation: "one" });
  test.emit(event, data);
  await test.events();
  test.stanza(stanza("A1"));
  test.stanza(ownStanza("A2", "90000000000002@lid"));
  test.stanza(stanza("A3", { category: "peer" }));
  await test.clock.advance(80_000);
  expect(texts(await test.events())).toEqual(["one"]);
  expect(rows(test.journal)).toBe(0);
});

it("says that a message can be seen on the phone alone, where the library says nothing", async () => {
  const test = await setUp();
  test.stanza({
    ...stanza("A1"),
    content: [{ tag: "unavailable", attrs: { type: "view_once_unavailable_fanout" } }],
  });
  await test.clock.advance(80_000);
  expect(texts(await test.events())).toEqual([
    "[a message to be viewed once, which only the phone shows: ask for it to be sent normally]",
  ]);
});

it("complaint 67: stays small under 10,000 messages in a minute that cannot be read", async () => {
  const test = await setUp();
  let most = 0;
  for (let n = 0; n < 10_000; n++) {
    test.stanza(stanza(`A${n}`));
    stub(test, `A${n}`);
    if (n % 100 === 0) {
      await test.events();
      most = Math.max(most, rows(test.journal));
    }
  }
  await test.clock.advance(120_000);
  expect(texts(await test.events())).toEqual([UNREADABLE]);
  expect(most).toBeLessThan(2_300);
  expect(rows(test.journal)).toBe(0);
  expect(test.host.logged).toHaveLength(1);
});

it("ends the connection rather than read what cannot be journalled", async () => {
  const journal: Journal = {
    ...memoryJournal(),
    write() {
      throw new GatewayError("store.unavailable", "the disk is full");
    },
  };
  const test = await setUp({ journal });
  test.stanza(stanza("A1"));
  expect(test.terminated).toEqual([1]);
  const seal = await sealWith(undefined, "test");
  const journalled = new Journalled({ journal, seal, clock: test.clock, me: () => ME });
  expect(() => journalled.keep(stanza("A1"))).toThrow("the disk is full");
  expect(() => journalled.readOf(Buffer.from("of A1"))).toThrow("could not be journalled");
});

it("holds neither words nor keys in the clear where there is a key", async () => {
  const journal = memoryJournal();
  const seal = await sealWith("a key for tests only, of 32 characters", "test");
  const journalled = new Journalled({ journal, seal, clock: manualClock(), me: () => ME });
  journalled.keep(stanza("A1"));
  journalled.keepRead(Buffer.from("of A1"), encodeWAMessage({ conversation: "a secret" }));
  const text = journal
    .list("")
    .map(([, value]) => Buffer.from(value).toString("latin1"))
    .join();
  expect(text).not.toMatch(/a secret|1555|90000/);
  const again = new Journalled({ journal, seal, clock: manualClock(), me: () => ME });
  again.load();
  const [entry] = again.entries();
  expect(entry && again.message(entry)?.message).toMatchObject({ conversation: "a secret" });
});

it("takes in what could be read at the second go alone, also where the process ended before it was told", async () => {
  const journal = memoryJournal();
  const again: BinaryNode = {
    ...stanza("A1"),
    content: [
      { tag: "enc", attrs: { type: "pkmsg", v: "2", count: "1" }, content: Buffer.from("once more") },
    ],
  };
  await leftBehind(journal, stanza("A1"));
  await leftBehind(journal, again, { conversation: "one" });
  const test = await setUp({ journal });
  expect(texts(await test.events())).toEqual(["one"]);
  await test.clock.advance(700_000);
  expect(texts(await test.events())).toEqual(["one"]);
  expect(rows(journal)).toBe(0);
});

it("does not say that a message cannot be read while there is no line over which it could come again", async () => {
  const journal = memoryJournal();
  await leftBehind(journal, stanza("A1"));
  const test = await setUp({ journal });
  test.disconnect();
  await test.clock.advance(300_000);
  test.reconnect();
  test.emit("connection.update", { connection: "open" });
  await test.clock.advance(45_000);
  expect(await test.events()).toEqual([]);
  const { event, data } = fromBob("A1", { conversation: "one" });
  test.emit(event, data);
  await test.clock.advance(120_000);
  expect(texts(await test.events())).toEqual(["one"]);
});

it("is not held up by a damaged row, and leaves it where it is", async () => {
  const journal = memoryJournal();
  await leftBehind(journal, stanza("A1"), { conversation: "one" });
  await leftBehind(journal, stanza("A2"), { conversation: "two" });
  await leftBehind(journal, stanza("A3"), { conversation: "three" });
  const [first] = journal.list("stanza/");
  const [damaged] = journal.list(`plain/${createHash("sha256").update("of A2").digest("hex")}`);
  if (!first || !damaged) throw new Error("nothing was left behind");
  journal.write({ [first[0]]: Buffer.from("s1.x.x"), [damaged[0]]: Buffer.from("p1.%.%") });
  const test = await setUp({ journal });
  expect(texts(await test.events())).toEqual([UNREADABLE, "three"]);
  test.stanza(stanza("A4"));
  expect(journal.list("stanza/")[0]).toEqual([first[0], Buffer.from("s1.x.x")]);
  expect(test.host.logged).toMatchObject([{ level: "error", fields: { rows: 1 } }, { level: "warn" }]);
});

it("passes over what no message of this account can be made of", async () => {
  const journal = memoryJournal();
  const others = { from: "90000000000077@lid", recipient: "90000000000002@lid" };
  const seal = await sealWith(undefined, "test");
  const theirs = new Journalled({
    journal,
    seal,
    clock: manualClock(),
    me: () => ({ pn: "15550000077@s.whatsapp.net", lid: others.from }),
  });
  theirs.keep(stanza("A1", others));
  theirs.keepRead(Buffer.from("of A1"), encodeWAMessage({ conversation: "of another account" }));
  await leftBehind(journal, stanza("A2"), { conversation: "two" });
  const test = await setUp({ journal });
  expect(texts(await test.events())).toEqual(["two"]);
});
