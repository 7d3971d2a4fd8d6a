import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sending } from "./sending.ts";

let sending: Sending;

beforeAll(async () => {
  sending = await Sending.open();
});

afterAll(async () => {
  await sending.close();
});

const TYPING = { kind: "typing" } as const;
const OVER = { kind: "over" } as const;

/** What was shown to a chat: "composing", "paused". */
async function shownTo(jid: string): Promise<readonly string[]> {
  // The server has all that was written before the answer to this.
  await sending.hearSomething();
  return sending.wa.nodes.flatMap(({ tag, attrs, content }) =>
    tag === "chatstate" && attrs["to"] === jid && Array.isArray(content) ? (content[0]?.tag ?? []) : [],
  );
}

describe("typing", () => {
  it("is shown every 8 s as long as the turn goes on, and taken back at its end", async () => {
    const { sender, clock, bob } = sending;
    const { to } = sending.piece("");
    for (let seconds = 0; seconds < 18; seconds += 4) {
      await sender.progress(to, TYPING);
      await clock.advance(4_000);
    }
    expect(await shownTo(bob.lid)).toEqual(["composing", "composing", "composing"]);
    await sender.progress(to, OVER);
    await sender.progress(to, OVER);
    expect(await shownTo(bob.lid)).toEqual(["composing", "composing", "composing", "paused"]);
  });

  it("ends after five minutes", async () => {
    const { sender, clock, carol } = sending;
    const { to } = sending.piece("", { chat: sending.keyOf(carol) });
    for (let seconds = 0; seconds < 400; seconds += 10) {
      await sender.progress(to, TYPING);
      await clock.advance(10_000);
    }
    await sender.progress(to, OVER);
    const shown = await shownTo(carol.lid);
    expect(shown.filter((state) => state === "composing")).toHaveLength(30);
    expect(shown.filter((state) => state === "paused")).toHaveLength(1);
    expect(shown.at(-1)).toBe("paused");
  });

  it("is not shown to oneself, nor while there is no line", async () => {
    const { sender, owner } = sending;
    await sender.progress(sending.piece("", { chat: sending.keyOf(owner) }).to, TYPING);
    expect(await shownTo(owner.lid)).toEqual([]);
  });

  it("is taken back where the connection is closed", async () => {
    const { wa } = sending;
    const dan = await wa.addPerson({ phone: "15550000004", lid: "90000000000004", name: "Dan" });
    await sending.sender.progress(sending.piece("", { chat: sending.keyOf(dan) }).to, TYPING);
    await sending.sender.close();
    expect(await shownTo(dan.lid)).toEqual(["composing", "paused"]);
    await sending.restart();
  });
});

describe("a message that the agent has taken up", () => {
  const read = (id: string) =>
    sending.wa.nodes.filter(({ tag, attrs }) => tag === "receipt" && attrs["id"] === id);

  it("is shown as read, in a group to whoever wrote it", async () => {
    const { sender, bob, carol } = sending;
    await sender.taken(sending.piece("").to, ["R1"]);
    await sender.taken(sending.piece("", { chat: "120363000000000001@g.us" }).to, [`R2/${carol.lid}`]);
    await sending.hearSomething();
    const [one, two] = [...read("R1"), ...read("R2")].map(({ attrs }) => attrs);
    expect([one?.["to"], one?.["type"]]).toEqual([bob.lid, "read"]);
    expect([two?.["to"], two?.["participant"], two?.["type"]]).toEqual([
      "120363000000000001@g.us",
      carol.lid,
      "read",
    ]);
  });

  it("is not where it is one's own, or the operator does not want it", async () => {
    await sending.sender.taken(sending.piece("", { chat: sending.keyOf(sending.owner) }).to, ["R3"]);
    const quiet = await Sending.open({ readReceipts: false });
    await quiet.sender.taken(quiet.piece("").to, ["R4"]);
    await quiet.hearSomething();
    await sending.hearSomething();
    expect(read("R3")).toEqual([]);
    expect(quiet.wa.nodes.filter(({ attrs }) => attrs["id"] === "R4")).toEqual([]);
    await quiet.close();
  });
});

describe("a connection that is closed", () => {
  it("waits for what is on its way, then cuts it off; what comes later is not written", async () => {
    const { sender, wa, clock } = sending;
    wa.faults.messages.add({ kind: "noAck", delivered: false });
    const failure = sending.failureOf(sending.say("last words"));
    await clock.whenTimer(20_000);
    const closed = sender.close();
    await clock.whenTimer(2_000);
    await clock.advance(2_000);
    await closed;
    expect((await failure)?.message).toMatch(/connection is closed/);
    await expect(sending.say("too late")).rejects.toMatchObject({ code: "send.not_written" });
  });
});
