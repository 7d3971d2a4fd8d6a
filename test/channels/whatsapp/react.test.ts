import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sending } from "./sending.ts";

let sending: Sending;

beforeAll(async () => {
  sending = await Sending.open({ chatSeconds: 30 });
});

afterAll(async () => {
  await sending.close();
});

const NEVER = new AbortController().signal;

/** The reactions that others' phones were shown, oldest first. */
function reactions(): readonly (readonly [string | null | undefined, string | null | undefined])[] {
  return sending.wa.outbound.flatMap(({ person, message: { reactionMessage } }) =>
    reactionMessage && person !== sending.owner
      ? [[reactionMessage.key?.id, reactionMessage.text] as const]
      : [],
  );
}

describe("a sign at a message", () => {
  it("is a reaction to it, in a group by whose it is, and is taken away by an empty one", async () => {
    const { sender, carol, wa } = sending;
    const { to } = sending.piece("");
    await sender.react(to, "R1", "👀", NEVER);
    const shown = await wa.waitForMessage(({ message }) => message.reactionMessage?.key?.id === "R1");
    expect([shown.stanza.attrs["type"], shown.message.reactionMessage?.key?.fromMe]).toEqual([
      "reaction",
      false,
    ]);
    await sending.clock.advance(25_000);
    const away = sender.react(to, "R1", undefined, NEVER);
    await sending.clock.whenTimer(5_000);
    await sending.clock.advance(5_000);
    await away;
    expect(reactions()).toEqual([
      ["R1", "👀"],
      ["R1", ""],
    ]);
    await sender.react({ ...to, chat: sending.keyOf(carol) }, `R2/${carol.lid}`, "👀", NEVER);
    const group = await wa.waitForMessage(({ message }) => message.reactionMessage?.key?.id === "R2");
    expect(group.message.reactionMessage?.key?.participant).toBe(carol.lid);
  });

  it("keeps the account's pace: one that would have to wait for long is let be", async () => {
    const { sender, clock } = sending;
    await clock.advance(120_000);
    const { to } = sending.piece("");
    await sending.say("an answer");
    const before = reactions().length;
    await sender.react(to, "R3", "👀", NEVER);
    await sending.hearSomething();
    expect(reactions()).toHaveLength(before);
  });

  it("is none to oneself, and troubles nobody while the connection is closed", async () => {
    const { sender, owner } = sending;
    const before = reactions().length;
    await sender.react({ channel: "wa", chat: sending.keyOf(owner) }, "R4", "👀", NEVER);
    await sender.close();
    await sender.react(sending.piece("").to, "R5", "👀", NEVER);
    expect(reactions()).toHaveLength(before);
    await sending.restart();
  });
});
