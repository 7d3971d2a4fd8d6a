import type { proto } from "@whiskeysockets/baileys";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Group } from "../../support/whatsapp/group.ts";
import { Sending } from "./sending.ts";

let sending: Sending;
let group: Group;

beforeAll(async () => {
  sending = await Sending.open();
  const { owner, bob, carol } = sending;
  group = sending.wa.addGroup({ members: [owner, bob, carol] });
});

afterAll(async () => {
  await sending.close();
});

function contextOf(message: proto.IMessage): proto.IContextInfo {
  return message.extendedTextMessage?.contextInfo ?? {};
}

describe("an answer", () => {
  it("quotes what a person said to us, by their address", async () => {
    const { bob } = sending;
    await sending.hasSaid(bob, "Q1", "how are you?");
    const [id = ""] = await sending.say("fine", { replyTo: "Q1" });
    const { message } = await sending.shownTo(bob, id);
    const { stanzaId, participant, quotedMessage } = contextOf(message);
    expect([stanzaId, participant, quotedMessage?.conversation]).toEqual(["Q1", bob.lid, "how are you?"]);
  });

  it("quotes a message of ours without what that one quoted", async () => {
    const { bob, owner } = sending;
    await sending.hasSaid(bob, "Q2", "and you?");
    const [first = ""] = await sending.say("me too", { replyTo: "Q2" });
    const [id = ""] = await sending.say("really", { replyTo: first });
    const { stanzaId, participant, quotedMessage } = contextOf((await sending.shownTo(bob, id)).message);
    expect([stanzaId, participant]).toEqual([first, owner.lid]);
    expect(quotedMessage?.extendedTextMessage?.text).toBe("me too");
    expect(quotedMessage?.extendedTextMessage?.contextInfo?.stanzaId ?? "").toBe("");
    expect(quotedMessage?.messageContextInfo?.messageSecret?.length ?? 0).toBe(0);
  });

  it("to a message that is not kept goes without it", async () => {
    const [id = ""] = await sending.say("to whom?", { replyTo: "GONE" });
    expect(contextOf((await sending.shownTo(sending.bob, id)).message).stanzaId ?? "").toBe("");
  });
});

describe("in a group", () => {
  it("everybody can read it, with the keys that go beside the first message", async () => {
    const { bob, carol } = sending;
    const [id = ""] = await sending.say("hello all", { chat: group.id });
    for (const person of [bob, carol])
      expect((await sending.shownTo(person, id)).message.extendedTextMessage?.text).toBe("hello all");
    const [second = ""] = await sending.say("hello again", { chat: group.id });
    expect((await sending.shownTo(carol, second)).message.extendedTextMessage?.text).toBe("hello again");
    expect(group.queries).toBe(1);
  });

  it("people are named by the address that the group uses, whichever was written", async () => {
    const { bob, carol } = sending;
    const [phone, lid] = [carol.phone.split("@")[0], bob.lid.split("@")[0]];
    const words = `@${phone} and @${lid}, but not @12345 or mail@${phone}`;
    const [id = ""] = await sending.say(words, { chat: group.id });
    const { message } = await sending.shownTo(bob, id);
    expect(contextOf(message).mentionedJid).toEqual([carol.lid, bob.lid]);
    expect(message.extendedTextMessage?.text).toBe(
      `@${carol.lid.split("@")[0]} and @${lid}, but not @12345 or mail@${phone}`,
    );
  });

  it("others are quoted by the address in the ref, and we ourselves by LID", async () => {
    const { bob, carol, owner } = sending;
    await sending.hasSaid(carol, "G1", "what now?", group.id);
    const [first = ""] = await sending.say("wait", { chat: group.id, replyTo: `G1/${carol.lid}` });
    const toCarol = contextOf((await sending.shownTo(bob, first)).message);
    expect([toCarol.stanzaId, toCarol.participant, toCarol.quotedMessage?.conversation]).toEqual([
      "G1",
      carol.lid,
      "what now?",
    ]);
    const [second = ""] = await sending.say("go", { chat: group.id, replyTo: first });
    const toUs = contextOf((await sending.shownTo(bob, second)).message);
    expect([toUs.stanzaId, toUs.participant]).toEqual([first, owner.lid]);
  });

  it("that addresses people otherwise by now (421) is asked about once more", async () => {
    const { owner, bob } = sending;
    const moved = sending.wa.addGroup({ members: [owner, bob] });
    await sending.say("before", { chat: moved.id });
    moved.addressing = "pn";
    const [id = ""] = await sending.say("after", { chat: moved.id });
    expect(sending.writesOf(id)).toEqual([`${moved.id} rejected 421`, `${moved.id} accepted`]);
    await sending.say("and on", { chat: moved.id });
    expect(moved.queries).toBe(2);
  });

  it("nothing is written where only admins may, or where we are no member any more", async () => {
    const { owner, bob, wa } = sending;
    const announced = wa.addGroup({ members: [owner, bob], admins: [bob], announce: true });
    const without = wa.addGroup({ members: [bob] });
    for (const { id } of [announced, without]) {
      const before = wa.sends.length;
      await expect(sending.say("hello", { chat: id })).rejects.toMatchObject({ code: "send.chat_closed" });
      expect(wa.sends.length).toBe(before);
    }
    announced.admins.add(owner);
    await sending.groups.refresh(announced.id);
    await sending.say("hello", { chat: announced.id });
  });

  it("that WhatsApp shows us nothing of is closed, and one that it says nothing of now is tried again", async () => {
    const isGroupQuery = ({ attrs }: { readonly attrs: Record<string, string> }): boolean =>
      attrs["xmlns"] === "w:g2";
    const { owner, bob, wa } = sending;
    for (const [code, outcome] of [
      [403, "send.chat_closed"],
      [500, "send.not_written"],
    ] as const) {
      const { id } = wa.addGroup({ members: [owner, bob] });
      wa.faults.queries.add({ kind: "error", code }, { when: isGroupQuery, times: 2 });
      await expect(sending.say("hello", { chat: id })).rejects.toMatchObject({ code: outcome });
    }
  });

  it("a refusal by the server closes the chat", async () => {
    sending.wa.faults.messages.add({ kind: "reject", error: 403 });
    await expect(sending.say("hello", { chat: group.id })).rejects.toMatchObject({
      code: "send.chat_closed",
    });
  });
});

describe("where messages disappear", () => {
  it("ours say so in a group as its metadata does", async () => {
    const { owner, bob, wa } = sending;
    const brief = wa.addGroup({ members: [owner, bob], ephemeralSeconds: 86_400 });
    const [id = ""] = await sending.say("soon gone", { chat: brief.id });
    expect(contextOf((await sending.shownTo(bob, id)).message).expiration).toBe(86_400);
  });

  it("ours say so in a private chat as the last message did, also after a restart", async () => {
    const { bob, device, socket } = sending;
    const text = (words: string, expiration: number): proto.IMessage => ({
      extendedTextMessage: { text: words, contextInfo: { expiration } },
    });
    const hear = async (message: proto.IMessage): Promise<void> => {
      const heard = new Promise((resolve) => socket.ev.on("messages.upsert", resolve));
      await bob.say(device, message);
      await heard;
    };
    await hear({ ephemeralMessage: { message: text("psst", 604_800) } });
    await sending.restart();
    const [id = ""] = await sending.say("psst too");
    expect(contextOf((await sending.shownTo(bob, id)).message).expiration).toBe(604_800);
    await hear({ conversation: "aloud" });
    const [later = ""] = await sending.say("aloud too");
    expect(contextOf((await sending.shownTo(bob, later)).message).expiration ?? 0).toBe(0);
  });
});

it("a form that WhatsApp does not take (400) is tried without what it answers", async () => {
  await sending.hasSaid(sending.bob, "Q9", "hm?");
  sending.wa.faults.messages.add({ kind: "reject", error: 400 });
  const piece = sending.piece("well", { replyTo: "Q9" });
  await expect(sending.send(piece)).rejects.toMatchObject({ code: "send.refused", stepDown: "alone" });
  const [id = ""] = await sending.send(piece, "alone");
  expect(contextOf((await sending.shownTo(sending.bob, id)).message).stanzaId ?? "").toBe("");
});

describe("a text in the place of an earlier one", () => {
  it("changes that message, also when it is sent twice", async () => {
    const [id = ""] = await sending.say("first");
    const edit = sending.piece("better", { replaces: id });
    expect(await sending.send(edit)).toEqual([id]);
    expect(await sending.send(edit)).toEqual([id]);
    const shown = await sending.wa.waitForMessage(({ message }) => message.protocolMessage?.key?.id === id);
    expect(shown.message.protocolMessage?.editedMessage?.extendedTextMessage?.text).toBe("better");
    expect([shown.stanza.attrs["edit"], shown.message.messageContextInfo?.messageSecret?.length]).toEqual([
      "1",
      32,
    ]);
    expect(sending.wa.sends.filter(({ stanza }) => stanza.attrs["edit"] === "1")).toHaveLength(1);
  });

  it("goes as a message of its own where the other one was edited before, is old, or is not ours", async () => {
    const [id = ""] = await sending.say("first");
    await sending.send(sending.piece("second", { replaces: id }));
    const asNew = { code: "send.refused", stepDown: "new" };
    const third = sending.piece("third", { replaces: id });
    await expect(sending.send(third)).rejects.toMatchObject(asNew);
    const [own = ""] = await sending.send(third, "new");
    expect((await sending.shownTo(sending.bob, own)).message.extendedTextMessage?.text).toBe("third");
    await expect(sending.say("what", { replaces: "3EB0NOTOURS" })).rejects.toMatchObject(asNew);
    await expect(sending.say("what", { replaces: own, chat: group.id })).rejects.toMatchObject(asNew);
    await sending.clock.advance(15 * 60_000 + 1);
    await expect(sending.say("late", { replaces: own })).rejects.toMatchObject(asNew);
  });
});
