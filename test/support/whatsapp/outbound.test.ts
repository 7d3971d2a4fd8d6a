import { proto, type WAMessage } from "@whiskeysockets/baileys";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { LinkedDevice } from "./linked-device.ts";
import type { Person } from "./person.ts";
import { capMessages, restrict } from "./restrictions.ts";
import { paired, type Parties } from "./set-up.ts";

let all: Parties & { readonly device: LinkedDevice };

beforeAll(async () => {
  all = await paired({ defaultQueryTimeoutMs: 1_500 });
});

afterAll(async () => {
  await all.close();
});

async function send(to: string, text: string): Promise<string> {
  const message: WAMessage | undefined = await all.plain.socket.sendMessage(to, { text, linkPreview: null });
  return message?.key.id ?? "";
}

function textFor(person: Person, id: string): string | null | undefined {
  return person.inbox.find((shown) => shown.id === id)?.message.extendedTextMessage?.text;
}

it("shows an answer to the person and on the account's own phone, and confirms it", async () => {
  const { wa, owner, bob, plain } = all;
  const id = await send(bob.lid, "hi");
  const { people, outcome } = await wa.waitForSend((sent) => sent.id === id);
  expect([new Set(people), outcome]).toEqual([new Set([owner, bob]), "accepted"]);
  expect([textFor(bob, id), textFor(owner, id)]).toEqual(["hi", "hi"]);
  expect(owner.inbox.find((shown) => shown.id === id)).toMatchObject({ chat: bob.lid, fromMe: true });
  await plain.whenStatus(id, proto.WebMessageInfo.Status.DELIVERY_ACK);
});

it("takes messages under the phone number as well", async () => {
  const { wa, bob } = all;
  const id = await send(bob.phone, "by number");
  await wa.waitForMessage((shown) => shown.id === id && shown.person === bob);
  expect(textFor(bob, id)).toBe("by number");
});

it("shows an answer to everybody in a group, of either addressing", async () => {
  const { wa, owner, bob, carol, group } = all;
  const ofPhones = wa.addGroup({ members: [owner, bob, carol], addressing: "pn" });
  for (const { id: chat } of [group, ofPhones]) {
    const id = await send(chat, "to all");
    const sent = await wa.waitForSend((each) => each.id === id);
    expect(new Set(sent.people)).toEqual(new Set([owner, bob, carol]));
    expect([bob, carol].map((person) => textFor(person, id))).toEqual(["to all", "to all"]);
  }
});

it("reads and plays what arrived, and types", async () => {
  const { wa, bob, plain, device } = all;
  const id = await send(bob.lid, "read me");
  await wa.waitForMessage((shown) => shown.id === id);
  bob.confirm(device, [id], { type: "read" });
  await plain.whenStatus(id, proto.WebMessageInfo.Status.READ);
  await plain.socket.sendPresenceUpdate("recording", bob.lid);
  await wa.waitForNode((stanza) => stanza.tag === "chatstate");
  const inbound = await bob.say(device, "read mine");
  await plain.socket.readMessages([(await plain.message(inbound)).key]);
  const read = await wa.waitForNode(({ tag, attrs }) => tag === "receipt" && attrs["type"] === "read");
  expect(read.attrs).toMatchObject({ id: inbound, to: bob.lid });
});

it.each([463, 479, 400, 429])(
  "refuses a message with %i, before or after it reached people",
  async (error) => {
    const { wa, bob } = all;
    wa.faults.messages.add({ kind: "reject", error });
    wa.faults.messages.add({ kind: "reject", error, delivered: true });
    const ids = [await send(bob.lid, "one"), await send(bob.lid, "two")];
    const sends = [];
    for (const id of ids) sends.push(await wa.waitForSend((sent) => sent.id === id));
    expect(sends.map((sent) => [sent.outcome, sent.error])).toEqual([
      ["rejected", error],
      ["rejected", error],
    ]);
    expect(ids.map((id) => bob.arrivals(id))).toEqual([0, 1]);
  },
);

it("does not acknowledge a message, or only later", async () => {
  const { wa, bob, plain } = all;
  const acks: string[] = [];
  plain.socket.ws.on("CB:ack,class:message", ({ attrs }: { attrs: { id: string } }) => acks.push(attrs.id));
  let release = (): void => {};
  wa.faults.messages.add({ kind: "noAck", delivered: true });
  wa.faults.messages.add({ kind: "late", until: new Promise((resolve) => (release = resolve)) });
  const [never, later] = [await send(bob.lid, "never"), await send(bob.lid, "later")];
  const now = await send(bob.lid, "now");
  await wa.waitForSend(({ id }) => id === now);
  release();
  await wa.waitForSend(({ id }) => id === later);
  await plain.socket.fetchPrivacySettings(true);
  const ours = new Set([never, later, now]); // those of before may still come
  expect(acks.filter((id) => ours.has(id))).toEqual([now, later]);
  expect([never, later, now].map((id) => bob.arrivals(id))).toEqual([1, 1, 1]);
});

it("breaks the connection before or after a message reached people", async () => {
  const { wa, bob, plain } = all;
  for (const [when, arrivals] of [
    ["before", 0],
    ["after", 1],
  ] as const) {
    wa.faults.messages.add({ kind: "cut", when });
    const closes = plain.closes.items.length;
    const id = await send(bob.lid, when);
    await plain.closes.whenCount(closes + 1);
    expect(bob.arrivals(id)).toBe(arrivals);
    await plain.open();
  }
});

it("shows a message once that is sent twice under the same id", async () => {
  const { wa, bob, plain } = all;
  for (let time = 0; time < 2; time++)
    await plain.socket.sendMessage(bob.lid, { text: "once", linkPreview: null }, { messageId: "3EB0AA" });
  await wa.waitForSend(({ id }) => id === "3EB0AA");
  await plain.socket.fetchPrivacySettings(true);
  expect(bob.arrivals("3EB0AA")).toBe(2);
  expect(bob.inbox.filter(({ id }) => id === "3EB0AA")).toHaveLength(1);
});

it("asks for a message again that the phone cannot decrypt, alone and in a group", async () => {
  const { wa, bob, group } = all;
  for (const chat of [bob.lid, group.id]) {
    wa.faults.messages.add({ kind: "unreadable" });
    const id = await send(chat, "again");
    await wa.waitForMessage((shown) => shown.id === id && shown.person === bob);
    expect(bob.arrivals(id)).toBeGreaterThan(1);
  }
});

it("loses the answer about devices, after which the library sends to the account's own phone alone", async () => {
  const { wa, owner } = all;
  const dora = await wa.addPerson({ phone: "15550000004", lid: "90000000000004", name: "Dora" });
  wa.faults.queries.add({ kind: "silence" }, { when: ({ attrs }) => attrs["xmlns"] === "usync" });
  const id = await send(dora.lid, "to nobody");
  const { people, outcome } = await wa.waitForSend((sent) => sent.id === id);
  expect([people, outcome, dora.inbox]).toEqual([[owner], "accepted", []]);
});

it("answers queries with errors, late, or not at all", async () => {
  const { wa, group, plain } = all;
  const groups = ({ attrs }: { attrs: Record<string, string> }): boolean => attrs["xmlns"] === "w:g2";
  wa.faults.queries.add({ kind: "error", code: 429, text: "rate-overlimit" }, { when: groups });
  await expect(plain.socket.groupMetadata(group.id)).rejects.toThrow("rate-overlimit");
  wa.faults.queries.add({ kind: "late", until: Promise.resolve() }, { when: groups });
  expect((await plain.socket.groupMetadata(group.id)).size).toBe(3);
});

it("refuses what a group does not allow", async () => {
  const { wa, owner, bob, carol } = all;
  const others = wa.addGroup({ members: [bob, carol] });
  const announced = wa.addGroup({ members: [owner, carol], admins: [carol], announce: true });
  for (const chat of [others, announced]) {
    const id = await send(chat.id, "may I?");
    expect((await wa.waitForSend((sent) => sent.id === id)).error).toBe(403);
  }
});

it("tells the account of its restrictions", async () => {
  const { plain, device } = all;
  restrict(device, { until: 1_900_000_000, type: "DEFAULT" });
  await plain.updates.when((events) => events["connection.update"]?.reachoutTimeLock?.isActive === true);
  expect(await plain.socket.fetchAccountReachoutTimelock()).toMatchObject({ isActive: true });
  capMessages(device, { total_quota: 10, used_quota: 9 });
  await plain.updates.when((events) => events["message-capping.update"]?.used_quota === 9);
  restrict(device, undefined);
  await plain.updates.when((events) => events["connection.update"]?.reachoutTimeLock?.isActive === false);
});
