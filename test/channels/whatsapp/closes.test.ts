import { afterEach, describe, expect, it, vi } from "vitest";
import type { ConnectionState } from "../../../src/core/standing.ts";
import { CLOSES, closeOf, meaningOf } from "../../../channels/whatsapp/baileys/life/closes.ts";
import { aStateKey, stepsOf, type TestAccount, testAccount } from "./account.ts";

let account: TestAccount | undefined;

async function linked(): Promise<TestAccount> {
  account = await testAccount({ stateKey: aStateKey() });
  await account.link();
  return account;
}

afterEach(async () => {
  await account?.close();
  account = undefined;
});

type Follows = { readonly is: ConnectionState["is"]; readonly waitMs?: number; readonly secondMs?: number };

/**
 * Where a connection stands after each code. It waits so long with the longest of all dice: as the first that goes wrong,
 * and as the second in a row.
 */
const FOLLOWS: Readonly<Record<number, Follows>> = {
  400: { is: "stopped" },
  401: { is: "unpaired" },
  402: { is: "waiting", waitMs: 86_400_000 },
  403: { is: "stopped" },
  405: { is: "stopped" },
  406: { is: "stopped" },
  408: { is: "waiting", waitMs: 1_000, secondMs: 2_000 },
  409: { is: "stopped" },
  411: { is: "stopped" },
  419: { is: "waiting", waitMs: 1_000, secondMs: 2_000 },
  428: { is: "waiting", waitMs: 1_000, secondMs: 2_000 },
  440: { is: "waiting", waitMs: 60_000 },
  500: { is: "waiting", waitMs: 1_000, secondMs: 2_000 },
  503: { is: "waiting", waitMs: 1_000, secondMs: 2_000 },
  515: { is: "open" },
};
const CODES = Object.entries(FOLLOWS).map(([code, follows]) => [Number(code), follows] as const);

describe("each code that a connection can end with", () => {
  it("is in the test as it is in the table", () => {
    expect(Object.keys(FOLLOWS)).toEqual(Object.keys(CLOSES));
  });

  it.each(CODES)("%i in the middle", async (code, { is, waitMs }) => {
    const { wa, clock, nextStands, auth } = await linked();
    const { account: identity } = auth().creds;
    const next = nextStands(is);
    wa.streamError({ code: String(code) });
    expect(await next).toEqual({
      is,
      ...(is === "open" ? {} : { why: CLOSES[code]?.why }),
      ...(waitMs === undefined ? {} : { until: clock.now() + waitMs }),
    });
    // Nothing but the word that the link has ended touches the keys.
    if (code !== 401) expect(auth().creds.account).toBe(identity);
  });

  it.each(CODES)("%i at a login", async (code, { is, waitMs, secondMs = waitMs }) => {
    const { wa, clock, nextStands } = await linked();
    const broken = nextStands("waiting");
    wa.cut();
    await broken;
    wa.faults.logins.add({ kind: "failure", reason: code });
    const next = nextStands(is);
    await clock.advance(1_000);
    expect(await next).toMatchObject({
      is,
      ...(secondMs === undefined ? {} : { until: clock.now() + secondMs }),
    });
  });
});

it("waits for as long as WhatsApp says that a ban lasts", async () => {
  const { wa, clock, nextStands, host } = await linked();
  const broken = nextStands("waiting");
  wa.cut();
  await broken;
  wa.faults.logins.add({ kind: "failure", reason: 402, attrs: { expire: "3600" } });
  const next = nextStands("waiting");
  await clock.advance(1_000);
  expect(await next).toMatchObject({ until: clock.now() + 3_600_000 });
  expect(host.failures).toMatchObject([{ code: "channel.refused", message: CLOSES[402]?.why }]);
});

it("has to be linked again when it was unlinked on the phone, and keeps the old keys sealed", async () => {
  const { life, wa, owner, host, nextStands } = await linked();
  const unpaired = nextStands("unpaired");
  const [device] = wa.devices;
  if (!device) throw new Error("no device is linked");
  wa.unlink(device);
  await unpaired;
  expect(host.failures).toMatchObject([{ code: "channel.refused", message: CLOSES[401]?.why }]);
  const rows = await host.host.state.list("", { limit: 10_000 });
  expect(rows.map(([row]) => row).filter((row) => !row.startsWith("sent/"))).toEqual(["unlinked/creds"]);
  expect(rows[0]?.[1]).toMatch(/^s1\./);
  await stepsOf(life.pair({}, new AbortController().signal), async (step) => {
    if (step.kind === "qr") await wa.scan(owner, step.text);
  });
  expect(host.recoveries).toEqual([1]);
});

it("gives way to another program that logs in again and again", async () => {
  const { wa, clock, nextStands, life } = await linked();
  const waiting = nextStands("waiting");
  wa.streamError({}, { tag: "conflict", attrs: { type: "replaced" } });
  await waiting;
  const open = nextStands("open");
  await clock.advance(60_000);
  await open;
  const stopped = nextStands("stopped");
  wa.streamError({}, { tag: "conflict", attrs: { type: "replaced" } });
  expect(await stopped).toEqual({ is: "stopped", why: CLOSES[440]?.why });
  await vi.waitFor(() => expect(wa.connections).toBe(0));
  expect(life.account.line()).toBeUndefined();
});

it("does not come back after it was replaced where another process has the account by now", async () => {
  const { wa, clock, nextStands, host } = await linked();
  const waiting = nextStands("waiting");
  wa.streamError({}, { tag: "conflict", attrs: { type: "replaced" } });
  await waiting;
  await host.host.state.lease(1_000_000);
  const handed = nextStands("waiting");
  await clock.advance(10_000);
  expect(await handed).toMatchObject({ why: "another process of this gateway has taken this account over" });
  await vi.waitFor(() => expect(wa.connections).toBe(0));
});

it("has to be linked again when a login is refused twice (419)", async () => {
  const { wa, clock, nextStands } = await linked();
  const waiting = nextStands("waiting");
  wa.streamError({ code: "419" });
  await waiting;
  wa.faults.logins.add({ kind: "failure", reason: 419 });
  const unpaired = nextStands("unpaired");
  await clock.advance(1_000);
  expect(await unpaired).toEqual({ is: "unpaired", why: CLOSES[419]?.why });
});

it("can be linked with another account where its own was banned for good", async () => {
  const { life, wa, owner, nextStands } = await linked();
  const stopped = nextStands("stopped");
  wa.streamError({ code: "406" });
  await stopped;
  const steps = await stepsOf(life.pair({}, new AbortController().signal), async (step) => {
    if (step.kind === "qr") await wa.scan(owner, step.text);
  });
  expect(steps.at(-1)).toEqual({ kind: "linked" });
});

it("says each code in words without another number", () => {
  for (const [code, { why }] of Object.entries(CLOSES)) expect(why.replace(code, "")).not.toMatch(/\d{3}/);
});

it("reads a code from where Baileys puts it, and takes anything else for 500", () => {
  expect(closeOf({ output: { statusCode: 515 }, message: "Stream Errored" }).code).toBe(515);
  expect(
    [closeOf(undefined), closeOf(new Error("x")), closeOf({ output: {} })].map(({ code }) => code),
  ).toEqual([500, 500, 500]);
  expect(meaningOf(closeOf({ output: { statusCode: 599 } }))).toEqual(CLOSES[500]);
});

it("does not take the answer of a proxy for WhatsApp's word", () => {
  const close = closeOf({
    message: "WebSocket Error (Unexpected server response: 401)",
    output: { statusCode: 401 },
  });
  expect(meaningOf(close)).toEqual({ reaction: "soon", why: "WhatsApp cannot be reached (401)" });
});
