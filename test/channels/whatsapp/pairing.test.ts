import { afterEach, expect, it, vi } from "vitest";
import { aStateKey, stepsOf, type TestAccount, testAccount, type AccountOptions } from "./account.ts";

let account: TestAccount | undefined;

async function setUp(options: AccountOptions = {}): Promise<TestAccount> {
  account = await testAccount(options);
  return account;
}

afterEach(async () => {
  await account?.close();
  account = undefined;
});

const NEVER = new AbortController().signal;

it("links by QR code, over the restart that WhatsApp asks for", async () => {
  const { life, wa, owner, stood } = await setUp();
  expect(life.account.me()).toBeUndefined();
  const steps = await stepsOf(life.pair({}, NEVER), async (step) => {
    if (step.kind === "qr") await wa.scan(owner, step.text);
  });
  expect(steps.map(({ kind }) => kind)).toEqual(["qr", "agreed", "linked"]);
  expect(life.account.me()).toEqual({ pn: owner.phone, lid: owner.lid });
  expect(life.account.line()?.generation).toBe(2);
  expect(stood.items.map(({ is }) => is)).toEqual(["unpaired", "pairing", "open"]);
});

it("says until when a code holds: the first for a minute", async () => {
  const { life, clock, stood } = await setUp();
  const [step] = await stepsOf(oneOf(life.pair({}, NEVER)));
  expect(step).toMatchObject({ kind: "qr", until: clock.now() + 60_000 });
  expect(stood.items).toContainEqual({ is: "pairing", until: clock.now() + 60_000 });
});

it("links by a code that is typed on the phone", async () => {
  const { life, wa, owner } = await setUp();
  const steps = await stepsOf(life.pair({ phone: "+15550000001" }, NEVER), async (step) => {
    if (step.kind === "code") await wa.typeCode(step.code);
  });
  expect(steps.map(({ kind }) => kind)).toEqual(["code", "agreed", "linked"]);
  expect(steps[0]).toMatchObject({ code: expect.stringMatching(/^[0-9A-Z]{8}$/) });
  expect(life.account.me()?.pn).toBe(owner.phone);
});

it("tells a phone number without its country", async () => {
  const { life } = await setUp();
  expect(await stepsOf(life.pair({ phone: "15550000001" }, NEVER))).toEqual([
    {
      kind: "failed",
      why: "that is no phone number with its country; write it as +15551234567",
    },
  ]);
});

it("gives no code for a number that WhatsApp does not know, and keeps nothing of it", async () => {
  const { life, auth, nextStands } = await setUp();
  const unpaired = nextStands("unpaired");
  expect(await stepsOf(life.pair({ phone: "+15559999999" }, NEVER))).toEqual([
    {
      kind: "failed",
      why: "WhatsApp gives no code for this phone number (400); see that it is the account's own, or scan a QR code",
    },
  ]);
  await unpaired;
  expect(auth().creds.me).toBeUndefined();
});

it("stops when the codes are used up, and says so; the next attempt begins with new keys", async () => {
  const { life, wa, owner, auth, nextStands } = await setUp({ whatsApp: { qrReferences: 2 }, qrMs: 400 });
  const before = auth().creds.advSecretKey;
  const unpaired = nextStands("unpaired");
  expect(await stepsOf(life.pair({}, NEVER))).toMatchObject([
    { kind: "qr" },
    { kind: "qr" },
    { kind: "failed", why: "nobody scanned a code while they held; begin again when the phone is at hand" },
  ]);
  await unpaired;
  await vi.waitFor(() => expect(wa.connections).toBe(0));
  expect(auth().creds.advSecretKey).not.toBe(before);
  const again = await stepsOf(life.pair({}, NEVER), async (step) => {
    if (step.kind === "qr") await wa.scan(owner, step.text).catch(() => {});
  });
  expect(again.at(-1)).toEqual({ kind: "linked" });
});

it("ends without a trace when whoever looks on goes away", async () => {
  const { life, host, wa, nextStands } = await setUp();
  const leaving = new AbortController();
  const unpaired = nextStands("unpaired");
  const steps = await stepsOf(life.pair({ phone: "+15550000001" }, leaving.signal), () => leaving.abort());
  expect(steps.map(({ kind }) => kind)).toEqual(["code"]);
  await unpaired;
  await vi.waitFor(() => expect(wa.connections).toBe(0));
  expect(await host.host.state.list("auth/", { limit: 10 })).toEqual([]);
});

it("goes on linking when whoever looks on goes away after the phone agreed", async () => {
  const { life, wa, owner, nextStands } = await setUp();
  const leaving = new AbortController();
  const open = nextStands("open");
  await stepsOf(life.pair({}, leaving.signal), async (step) => {
    if (step.kind === "qr") void wa.scan(owner, step.text);
    if (step.kind === "agreed") leaving.abort();
  });
  expect(await open).toEqual({ is: "open" });
});

it("lets one person link at a time: the second attempt ends the first", async () => {
  const { life, wa, owner } = await setUp();
  const first = stepsOf(life.pair({}, NEVER));
  const second = await stepsOf(life.pair({}, NEVER), async (step) => {
    if (step.kind === "qr") await wa.scan(owner, step.text);
  });
  expect((await first).at(-1)).toEqual({
    kind: "failed",
    why: "another linking was begun in its place",
  });
  expect(second.at(-1)).toEqual({ kind: "linked" });
});

it("does not link what is linked, and says how to unlink it", async () => {
  const { life, link } = await setUp();
  await link();
  expect(await stepsOf(life.pair({}, NEVER))).toEqual([
    {
      kind: "failed",
      why: "this connection is linked already; to link another account, first log it out on the phone, under Settings, Linked devices",
    },
  ]);
  expect(life.account.line()).toBeDefined();
});

it("fails with what WhatsApp says when it refuses the version, and links nothing", async () => {
  const { life, wa, nextStands } = await setUp();
  wa.faults.logins.add({ kind: "failure", reason: 405 });
  const unpaired = nextStands("unpaired");
  const [step] = await stepsOf(life.pair({}, NEVER));
  expect(step).toMatchObject({ kind: "failed", why: expect.stringMatching(/too old \(405\); set version/) });
  await unpaired;
});

// The credentials were not written before the restart, and the 401 that followed wiped them.
it("complaint 65: has its keys on the disk before it logs in, and keeps them when the first login is refused", async () => {
  const { life, wa, owner, host, clock, nextStands } = await setUp();
  let stored: number | undefined;
  wa.faults.logins.add(
    { kind: "failure", reason: 401 },
    { when: ({ devicePairingData }) => !devicePairingData },
  );
  const waiting = nextStands("waiting");
  const linking = stepsOf(life.pair({}, NEVER), async (step) => {
    if (step.kind === "qr") await wa.scan(owner, step.text);
  });
  await waiting;
  stored = (await host.host.state.get(["auth/creds"])).size;
  await clock.advance(1_000);
  expect(stored).toBe(1);
  expect((await linking).map(({ kind }) => kind)).toEqual(["qr", "agreed", "linked"]);
});

it("writes no code to the log, nor to the disk", async () => {
  const { life, wa, owner, host } = await setUp({ stateKey: aStateKey() });
  const secrets: string[] = [];
  await stepsOf(life.pair({}, NEVER), async (step) => {
    if (step.kind !== "qr") return;
    secrets.push(...(step.text.split("#")[1] ?? "").split(",").filter((part) => part.length > 8));
    await wa.scan(owner, step.text);
  });
  const rows = await host.host.state.list("", { limit: 10_000 });
  const written = JSON.stringify([host.logged, rows, host.failures.map(String)]);
  expect(secrets.length).toBeGreaterThanOrEqual(4);
  // Not toContain, which would print the whole of it.
  expect(secrets.filter((secret) => written.includes(secret))).toEqual([]);
  expect(JSON.stringify(host.logged).includes("15550000001")).toBe(false);
});

/** Ends after the first step, as somebody who leaves. */
async function* oneOf<T>(steps: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const step of steps) {
    yield step;
    return;
  }
}
