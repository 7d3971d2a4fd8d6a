import { decryptPollVote, proto } from "@whiskeysockets/baileys";
import { afterAll, beforeAll, expect, it } from "vitest";
import { album, edit, inAlbum, poll, pollVote, reaction, revoke } from "./contents.ts";
import { node, unixSeconds } from "./nodes.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { paired, type Parties } from "./set-up.ts";

let all: Parties & { readonly device: LinkedDevice };

beforeAll(async () => {
  all = await paired();
});

afterAll(async () => {
  await all.close();
});

it("brings messages under both forms of the address, in one session", async () => {
  const { bob, plain, device } = all;
  await bob.say(device, "by LID", { id: "A1" });
  await bob.say(device, "by phone", { id: "A2", addressing: "pn" });
  await bob.say(device, "by LID again", { id: "A3" });
  await bob.say(device, "without the other form", { id: "A4", alt: false });
  const keys = [];
  for (const id of ["A1", "A2", "A3", "A4"]) keys.push((await plain.message(id)).key);
  expect(keys.map(({ remoteJid, remoteJidAlt }) => [remoteJid, remoteJidAlt])).toEqual([
    [bob.lid, bob.phone],
    [bob.phone, bob.lid],
    [bob.lid, bob.phone],
    [bob.lid, undefined],
  ]);
  await device.whenDrained();
});

it("brings messages of groups, each form of a sender's address with its own sender key", async () => {
  const { wa, owner, bob, carol, group, plain, device } = all;
  const ofPhones = wa.addGroup({ members: [owner, bob, carol], addressing: "pn" });
  await carol.say(device, "first", { id: "G1", group });
  await carol.say(device, "second", { id: "G2", group });
  await carol.say(device, "by phone", { id: "G3", group, addressing: "pn" });
  await bob.say(device, "there", { id: "G4", group: ofPhones });
  const keys = [];
  for (const id of ["G1", "G2", "G3", "G4"]) keys.push((await plain.message(id)).key);
  expect(keys.map(({ participant, participantAlt }) => [participant, participantAlt])).toEqual([
    [carol.lid, carol.phone],
    [carol.lid, carol.phone],
    [carol.phone, carol.lid],
    [bob.phone, bob.lid],
  ]);
});

it("brings what the owner writes on the phone, to others and to themselves", async () => {
  const { owner, bob, group, plain, device } = all;
  await owner.say(device, "from my phone", { id: "O1", to: bob });
  await owner.say(device, "a note", { id: "O2", to: owner });
  await owner.say(device, "to all of you", { id: "O3", group });
  const found = [];
  for (const id of ["O1", "O2", "O3"]) found.push(await plain.message(id));
  expect(found.map(({ key, message }) => [key.fromMe, key.remoteJid, message?.conversation])).toEqual([
    [true, bob.lid, "from my phone"],
    [true, owner.lid, "a note"],
    [true, group.id, "to all of you"],
  ]);
  await device.whenDrained();
});

it("keeps what was said until the client is back, and brings it again until it is taken", async () => {
  const { wa, bob, plain, device } = all;
  plain.close();
  await plain.closes.when((code) => code !== 515);
  await bob.say(device, "while you were out", { id: "B1" });
  expect(device.waiting).toHaveLength(1);
  await plain.open();
  expect((await plain.message("B1")).upsert).toBe("append");
  await device.whenTaken("B1");
  device.pushAgain("B1");
  await device.whenDrained();
  expect(device.taken.items.filter(({ stanza }) => stanza.attrs["id"] === "B1")).toMatchObject([
    {},
    { error: 487 },
  ]);
  expect(wa.connections).toBe(1);
});

it("brings again what the client was sent but never acknowledged", async () => {
  const { wa, bob, plain, device } = all;
  const closed = plain.closes.items.length;
  wa.silence();
  await bob.say(device, "into the void", { id: "B4" });
  wa.cut();
  await plain.closes.whenCount(closed + 1);
  expect(device.waiting.map(({ attrs }) => attrs["id"])).toEqual(["B4"]);
  await plain.open();
  expect((await plain.message("B4")).upsert).toBe("append");
  await device.whenDrained();
});

it("brings a live message that is marked as if it were not, and several in another order", async () => {
  const { bob, plain, device } = all;
  const first = await bob.compose(device, "first", { id: "B2" });
  const second = await bob.compose(device, "second", { id: "B3", attrs: { offline: "0" } });
  device.push(second);
  device.push(first);
  expect((await plain.message("B3")).upsert).toBe("append");
  expect((await plain.message("B2")).upsert).toBe("notify");
});

it("brings a message that cannot be decrypted once more, when it is asked for it", async () => {
  const { bob, carol, group, plain, device } = all;
  await bob.say(device, "garbled", { id: "C1", corrupt: "once" });
  await carol.say(device, "garbled in a group", { id: "C2", corrupt: "once", group });
  expect((await plain.message("C1")).message?.conversation).toBe("garbled");
  expect((await plain.message("C2")).message?.conversation).toBe("garbled in a group");
  const stubs = plain.received.items.filter(
    ({ key, messageStubType }) =>
      key.id === "C1" && messageStubType === proto.WebMessageInfo.StubType.CIPHERTEXT,
  );
  expect(stubs).toHaveLength(1);
});

it("lets the phone give what its sender cannot", async () => {
  const { bob, plain, device } = all;
  await bob.say(device, "for the phone only", { id: "C3", corrupt: "phone" });
  expect((await plain.message("C3")).message?.conversation).toBe("for the phone only");
}, 15_000);

it("shows a view-once message as a stub", async () => {
  const { bob, plain, device } = all;
  await bob.say(device, {}, { id: "C4", unavailable: "view_once" });
  const stub = await plain.received.when(({ key }) => key.id === "C4");
  expect([stub.key.isViewOnce, stub.message]).toEqual([true, undefined]);
});

it("brings reactions, edits and revokes, also of what others wrote", async () => {
  const { bob, carol, group, plain, device } = all;
  await bob.say(device, "a tpyo", { id: "D1", group });
  const key = { remoteJid: group.id, participant: bob.lid, fromMe: false, id: "D1" };
  await carol.say(device, reaction(key, "👍"), { id: "D2", group });
  await bob.say(device, edit(key, "a typo"), { id: "D3", group });
  await carol.say(device, edit(key, "forged"), { id: "D4", group });
  await bob.say(device, revoke(key), { id: "D5", group });
  const edits = await plain.updates.whenCount(2, (events) =>
    Boolean(events["messages.update"]?.some(({ update }) => update.message?.editedMessage)),
  );
  expect(edits.map((events) => events["messages.update"]?.[0]?.key.participant)).toEqual([
    bob.lid,
    carol.lid,
  ]);
  await plain.updates.when((events) => events["messages.reaction"]?.[0]?.reaction.text === "👍");
  await plain.updates.when((events) =>
    Boolean(
      events["messages.update"]?.some(
        ({ update }) => update.messageStubType === proto.WebMessageInfo.StubType.REVOKE,
      ),
    ),
  );
});

it("brings polls, and votes that their secret opens", async () => {
  const { bob, plain, device } = all;
  const secret = Buffer.alloc(32, 7);
  await bob.say(device, poll("When?", ["now", "later"], secret), { id: "P1" });
  const key = { remoteJid: bob.lid, fromMe: false, id: "P1" };
  const options = { secret, creator: bob.lid, voter: bob.lid, chosen: ["later"] };
  await bob.say(device, pollVote(key, options), { id: "P2" });
  const vote = (await plain.message("P2")).message?.pollUpdateMessage?.vote ?? {};
  const opened = decryptPollVote(vote, {
    pollCreatorJid: bob.lid,
    pollMsgId: "P1",
    pollEncKey: secret,
    voterJid: bob.lid,
  });
  expect(opened.selectedOptions).toHaveLength(1);
});

it("brings the pictures of an album", async () => {
  const { wa, bob, plain, device } = all;
  await bob.say(device, album(1), { id: "L1" });
  const parent = { remoteJid: bob.lid, fromMe: false, id: "L1" };
  const imageMessage = { ...(await wa.media.put(Buffer.from("a picture"), "image")), mimetype: "image/png" };
  await bob.say(device, inAlbum(parent, { imageMessage }), { id: "L2" });
  const child = await plain.message("L2");
  expect(child.message?.messageContextInfo?.messageAssociation?.parentMessageKey?.id).toBe("L1");
});

it("brings broadcasts, newsletters and calls", async () => {
  const { wa, bob, plain, device } = all;
  await bob.say(device, "to my list", { id: "N1", broadcast: "1700000000@broadcast" });
  const text = proto.Message.encode({ conversation: "news" }).finish();
  device.push(
    node(
      "message",
      {
        id: "N2",
        from: "120363000000000009@newsletter",
        t: String(unixSeconds()),
        type: "text",
        server_id: "1",
      },
      [node("plaintext", {}, text)],
    ),
  );
  expect((await plain.message("N1")).key.participant).toBe(bob.lid);
  expect((await plain.message("N2")).message?.conversation).toBe("news");
  const callId = bob.call(device, { video: true });
  const rung = await plain.updates.when((events) => events.call?.[0]?.status === "offer");
  expect(rung.call?.[0]).toMatchObject({ id: callId, isVideo: true });
  await plain.socket.rejectCall(callId, bob.lid);
  await wa.waitForNode(
    ({ tag, content }) => tag === "call" && Array.isArray(content) && content[0]?.tag === "reject",
  );
  bob.hangUp(device, callId, { video: true });
  await plain.updates.when((events) => events.call?.[0]?.status === "timeout");
  await device.whenDrained();
});

it("tells what changes in a group, and of typing", async () => {
  const { wa, bob, carol, group, plain, device } = all;
  wa.changeGroup(group, carol, { kind: "subject", subject: "New name" });
  wa.changeGroup(group, carol, { kind: "announce", on: true });
  wa.changeGroup(group, carol, { kind: "ephemeral", seconds: 86_400 });
  wa.changeGroup(group, carol, { kind: "remove", people: [bob] });
  const removed = await plain.updates.when(
    (events) => events["group-participants.update"]?.action === "remove",
  );
  expect(removed["group-participants.update"]?.participants.map(({ id }) => id)).toEqual([bob.lid]);
  const metadata = await plain.socket.groupMetadata(group.id);
  expect(metadata).toMatchObject({ subject: "New name", announce: true, ephemeralDuration: 86_400, size: 2 });
  expect(group.queries).toBe(1);
  bob.types(device, "recording");
  const typing = await plain.updates.when((events) => events["presence.update"] !== undefined);
  expect(typing["presence.update"]?.presences).toMatchObject({
    [bob.lid]: { lastKnownPresence: "recording" },
  });
});
