import { proto } from "@whiskeysockets/baileys";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { MessageEvent } from "../../../src/core/events.ts";
import { BOB, CAROL, WITH_BOB } from "./hearing.ts";
import { type Listening, listening } from "./listening.ts";

const { MESSAGE_EDIT, REVOKE } = proto.Message.ProtocolMessage.Type;

let on: Listening;
beforeAll(async () => {
  on = await listening({ selfChat: true });
}, 30_000);
afterAll(() => on.close());

const rows = (): number => on.journal.list("").length;

/** Resolves when the journal is empty: what was committed is taken out after that. */
async function whenForgotten(): Promise<void> {
  while (rows() > 0) await new Promise((resolve) => setImmediate(resolve));
}

it("takes in what people say to the account, under either form of their address", async () => {
  await on.bob.say(on.device, "by LID", { id: "A1" });
  await on.bob.say(on.device, "by number", { id: "A2", addressing: "pn" });
  expect(await on.hears("by LID")).toMatchObject({ id: "A1", from: BOB, place: WITH_BOB, addressed: true });
  expect(await on.hears("by number")).toMatchObject({ id: "A2", from: BOB, place: WITH_BOB });
  await whenForgotten();
});

it("takes in what is said in a group, and knows what it is called", async () => {
  const group = on.wa.addGroup({ subject: "Friends", members: [on.owner, on.bob, on.carol] });
  await on.carol.say(
    on.device,
    { extendedTextMessage: { text: "@90000000000001 hello", contextInfo: { mentionedJid: [on.owner.lid] } } },
    { group, id: "G1" },
  );
  await on.carol.say(on.device, "not for you", { group, id: "G2" });
  expect(await on.hears("hello")).toMatchObject({
    id: `${CAROL.id}/G1`,
    ref: "G1/90000000000003@lid",
    place: { chat: group.id, kind: "group", title: "Friends" },
    from: CAROL,
    addressed: true,
  });
  expect(await on.hears("not for you")).toMatchObject({ addressed: false });
});

it("takes in two messages of one id, of which the library's buffer holds one", async () => {
  const group = on.wa.addGroup({ subject: "Twins", members: [on.owner, on.bob, on.carol] });
  on.wa.cut();
  const one = await on.bob.compose(on.device, "Bob's", { group, id: "SAME" });
  const other = await on.carol.compose(on.device, "Carol's", { group, id: "SAME" });
  on.device.push(one);
  on.device.push(other);
  await on.clock.advance(5_000);
  await on.device.whenDrained();
  await on.clock.advance(90_000);
  expect(await on.hears("Bob's")).toMatchObject({ id: `${BOB.id}/SAME` });
  expect(await on.hears("Carol's")).toMatchObject({ id: `${CAROL.id}/SAME` });
});

it("tells nothing twice that the server hands over again", async () => {
  await on.bob.say(on.device, "once", { id: "D1" });
  await on.device.whenTaken("D1");
  await on.hears("once");
  on.device.pushAgain("D1");
  await on.device.whenDrained();
  await on.bob.say(on.device, "behind it", { id: "D2" });
  await on.hears("behind it");
  expect(on.host.accepted.filter((event) => event.id.startsWith("D1"))).toHaveLength(1);
});

it("tells what came while the line was down, and live messages that are marked so", async () => {
  await on.bob.say(on.device, "marked as kept back", { attrs: { offline: "0" } });
  expect(await on.hears("marked as kept back")).toMatchObject({ from: BOB });
  on.wa.cut();
  await on.bob.say(on.device, "while away", { id: "O1" });
  await on.clock.advance(5_000);
  expect(await on.hears("while away")).toMatchObject({ id: "O1" });
});

it("asks again for what cannot be read, and tells it once", async () => {
  await on.bob.say(on.device, "at the second go", { id: "C1", corrupt: "once" });
  await on.hears("at the second go");
  await on.clock.advance(90_000);
  expect(on.host.accepted.filter((event) => event.id.startsWith("C1"))).toHaveLength(1);
});

it("says of what nobody can read that it could not be read", async () => {
  await on.carol.say(on.device, "never", { id: "C2", corrupt: "always" });
  await on.device.whenDrained();
  await on.clock.advance(90_000);
  const event = await on.heard(({ id }) => id === "C2/unreadable");
  expect(event).toMatchObject({ from: CAROL, addressed: true });
});

it("tells edits and revokes of their authors", async () => {
  await on.bob.say(on.device, "tpyo", { id: "E1" });
  await on.hears("tpyo");
  await on.bob.say(
    on.device,
    {
      protocolMessage: {
        type: MESSAGE_EDIT,
        key: { id: "E1", fromMe: true },
        editedMessage: { conversation: "typo" },
      },
    },
    { id: "E2" },
  );
  expect(await on.hears("typo")).toMatchObject({ type: "edited", ref: "E1", from: BOB });
  await on.bob.say(
    on.device,
    { protocolMessage: { type: REVOKE, key: { id: "E1", fromMe: true } } },
    { id: "E3" },
  );
  expect(await on.heard(({ type }) => type === "deleted")).toMatchObject({ refs: ["E1"] });
});

it("hears the owner's notes to themselves, and what they write to others by hand", async () => {
  await on.owner.say(on.device, "note to self", { to: on.owner });
  await on.owner.say(on.device, "to Bob by hand", { to: on.bob });
  const note = (await on.hears("note to self")) as MessageEvent;
  expect(note.from.id).toBe("lid:90000000000001");
  expect(note).not.toHaveProperty("own");
  expect(await on.hears("to Bob by hand")).toMatchObject({ own: true, place: { chat: BOB.id } });
});

it("does not hear itself, and is told what became of what it sent", async () => {
  const piece = {
    id: 1,
    to: { channel: "test", chat: "lid:90000000000001" },
    body: { kind: "text" as const, rendered: { text: "an answer in the self-chat", marks: [] } },
  };
  const [id] = await on.channel.send(piece, { number: 1 }, new AbortController().signal);
  const toBob = await on.channel.send(
    { ...piece, id: 2, to: { channel: "test", chat: BOB.id } },
    { number: 1 },
    new AbortController().signal,
  );
  await on.heard((event) => event.type === "delivery" && event.ref === toBob[0]);
  expect(on.host.accepted.filter((event) => event.type === "message" && event.id === id)).toEqual([]);
});

it("leaves statuses alone", async () => {
  await on.bob.say(on.device, "my status", { broadcast: "status@broadcast" });
  await on.device.whenDrained();
  await on.bob.say(on.device, "behind the status");
  await on.hears("behind the status");
  expect(JSON.stringify(on.host.accepted)).not.toContain("my status");
});

it("says that a message to be viewed once is seen on the phone alone", async () => {
  await on.bob.say(on.device, new proto.Message(), { id: "V1", unavailable: "view_once" });
  expect(await on.heard(({ id }) => id === "V1")).toMatchObject({ type: "message", from: BOB });
});

it("leaves nothing in the journal", async () => {
  await on.clock.advance(900_000);
  await whenForgotten();
  expect(rows()).toBe(0);
});
