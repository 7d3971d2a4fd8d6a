import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { GatewayError } from "../../../src/core/errors.ts";
import { restrict } from "../../support/whatsapp/restrictions.ts";
import type { Person } from "../../support/whatsapp/person.ts";
import { Sending } from "./sending.ts";

let sending: Sending;
/** Nobody has been written to before: what a refusal leaves behind is of one test. */
let person: Person;
let people = 10;

beforeAll(async () => {
  sending = await Sending.open({}, { defaultQueryTimeoutMs: 500 });
});

afterAll(async () => {
  await sending.close();
});

beforeEach(async () => {
  const digits = String((people += 1)).padStart(4, "0");
  person = await sending.wa.addPerson({ phone: `1555000${digits}`, lid: `9000000000${digits}`, name: "Eve" });
});

afterEach(async () => {
  await sending.clock.advance(3_600_000);
});

/** Refuses the next messages, and gives what became of one that is sent. */
async function refused(
  error: number,
  {
    times = Infinity,
    chat = sending.keyOf(person),
    form,
  }: { readonly times?: number; readonly chat?: string; readonly form?: string } = {},
): Promise<{ readonly failure: Partial<GatewayError> | undefined; readonly writes: readonly string[] }> {
  const before = sending.wa.sends.length;
  const mend = sending.wa.faults.messages.add({ kind: "reject", error }, { times });
  const failure = await sending.failureOf(sending.send(sending.piece("hello", { chat }), form));
  mend();
  const writes = sending.wa.sends.slice(before).map(({ to, outcome }) => `${to} ${outcome}`);
  return { failure, writes };
}

/** How often WhatsApp was asked for devices. */
function asked(): number {
  return sending.wa.nodes.filter(({ attrs }) => attrs["xmlns"] === "usync").length;
}

describe("a person who may not be written to (463)", () => {
  it("is not written to at that address again, until they write", async () => {
    const { failure, writes } = await refused(463);
    expect(failure).toMatchObject({ code: "send.refused" });
    expect(failure?.stepDown).toBeUndefined();
    expect(writes).toEqual([`${person.lid} rejected`]);
    const again = await refused(463);
    expect([again.failure?.code, again.writes]).toEqual(["send.refused", []]);
    await sending.restart();
    const later = await refused(463);
    expect([later.failure?.code, later.writes]).toEqual(["send.refused", []]);
    const heard = new Promise((resolve) => sending.socket.ev.on("messages.upsert", resolve));
    await person.say(sending.device, "hello there");
    await heard;
    const [id = ""] = await sending.say("hello", { chat: sending.keyOf(person) });
    expect(sending.writesOf(id)).toEqual([`${person.lid} accepted`]);
  });

  it("is written to by LID where only the number was known", async () => {
    const isUsync = { when: ({ attrs }: { attrs: Record<string, string> }) => attrs["xmlns"] === "usync" };
    sending.wa.faults.queries.add({ kind: "silence" }, isUsync);
    const chat = `+${person.phone.split("@")[0]}`;
    const { failure, writes } = await refused(463, { chat, times: 1 });
    expect(failure).toBeUndefined();
    expect(writes).toEqual([`${person.phone} rejected`, `${person.lid} accepted`]);
  });
});

describe("devices that are no more (479)", () => {
  it("are asked for anew, once", async () => {
    await sending.say("first", { chat: sending.keyOf(person) });
    const before = asked();
    const { failure, writes } = await refused(479, { times: 1 });
    expect([failure, writes.map((write) => write.split(" ")[1])]).toEqual([
      undefined,
      ["rejected", "accepted"],
    ]);
    expect(asked()).toBe(before + 1);
  });

  it("twice are a refusal", async () => {
    const { failure, writes } = await refused(479);
    expect([failure?.code, writes.length]).toEqual(["send.refused", 2]);
  });
});

it("a form that WhatsApp does not take (400) is refused, with no simpler one for a plain text", async () => {
  const { failure, writes } = await refused(400);
  expect([failure?.code, failure?.stepDown, writes.length]).toEqual(["send.refused", undefined, 1]);
});

it("too many messages (429) hold all chats, longer each time", async () => {
  const { failure } = await refused(429);
  expect([failure?.code, failure?.retryAfterMs]).toEqual(["send.rate_limited", 60_000]);
  const other = { channel: "wa", chat: "lid:1" };
  expect(sending.sender.readyAt(other) - sending.clock.now()).toBe(60_000);
  await sending.clock.advance(60_000);
  expect((await refused(429)).failure?.retryAfterMs).toBe(120_000);
  await sending.clock.advance(120_000);
  await sending.say("taken", { chat: sending.keyOf(person) });
  expect((await refused(429)).failure?.retryAfterMs).toBe(60_000);
});

it("a fault of WhatsApp's own (500) leaves the message unwritten", async () => {
  expect((await refused(500)).failure?.code).toBe("send.not_written");
});

describe("an account under a restriction", () => {
  it("writes to who has written, and holds the others until it ends", async () => {
    const { wa, clock, device, socket } = sending;
    const until = Math.floor(clock.now() / 1_000) + 7_200;
    const told = new Promise((resolve) =>
      socket.ev.on("connection.update", (update) => update.reachoutTimeLock && resolve(update)),
    );
    restrict(device, { until, type: "WEB_COMPANION_ONLY" });
    await told;
    const { failure, writes } = await refused(463);
    expect(failure).toMatchObject({ code: "send.rate_limited", retryAfterMs: until * 1_000 - clock.now() });
    expect(writes).toEqual([]);
    await sending.hasSaid(person, "M1", "hello");
    await sending.say("hello", { chat: sending.keyOf(person) });
    await sending.restart();
    const stranger = await wa.addPerson({ phone: "15550000099", lid: "90000000000099", name: "Zoe" });
    const chat = sending.keyOf(stranger);
    await expect(sending.say("hello", { chat })).rejects.toMatchObject({ code: "send.rate_limited" });
    await clock.advance(7_200_000);
    await sending.say("hello", { chat });
  });
});
