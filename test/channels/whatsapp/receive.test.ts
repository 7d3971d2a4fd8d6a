import { BufferJSON, proto } from "@whiskeysockets/baileys";
import { expect, it, onTestFinished } from "vitest";
import { GatewayError } from "../../../src/core/errors.ts";
import type { InboundEvent } from "../../../src/core/events.ts";
import { memoryJournal } from "../../support/channel-host.ts";
import {
  BOB,
  CAROL,
  fromBob,
  fromCarol,
  GROUP,
  hearing,
  type Hearing,
  type HearingOptions,
  ME,
  ownStanza,
  stanza,
  WITH_BOB,
} from "./hearing.ts";

const { MESSAGE_EDIT, REVOKE } = proto.Message.ProtocolMessage.Type;

async function setUp(options: HearingOptions = {}): Promise<Hearing> {
  const test = await hearing(options);
  onTestFinished(() => test.close());
  return test;
}

function emit(test: Hearing, told: { readonly event: string; readonly data: unknown }): void {
  test.emit(told.event, told.data);
}

function own(id: string, remoteJid: string, text: string, more: object = {}): unknown {
  const key = { remoteJid, remoteJidAlt: ME.pn, fromMe: true, id, participant: "" };
  const message = {
    key,
    messageTimestamp: 1_796_000_500,
    pushName: "Owner",
    message: { conversation: text },
    ...more,
  };
  return { type: "notify", messages: [message] };
}

const texts = (events: readonly InboundEvent[]): readonly string[] =>
  events.flatMap((event) =>
    "content" in event ? event.content.map((part) => (part.type === "text" ? part.text : part.kind)) : [],
  );

it("tells the same event when a message comes again, whatever was learnt of its sender meanwhile", async () => {
  const test = await setUp();
  const key = { remoteJid: "90000000000002@lid", fromMe: false, id: "A1", participant: "" };
  emit(test, fromBob("A1", { conversation: "hello" }, { key, pushName: "" }));
  await test.events();
  test.contacts.learn("90000000000002@lid", "15550000002@s.whatsapp.net");
  emit(test, fromBob("A1", { conversation: "hello" }));
  expect(await test.events()).toHaveLength(1);
  expect(test.host.accepts()).toBe(2);
});

it("takes live messages in that are marked as kept back", async () => {
  const test = await setUp();
  const { data, event } = fromBob("A1", { conversation: "hello" });
  test.emit(event, { ...(data as object), type: "append" });
  expect(texts(await test.events())).toEqual(["hello"]);
});

it("complaint 61: drops what it has sent itself, also after a restart", async () => {
  const test = await setUp({ settings: { selfChat: true } });
  const message = { conversation: "an answer" };
  await test.outbox.keep("3EB0AAAAAAAAAAAAAAAAAA", {
    chat: "lid:90000000000001",
    jid: ME.lid,
    message,
    at: 0,
    silences: 0,
    accepted: true,
  });
  test.emit("messages.upsert", own("3EB0AAAAAAAAAAAAAAAAAA", ME.lid, "an answer"));
  const again = await setUp({ settings: { selfChat: true }, state: test.state });
  again.stanza(ownStanza("3EB0AAAAAAAAAAAAAAAAAA", ME.lid));
  again.emit("messages.upsert", own("3EB0AAAAAAAAAAAAAAAAAA", ME.lid, "an answer"));
  expect(await test.events()).toEqual([]);
  expect(await again.events()).toEqual([]);
});

it("complaint 61: leaves alone what the owner asks of Meta's assistant under their own address", async () => {
  const test = await setUp({ settings: { selfChat: true } });
  test.stanza(ownStanza("A1", "867051314767696@bot"));
  test.emit("messages.upsert", own("A1", ME.lid, "imagine a cat"));
  test.stanza(ownStanza("A2", ME.pn));
  test.emit("messages.upsert", own("A2", ME.pn, "note to self"));
  expect(texts(await test.events())).toEqual(["note to self"]);
});

it("does not take the owner's number for that of whom they write to", async () => {
  const test = await setUp();
  test.stanza(ownStanza("A1", "90000000000002@lid"));
  test.emit("messages.upsert", own("A1", "90000000000002@lid", "by hand"));
  emit(test, fromBob("A2", { conversation: "hello" }));
  const [byHand, hello] = await test.events();
  expect(byHand).toMatchObject({ own: true, place: { chat: BOB.id }, from: { id: "lid:90000000000001" } });
  expect(hello).toMatchObject({ from: BOB, place: WITH_BOB });
});

it.each([
  ["with the number", { mentionedJid: ["15550000001@s.whatsapp.net"] }, "@15550000001 hello", "hello"],
  [
    "with a device",
    { mentionedJid: ["90000000000001:2@lid"] },
    "hello @90000000000001",
    "hello @90000000000001",
  ],
  ["of all", { nonJidMentions: 1 }, "@all hello", "@all hello"],
])("is called in a group by a mention %s", async (_how, contextInfo, text, words) => {
  const test = await setUp();
  emit(test, fromCarol("A1", { extendedTextMessage: { text, contextInfo } }));
  const [event] = await test.events();
  expect(event).toMatchObject({ addressed: true, content: [{ type: "text", text: words }] });
});

it("is called in a group by a reply to what it has sent, and not by what only claims to be one", async () => {
  const test = await setUp();
  const posted = { chat: GROUP, jid: GROUP, at: 0, silences: 0, accepted: true };
  await test.outbox.keep("3EB01", { ...posted, message: { conversation: "our words" } });
  const reply = (stanzaId: string) => ({
    extendedTextMessage: {
      text: "and?",
      contextInfo: { stanzaId, participant: ME.lid, quotedMessage: { conversation: "never said" } },
    },
  });
  emit(test, fromCarol("A1", reply("3EB01")));
  emit(test, fromCarol("A2", reply("3EB02")));
  const [real, forged] = await test.events();
  expect(real).toMatchObject({ addressed: true, quote: { text: "our words", from: "you", ref: "3EB01" } });
  expect(forged).toMatchObject({ addressed: false, quote: { text: "never said" } });
  expect(forged).not.toHaveProperty("quote.from");
});

it("quotes what was said rather than what somebody says was said", async () => {
  const test = await setUp();
  emit(test, fromCarol("A1", { conversation: "I will pay 10" }));
  emit(
    test,
    fromCarol("A2", {
      extendedTextMessage: {
        text: "see?",
        contextInfo: {
          stanzaId: "A1",
          participant: "90000000000003@lid",
          quotedMessage: { conversation: "I will pay 1000" },
        },
      },
    }),
  );
  expect((await test.events())[1]).toMatchObject({
    quote: { text: "I will pay 10", from: "Carol", ref: "A1/90000000000003@lid" },
  });
});

it("quotes an edited message as it reads now, and only its author's edits count", async () => {
  const test = await setUp();
  const edit = (text: string): proto.IMessage => ({
    protocolMessage: { key: { id: "A1" }, type: MESSAGE_EDIT, editedMessage: { conversation: text } },
  });
  emit(test, fromBob("A1", { conversation: "I will pay 10" }));
  emit(test, fromBob("A2", edit("I will pay 1000")));
  test.stanza(ownStanza("A3", "90000000000002@lid"));
  const { protocolMessage } = edit("never said");
  test.emit("messages.upsert", own("A3", "90000000000002@lid", "", { message: { protocolMessage } }));
  const contextInfo = { stanzaId: "A1", participant: "90000000000002@lid" };
  emit(test, fromBob("A4", { extendedTextMessage: { text: "see?", contextInfo } }));
  expect((await test.events()).at(-1)).toMatchObject({ quote: { text: "I will pay 1000", ref: "A1" } });
});

it("complaint 35: fetches an old picture that is quoted", async () => {
  const test = await setUp();
  const imageMessage = {
    mimetype: "image/jpeg",
    mediaKey: Buffer.alloc(32, 1),
    fileLength: 9,
    caption: "our cat",
  };
  emit(
    test,
    fromBob("A1", {
      extendedTextMessage: {
        text: "what breed?",
        contextInfo: { stanzaId: "OLD", participant: "90000000000002@lid", quotedMessage: { imageMessage } },
      },
    }),
  );
  expect((await test.events())[0]).toMatchObject({
    quote: { text: "our cat\n[photo]", ref: "OLD", media: [{ type: "unfetched", kind: "image" }] },
  });
});

it("gives an edited caption together with its picture", async () => {
  const test = await setUp();
  const imageMessage = { mimetype: "image/png", mediaKey: Buffer.alloc(32, 1), caption: "a dog" };
  emit(test, fromBob("A1", { imageMessage }));
  emit(
    test,
    fromBob("A2", {
      protocolMessage: {
        key: { id: "A1" },
        type: MESSAGE_EDIT,
        editedMessage: { imageMessage: { caption: "a cat" } },
      },
    }),
  );
  const [first, edit] = await test.events();
  if (first?.type !== "message" || edit?.type !== "edited") throw new Error("not told");
  expect(edit).toMatchObject({ ref: "A1", content: [{ type: "text", text: "a cat" }, first.content[1]] });
});

it("takes a message back for its author and for an admin, and for nobody else", async () => {
  const dave = { id: "90000000000004@lid", admin: "admin" as const };
  const test = await setUp({ metadata: { participants: [dave, { id: "90000000000003@lid" }] } });
  const revoke = (id: string, by: string, of: string) => {
    const told = fromCarol(id, {
      protocolMessage: { type: REVOKE, key: { id: "A1", remoteJid: GROUP, participant: of } },
    });
    const { messages } = told.data as {
      readonly messages: readonly { readonly key: { participant: string; participantAlt?: string } }[];
    };
    for (const { key } of messages) {
      key.participant = by;
      delete key.participantAlt;
    }
    emit(test, told);
  };
  emit(test, fromCarol("A1", { conversation: "oops" }));
  revoke("R1", "90000000000005@lid", "90000000000003@lid");
  // Names it as their own, so it is about a message that does not exist.
  revoke("R2", "90000000000005@lid", "90000000000005@lid");
  revoke("R3", "90000000000004@lid", "90000000000003@lid");
  revoke("R4", "90000000000003@lid", "90000000000003@lid");
  const deleted = (await test.events()).filter((event) => event.type === "deleted");
  expect(deleted.map(({ id, refs }) => [id, refs])).toEqual([
    ["lid:90000000000005/A1/deleted/R2", ["A1/90000000000005@lid"]],
    [`${CAROL.id}/A1/deleted/R3`, ["A1/90000000000003@lid"]],
    [`${CAROL.id}/A1/deleted/R4`, ["A1/90000000000003@lid"]],
  ]);
});

it("replaces one's reaction by the next", async () => {
  const test = await setUp();
  const react = (id: string, text: string) =>
    emit(test, fromBob(id, { reactionMessage: { key: { id: "3EB01", fromMe: true }, text } }));
  for (const [id, text] of [
    ["R1", "👍"],
    ["R2", "🎉"],
    ["R2", "🎉"],
    ["R3", ""],
  ] as const)
    react(id, text);
  const reactions = (await test.events()).filter((event) => event.type === "reaction");
  expect(reactions.map(({ added, removed }) => [added, removed])).toEqual([
    [["👍"], []],
    [["🎉"], ["👍"]],
    [[], ["🎉"]],
  ]);
});

it("hears that it was put into a group, and out of it", async () => {
  const test = await setUp();
  const told = (id: string, messageStubType: number, person: string) =>
    test.emit("messages.upsert", {
      type: "append",
      messages: [
        {
          key: { remoteJid: GROUP, fromMe: false, id, participant: "90000000000003@lid" },
          messageTimestamp: 1_796_000_500,
          messageStubType,
          messageStubParameters: [JSON.stringify({ id: person, admin: null })],
        },
      ],
    });
  told("N1", 28, "90000000000007@lid");
  told("N2", 28, ME.lid);
  told("N3", 27, ME.pn);
  expect(await test.events()).toMatchObject([
    { type: "membership", id: "membership/N2", now: "gone", place: { chat: GROUP } },
    { type: "membership", id: "membership/N3", now: "here" },
  ]);
});

it("tells each step of a delivery once, also where it is told with the message alone", async () => {
  const test = await setUp();
  const id = "3EB0B0EEB35ECE176EFDF6";
  const key = { remoteJid: "90000000000002@lid", fromMe: true, id };
  const update = (status: number) => test.emit("messages.update", [{ key, update: { status } }]);
  test.emit("messages.upsert", {
    type: "append",
    messages: [{ key, status: 3, message: { conversation: "x" } }],
  });
  for (const status of [1, 2, 3, 4, 4, 5]) update(status);
  test.emit("messages.update", [{ key: { ...key, id: "3A0000000000000000FF" }, update: { status: 4 } }]);
  const group = { ...key, remoteJid: GROUP, id: "3EB0B0EEB35ECE176EFDF7" };
  for (const userJid of ["90000000000002@lid", "90000000000003@lid"])
    test.emit("message-receipt.update", [{ key: group, receipt: { userJid, readTimestamp: 1_796_000_510 } }]);
  expect((await test.events()).map(({ id: told }) => told)).toEqual([
    `${id}/delivered`,
    `${id}/read`,
    "3EB0B0EEB35ECE176EFDF7/read",
  ]);
});

it("complaint 11: takes in what was missed from the phone's history, with its date, and says how much", async () => {
  const test = await setUp();
  const history = (times: readonly number[], before = "H") =>
    test.emit("messaging-history.set", {
      chats: [],
      contacts: [],
      messages: times.map((messageTimestamp, n) => ({
        key: { remoteJid: "90000000000002@lid", fromMe: false, id: `${before}${n}` },
        messageTimestamp,
        message: { conversation: `said at ${messageTimestamp}` },
      })),
    });
  // What was said before the account was linked is not for us.
  history([1_795_000_000]);
  emit(test, fromBob("A1", { conversation: "hello" }, { messageTimestamp: 1_796_000_550 }));
  await test.events();
  await test.clock.advance(26 * 60_000);
  test.reconnect();
  emit(test, fromBob("A2", { conversation: "anybody?" }, { messageTimestamp: 1_796_002_100 }));
  await test.events();
  history([1_796_001_900, 1_796_001_800, 1_796_002_000, 1_795_000_000], "M");
  history([1_796_001_900, 1_796_001_800, 1_796_002_000], "M");
  expect(texts(await test.events())).toEqual([
    "hello",
    "anybody?",
    "said at 1796001800",
    "said at 1796001900",
    "said at 1796002000",
  ]);
  expect(test.host.logged.filter(({ fields }) => "missed" in fields)).toEqual([
    { level: "warn", fields: { missed: 3 }, sentence: "3 missed: taken in from the phone's history" },
  ]);
});

it("takes a flood of history in bit by bit, so that others come to their turn at the store", async () => {
  const test = await setUp();
  emit(test, fromBob("A1", { conversation: "hello" }, { messageTimestamp: 1_796_000_550 }));
  await test.events();
  test.reconnect();
  const messages = Array.from({ length: 1_000 }, (_, n) => ({
    key: { remoteJid: "90000000000002@lid", fromMe: false, id: `H${n}` },
    messageTimestamp: 1_796_001_000 + n,
    message: { conversation: `${n}` },
  }));
  test.emit("messaging-history.set", { chats: [], contacts: [], messages: messages.toReversed() });
  const events = await test.events();
  expect(texts(events.slice(1))).toEqual(messages.map((_, n) => `${n}`));
  expect(test.host.accepts()).toBe(21);
});

it("tries again in order when nothing can be stored, and says so until it can", async () => {
  const test = await setUp();
  test.host.refuse(new GatewayError("store.unavailable", "the disk is full"));
  emit(test, fromBob("A1", { conversation: "one" }));
  await test.clock.whenTimer(1_000);
  emit(test, fromBob("A2", { conversation: "two" }));
  await test.clock.advance(1_000);
  await test.clock.whenTimer(2_000);
  expect(test.host.failures).toHaveLength(1);
  test.host.refuse(undefined);
  await test.clock.advance(2_000);
  expect(texts(await test.events())).toEqual(["one", "two"]);
  expect(test.host.recoveries).toEqual([1]);
});

it("takes in what came before the account was unlinked, once it can be stored", async () => {
  const test = await setUp();
  test.host.refuse(new GatewayError("store.unavailable", "the disk is full"));
  emit(test, fromBob("A1", { conversation: "one" }));
  await test.clock.whenTimer(1_000);
  test.unlink();
  test.host.refuse(undefined);
  await test.clock.advance(1_000);
  expect(texts(await test.events())).toEqual(["one"]);
});

it("says again that it is well once the journal can be opened", async () => {
  const journal = memoryJournal();
  let isAway = true;
  const test = await setUp({
    journal: {
      ...journal,
      list(prefix) {
        if (isAway) throw new GatewayError("store.unavailable", "the disk is full");
        return journal.list(prefix);
      },
    },
  });
  expect(test.host.failures).toHaveLength(1);
  isAway = false;
  test.reconnect();
  expect(test.host.recoveries).toEqual([1]);
});

it("moves the chat of somebody who has only called, or could not be read", async () => {
  const test = await setUp({ settings: { calls: "reject" } });
  const pn = "15550000002@s.whatsapp.net";
  test.emit("call", [{ id: "C1", from: pn, chatId: pn, date: new Date(0), status: "offer", offline: false }]);
  test.stanza(stanza("A1", { from: "15550000003@s.whatsapp.net", sender_pn: "", addressing_mode: "pn" }));
  await test.clock.advance(80_000);
  await test.events();
  for (const n of [2, 3]) test.contacts.keyOf(`9000000000000${n}@lid`);
  for (const n of [2, 3]) test.contacts.learn(`9000000000000${n}@lid`, `1555000000${n}@s.whatsapp.net`);
  await test.contacts.save();
  const moved = (await test.events()).filter(({ type }) => type === "chatMoved");
  expect(moved.map(({ id }) => id)).toEqual([
    "moved/+15550000002/lid:90000000000002",
    "moved/+15550000003/lid:90000000000003",
  ]);
});

it("keeps nothing of people whom a message only names", async () => {
  const test = await setUp();
  const named = (n: number): string => `9111111111${String(n).padStart(4, "0")}@lid`;
  for (let n = 0; n < 50; n++) {
    const contextInfo = {
      stanzaId: `Q${n}`,
      participant: named(n),
      quotedMessage: { conversation: "forged" },
    };
    emit(test, fromCarol(`A${n}`, { extendedTextMessage: { text: "see?", contextInfo } }));
    emit(
      test,
      fromCarol(`R${n}`, { reactionMessage: { key: { id: "Q", participant: named(n) }, text: "👍" } }),
    );
  }
  await test.events();
  const rows = await test.state.list("contact/", { limit: 1_000 });
  expect(rows.map(([key]) => key)).toEqual([`contact/${CAROL.id}`]);
});

it.each(["", "\0", "a\0b", "x".repeat(200), "a b"])(
  "passes over what is about a message of the id %j",
  async (id) => {
    const test = await setUp();
    emit(test, fromBob("A1", { reactionMessage: { key: { id }, text: "👍" } }));
    emit(test, fromBob("A2", { protocolMessage: { key: { id }, type: REVOKE } }));
    const edit = { key: { id }, type: MESSAGE_EDIT, editedMessage: { conversation: "x" } };
    emit(test, fromBob("A3", { protocolMessage: edit }));
    const contextInfo = { stanzaId: id, quotedMessage: { conversation: "y" } };
    emit(test, fromBob("A4", { extendedTextMessage: { text: "hello", contextInfo } }));
    const events = await test.events();
    expect(events.map((event) => event.id)).toEqual(["A4"]);
    expect(events[0]).not.toHaveProperty("quote");
  },
);

it("takes a message of an impossible id in under one of its own", async () => {
  const test = await setUp();
  for (let time = 0; time < 2; time++) emit(test, fromBob("a\0b", { conversation: "hello" }));
  expect(await test.events()).toMatchObject([{ id: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
});

it("is not held up by a damaged row of what was said", async () => {
  const test = await setUp();
  emit(test, fromBob("A1", { conversation: "one" }));
  await test.events();
  await test.state.set({ [`said/${BOB.id}/A1`]: "s1.x.x" });
  const contextInfo = { stanzaId: "A1", quotedMessage: { conversation: "one, as they say" } };
  emit(test, fromBob("A2", { extendedTextMessage: { text: "two", contextInfo } }));
  expect((await test.events()).at(-1)).toMatchObject({ id: "A2", quote: { text: "one, as they say" } });
});

it("gives words for a message that breaks what reads it, and goes on", async () => {
  const test = await setUp();
  const broken = {
    get caption(): string {
      throw new Error("broken");
    },
  };
  emit(test, fromBob("A1", { imageMessage: broken }));
  emit(test, fromBob("A2", { conversation: "two" }));
  expect(texts(await test.events())).toEqual([
    "[a message that could not be read: ask for it to be sent again]",
    "two",
  ]);
});

it("reads a group's title once for many messages at a time", async () => {
  const test = await setUp();
  for (let n = 0; n < 5; n++) emit(test, fromCarol(`A${n}`, { conversation: "hello" }));
  await test.events();
  expect(test.asked).toEqual([GROUP]);
});

it("logs nothing of what is said", async () => {
  const test = await setUp();
  test.stanza(stanza("A1"));
  emit(test, fromBob("A1", { conversation: "a secret" }));
  await test.events();
  await test.clock.advance(120_000);
  const logged = JSON.stringify(test.host.logged, BufferJSON.replacer);
  expect(logged).not.toMatch(/a secret|1555|9000000/);
});
