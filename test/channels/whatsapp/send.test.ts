import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sending } from "./sending.ts";

let sending: Sending;

beforeAll(async () => {
  // Questions that nobody answers are given up soon, in the library's own time.
  sending = await Sending.open({}, { defaultQueryTimeoutMs: 500 });
});

afterAll(async () => {
  await sending.close();
});

describe("a text", () => {
  it("stands on the person's phone, addressed by LID, under the id that is given back", async () => {
    const { bob } = sending;
    const marks = [{ type: "bold", offset: 0, length: 5 }];
    const rendered = { text: "hello you", marks };
    const [id = ""] = await sending.send(sending.piece({ kind: "text", rendered }));
    const { chat, message } = await sending.shownTo(bob, id);
    expect([chat, message.extendedTextMessage?.text]).toEqual([bob.lid, "*hello* you"]);
    expect(id).toMatch(/^3EB0[0-9A-F]{18}$/);
    expect(sending.writesOf(id)).toEqual([`${bob.lid} accepted`]);
  });

  it("of one piece has one id, and each piece and each form one of its own", async () => {
    const piece = sending.piece("same");
    const [first] = await sending.send(piece);
    const [again] = await sending.send(piece);
    const [simpler] = await sending.send(piece, "alone");
    const [other] = await sending.say("same");
    expect(again).toBe(first);
    expect(new Set([first, simpler, other]).size).toBe(3);
    expect(sending.writesOf(first ?? "")).toHaveLength(1);
  });

  it("has another id where an older database gives the number of its piece to another text", async () => {
    const piece = sending.piece("before");
    const [before] = await sending.send(piece);
    const [after] = await sending.send({ ...piece, body: sending.piece("after").body });
    expect(after).not.toBe(before);
  });
});

describe("an answer that does not come", () => {
  it("is waited for 20 s on a living line, then the message goes once more under its id", async () => {
    sending.wa.faults.messages.add({ kind: "noAck", delivered: false });
    const piece = sending.piece("once more");
    const sent = sending.send(piece);
    await sending.clock.whenTimer(20_000);
    await sending.hearSomething();
    await sending.clock.advance(20_000);
    const [id = ""] = await sent;
    expect(sending.writesOf(id)).toEqual([`${sending.bob.lid} lost`, `${sending.bob.lid} accepted`]);
    expect(sending.bob.inbox.filter((shown) => shown.id === id)).toHaveLength(1);
  });

  it("twice leaves the outcome unknown for good, also in the next process", async () => {
    sending.wa.faults.messages.add({ kind: "noAck", delivered: true }, { times: 2 });
    const piece = sending.piece("never acknowledged");
    const failure = sending.failureOf(sending.send(piece));
    for (let writes = 1; writes <= 2; writes += 1) {
      await sending.clock.whenTimer(20_000);
      await sending.hearSomething();
      await sending.clock.advance(20_000);
    }
    expect(await failure).toMatchObject({ code: "send.unanswered" });
    await sending.restart();
    await expect(sending.send(piece)).rejects.toMatchObject({ code: "send.unanswered" });
    const id = sending.wa.sends.at(-1)?.id ?? "";
    expect(sending.writesOf(id)).toEqual([`${sending.bob.lid} lost`, `${sending.bob.lid} lost`]);
  });

  it("is not missed on a line over which nothing comes at all: that says nothing of the message", async () => {
    sending.wa.silence();
    const piece = sending.piece("dead line");
    const failure = sending.failureOf(sending.send(piece));
    await sending.clock.whenTimer(20_000);
    await sending.clock.advance(100_000);
    expect(await failure).not.toHaveProperty("code");
    await sending.reconnect();
    const [id = ""] = await sending.send(piece);
    expect(sending.writesOf(id).at(-1)).toBe(`${sending.bob.lid} accepted`);
  });
});

describe("a connection that breaks", () => {
  it.each(["before", "after"] as const)(
    "%s the message was delivered leaves it to be sent again under its id, and it is shown once",
    async (when) => {
      sending.wa.faults.messages.add({ kind: "cut", when });
      const piece = sending.piece(`cut ${when}`);
      await expect(sending.send(piece)).rejects.not.toHaveProperty("code");
      await sending.reconnect();
      await sending.restart();
      const [id = ""] = await sending.send(piece);
      expect(sending.writesOf(id)).toEqual([`${sending.bob.lid} lost`, `${sending.bob.lid} accepted`]);
      await sending.shownTo(sending.bob, id);
      expect(sending.bob.inbox.filter((shown) => shown.id === id)).toHaveLength(1);
    },
  );

  it("leaves what is asked to be sent meanwhile unwritten", async () => {
    const piece = sending.piece("later");
    sending.wa.cut();
    await sending.wa.waitForNode(() => true);
    await expect.poll(() => sending.account.line()).toBeUndefined();
    await expect(sending.send(piece)).rejects.toMatchObject({ code: "send.not_written" });
    await sending.reconnect();
    const [id = ""] = await sending.send(piece);
    expect(sending.writesOf(id)).toEqual([`${sending.bob.lid} accepted`]);
  });
});

describe("the devices of the recipient", () => {
  it("that WhatsApp does not name leave the message unwritten, rather than sent to nobody", async () => {
    const { wa, carol } = sending;
    wa.faults.queries.add({ kind: "silence" }, { when: ({ attrs }) => attrs["xmlns"] === "usync" });
    const piece = sending.piece("to somebody", { chat: sending.keyOf(carol) });
    await expect(sending.send(piece)).rejects.toMatchObject({ code: "send.not_written" });
    const [id = ""] = await sending.send(piece);
    expect(sending.writesOf(id)).toEqual([`${carol.lid} accepted`]);
  });

  it("hold up nobody else while they are asked for", async () => {
    const { wa, bob } = sending;
    const dan = await wa.addPerson({ phone: "15550000004", lid: "90000000000004", name: "Dan" });
    let answer: (() => void) | undefined;
    const until = new Promise<void>((resolve) => (answer = resolve));
    wa.faults.queries.add({ kind: "late", until }, { when: ({ attrs }) => attrs["xmlns"] === "usync" });
    const slow = sending.say("slow", { chat: sending.keyOf(dan) });
    const [quick = ""] = await sending.say("quick");
    expect(sending.writesOf(quick)).toEqual([`${bob.lid} accepted`]);
    answer?.();
    const [id = ""] = await slow;
    expect(sending.writesOf(id)).toEqual([`${dan.lid} accepted`]);
  });
});

describe("the keys of a group's new members", () => {
  const isKeys = ({ attrs }: { readonly attrs: Record<string, string> }): boolean =>
    attrs["xmlns"] === "encrypt";
  const groupWith = async (digits: string) => {
    const { wa, owner, bob } = sending;
    const phone = `1555000${digits}`;
    const person = await wa.addPerson({ phone, lid: `9000000000${digits}`, name: "Eve" });
    return { person, chat: wa.addGroup({ subject: "New", members: [owner, bob, person] }).id };
  };

  it("that are not given leave a message unwritten, rather than unreadable to one of them", async () => {
    const { person, chat } = await groupWith("0005");
    sending.wa.faults.queries.add({ kind: "silence" }, { when: isKeys });
    const piece = sending.piece("to all of you", { chat });
    await expect(sending.send(piece)).rejects.toMatchObject({ code: "send.not_written" });
    const [id = ""] = await sending.send(piece);
    const { message } = await sending.shownTo(person, id);
    expect([message.extendedTextMessage?.text, sending.writesOf(id)]).toEqual([
      "to all of you",
      [`${chat} accepted`],
    ]);
  });

  it("that are never given keep the message from nobody else", async () => {
    const { chat } = await groupWith("0006");
    const mend = sending.wa.faults.queries.add({ kind: "silence" }, { when: isKeys, times: Infinity });
    const piece = sending.piece("to the others", { chat });
    await expect(sending.send(piece)).rejects.toMatchObject({ code: "send.not_written" });
    const [id = ""] = await sending.send(piece);
    mend();
    const { message } = await sending.shownTo(sending.bob, id);
    expect(message.extendedTextMessage?.text).toBe("to the others");
  });

  it("hold up no other chat while they are asked for", async () => {
    const { chat } = await groupWith("0007");
    let answer: (() => void) | undefined;
    const until = new Promise<void>((resolve) => (answer = resolve));
    sending.wa.faults.queries.add({ kind: "late", until }, { when: isKeys });
    const slow = sending.failureOf(sending.say("slow", { chat }));
    await sending.wa.waitForNode((node) => isKeys(node) && JSON.stringify(node).includes("90000000000007"));
    const [quick = ""] = await sending.say("quick");
    expect(sending.writesOf(quick)).toEqual([`${sending.bob.lid} accepted`]);
    answer?.();
    await slow;
  });
});

describe("a device that could not read a message", () => {
  it("is given it again, also by the next process", async () => {
    const { bob, carol } = sending;
    const [id = ""] = await sending.say("read me");
    await sending.reconnect();
    await sending.restart();
    const before = sending.wa.sends.length;
    bob.askAgain(sending.device, id);
    const { stanza } = await sending.wa.waitForSend((sent) => sending.wa.sends.indexOf(sent) >= before);
    expect([stanza.attrs["id"], bob.arrivals(id)]).toEqual([id, 2]);
    const key = (person: typeof bob) => ({ id, remoteJid: person.lid, fromMe: true });
    const text = (await sending.sender.getMessage(key(bob)))?.extendedTextMessage?.text;
    expect(text).toBe("read me");
    expect(await sending.sender.getMessage(key(carol))).toBeUndefined();
    expect(await sending.sender.getMessage({ ...key(bob), id: "3EB0" })).toBeUndefined();
  });
});

describe("a message that is taken back", () => {
  it("is gone from the phone, by a message of our own", async () => {
    const [id = ""] = await sending.say("oh no");
    await sending.sender.takeBack(sending.piece("").to, [id], new AbortController().signal);
    const shown = await sending.wa.waitForMessage(({ message }) => message.protocolMessage?.key?.id === id);
    expect([shown.stanza.attrs["edit"], shown.message.protocolMessage?.key?.fromMe]).toEqual(["7", true]);
  });
});
