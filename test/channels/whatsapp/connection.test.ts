import { afterEach, expect, it, vi } from "vitest";
import { memoryState } from "../../support/channel-host.ts";
import { aStateKey } from "./account.ts";
import { openConnection, type Opened, type OpenOptions, type Platform, startPlatform } from "./opened.ts";

const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function platform(): Promise<Platform> {
  const started = await startPlatform();
  ends.push(() => started.wa.close());
  return started;
}

async function open(on: Platform, options?: OpenOptions): Promise<Opened> {
  const opened = await openConnection(on, options);
  ends.push(() => opened.close());
  return opened;
}

async function answer(
  { channel }: Opened,
  id: number,
  chat: string,
  text: string,
): Promise<readonly string[]> {
  const body = { kind: "text", rendered: { text, marks: [{ type: "bold", offset: 0, length: 2 }] } } as const;
  return await channel.send(
    { id, to: { channel: "wa", chat }, body },
    { number: 1 },
    new AbortController().signal,
  );
}

it("is linked by QR, takes in a text, answers it, and does both again after the connection broke", async () => {
  const on = await platform();
  const { wa, bob } = on;
  const opened = await open(on);
  const device = await opened.link();

  await bob.say(device, "hello", { id: "A1" });
  const [first] = await opened.host.whenAccepted(1);
  expect(first).toMatchObject({
    type: "message",
    id: "A1",
    place: { chat: "lid:90000000000002", kind: "private", also: ["+15550000002"] },
    from: { id: "lid:90000000000002", name: "Bob", also: ["+15550000002"] },
    content: [{ type: "text", text: "hello" }],
    addressed: true,
  });
  const [sent] = await answer(opened, 1, "lid:90000000000002", "hi Bob");
  const shown = await wa.waitForMessage(({ person }) => person === bob);
  expect([shown.id, textOf(shown.message)]).toEqual([sent, "*hi* Bob"]);

  const broken = opened.stood.items.length;
  wa.cut();
  await opened.stood.when((now) => now.is === "open" && opened.stood.items.indexOf(now) >= broken);
  await bob.say(device, "still there?", { id: "A2" });
  await opened.host.whenAccepted(2);
  await answer(opened, 2, "lid:90000000000002", "ok Bob");
  const texts = await wa.waitForMessages(2, ({ person }) => person === bob);
  expect(texts.map(({ message }) => textOf(message))).toEqual(["*hi* Bob", "*ok* Bob"]);
  expect(wa.devices).toHaveLength(1);
});

it("takes in what was said while it was closed, once", async () => {
  const on = await platform();
  const { wa, bob } = on;
  const kept = { state: memoryState(), stateKey: aStateKey() };
  const before = await open(on, kept);
  const device = await before.link();
  await bob.say(device, "one", { id: "B1" });
  await before.host.whenAccepted(1);
  await before.close();
  await vi.waitFor(() => expect(wa.connections).toBe(0));
  await bob.say(device, "two", { id: "B2" });

  const after = await open(on, kept);
  const events = await after.host.whenAccepted(1);
  expect(events).toMatchObject([{ id: "B2", content: [{ text: "two" }] }]);
  await device.whenDrained();
  expect(after.host.accepted).toHaveLength(1);
});

it("keeps statuses, broadcasts and newsletters away from people's chats, and does not hold up what is behind them", async () => {
  const on = await platform();
  const { bob } = on;
  const opened = await open(on);
  const device = await opened.link();
  device.push({ tag: "status", attrs: { id: "S0", from: bob.phone, t: "1700000000" } });
  device.push({
    tag: "message",
    attrs: { id: "S1", from: "status@broadcast", participant: bob.lid, t: "1700000000", type: "text" },
    content: [{ tag: "enc", attrs: { v: "2", type: "skmsg" }, content: Buffer.from("unreadable") }],
  });
  device.push({
    tag: "message",
    attrs: { id: "S2", from: "120363000000000009@newsletter", t: "1700000000", type: "text", server_id: "7" },
    content: [{ tag: "plaintext", attrs: {}, content: Buffer.from([10, 2, 104, 105]) }],
  });
  await bob.say(device, "for you", { id: "C1" });
  await opened.host.whenAccepted(1);
  await device.whenDrained();
  expect(opened.host.accepted).toMatchObject([{ id: "C1" }]);
  const taken = device.taken.items.map(({ stanza, error }) => [stanza.attrs["id"], error]);
  expect(taken).toEqual(
    expect.arrayContaining([
      ["S0", undefined],
      ["S1", undefined],
      ["S2", undefined],
    ]),
  );
});

it("opens without an account, says how to link one, and sends nothing", async () => {
  const on = await platform();
  const { wa } = on;
  const opened = await open(on);
  expect(await opened.stood.when(() => true)).toEqual({
    is: "unpaired",
    why: "no account is linked; run perch pair wa, or open the page and link it there",
  });
  await expect(answer(opened, 1, "+15550000002", "hi")).rejects.toMatchObject({ code: "send.not_written" });
  expect(wa.connections).toBe(0);
});

function textOf(message: {
  readonly conversation?: string | null;
  readonly extendedTextMessage?: { readonly text?: string | null } | null;
}): string | undefined {
  return message.extendedTextMessage?.text ?? message.conversation ?? undefined;
}
