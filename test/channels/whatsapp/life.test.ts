import { afterEach, expect, it, vi } from "vitest";
import { GatewayError } from "../../../src/core/errors.ts";
import { watchdog } from "../../../channels/whatsapp/baileys/life/watchdog.ts";
import { idleProbe } from "../../../channels/whatsapp/baileys/life/probe.ts";
import { memoryLog, memoryState } from "../../support/channel-host.ts";
import { type AccountOptions, aStateKey, type TestAccount, testAccount } from "./account.ts";

const accounts: TestAccount[] = [];

async function setUp(options: AccountOptions = {}): Promise<TestAccount> {
  const account = await testAccount(options);
  accounts.push(account);
  return account;
}

async function linked(options: AccountOptions = {}): Promise<TestAccount> {
  const account = await setUp(options);
  await account.link();
  return account;
}

afterEach(async () => {
  for (const account of accounts.splice(0).toReversed()) await account.close();
});

it("connects by itself after a restart, as the same device, and stays linked when it is closed", async () => {
  const state = memoryState();
  const stateKey = aStateKey();
  const first = await linked({ state, stateKey });
  await first.life.close();
  expect(first.wa.devices).toHaveLength(1);
  const second = await setUp({ state, stateKey, wa: first.wa });
  await second.stood.when(({ is }) => is === "open");
  expect(second.stood.items.map(({ is }) => is)).toEqual(["connecting", "open"]);
  expect(first.wa.devices).toHaveLength(1);
});

it("waits longer after each failure, and from the beginning once a connection has stood for a minute", async () => {
  const { wa, clock, stood, nextStands } = await linked();
  wa.faults.logins.add({ kind: "cut" }, { times: 4 });
  wa.cut();
  const waits: number[] = [];
  for (const count of [1, 2, 3, 4, 5]) {
    const [...seen] = await stood.whenCount(count, ({ is }) => is === "waiting");
    const last = seen.at(-1);
    if (last?.is !== "waiting") throw new Error("it does not wait");
    waits.push(last.until - clock.now());
    await clock.advance(last.until - clock.now());
  }
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  await stood.whenCount(2, ({ is }) => is === "open");
  await clock.advance(60_000);
  const waiting = nextStands("waiting");
  wa.cut();
  expect(await waiting).toMatchObject({ until: clock.now() + 1_000 });
});

it("pauses for ten minutes after ten connections in ten minutes, and says so", async () => {
  const { wa, clock, host, nextStands } = await linked();
  for (let round = 1; ; round += 1) {
    const waiting = nextStands("waiting");
    wa.cut();
    const stands = await waiting;
    if (stands.is !== "waiting") throw new Error("it does not wait");
    if (round === 10) {
      expect(stands.until - clock.now()).toBe(600_000);
      expect(stands.why).toBe(
        "the connection to WhatsApp broke (428); that was the tenth time in ten minutes",
      );
      break;
    }
    const open = nextStands("open");
    await clock.advance(stands.until - clock.now());
    await open;
  }
  expect(host.failures).toMatchObject([{ code: "channel.unreachable" }]);
});

it("does not pause where nobody can be reached, and says so after a while", async () => {
  const { wa, clock, host, stood } = await linked();
  await wa.close();
  for (let count = 1; count <= 12; count += 1) {
    const seen = await stood.whenCount(count, ({ is }) => is === "waiting");
    const last = seen.at(-1);
    if (last?.is !== "waiting") throw new Error("it does not wait");
    expect(last.until - clock.now()).toBeLessThanOrEqual(60_000);
    await clock.advance(last.until - clock.now());
  }
  expect(host.failures).toMatchObject([
    { code: "channel.unreachable", message: "WhatsApp cannot be reached (408)" },
  ]);
});

it("notices a connection on which nothing comes any more, and makes another", async () => {
  const { wa, clock, life, stood, nextStands } = await linked({
    hearings: (on) => [watchdog(on, memoryLog([]))],
  });
  wa.silence();
  const waiting = nextStands("waiting");
  await clock.advance(75_000);
  expect(stood.items.at(-1)).toEqual({ is: "open" });
  await clock.advance(15_000);
  await waiting;
  const open = nextStands("open");
  await clock.advance(1_000);
  await open;
  expect(life.account.line()?.generation).toBe(3);
});

it("keeps a connection on which nobody says anything: pings are answered", async () => {
  const { wa, clock, life } = await linked({ hearings: (on) => [watchdog(on, memoryLog([]))] });
  const pings = (): number => wa.nodes.filter(({ attrs }) => attrs["xmlns"] === "w:p").length;
  for (let minute = 1; minute <= 5; minute += 1) {
    await clock.advance(60_000);
    await vi.waitFor(() => expect(pings()).toBeGreaterThanOrEqual(minute));
  }
  expect(life.account.line()?.generation).toBe(2);
});

it("ends a connection that answers pings and nothing else", async () => {
  const { wa, clock, nextStands } = await linked({ hearings: (on) => [idleProbe(on, memoryLog([]))] });
  wa.faults.queries.add(
    { kind: "silence" },
    { when: ({ attrs }) => attrs["xmlns"] === "privacy", times: Infinity },
  );
  const waiting = nextStands("waiting");
  await clock.advance(600_000);
  await clock.advance(30_000);
  expect(await waiting).toMatchObject({ why: "the connection to WhatsApp broke (428)" });
});

it("is one socket: a second process waits for the lease and does not connect", async () => {
  const state = memoryState();
  const taken = { ...state, lease: async () => undefined };
  const { stood, wa } = await setUp({ state: taken });
  expect(stood.items).toMatchObject([
    {
      is: "waiting",
      why: "another process of this gateway is this account; it is taken over when that ends",
    },
  ]);
  expect(wa.connections).toBe(0);
});

it("ends its connection when another process has taken the account over", async () => {
  const state = memoryState();
  let isOurs = true;
  const shared = { ...state, lease: async (ms: number) => (isOurs ? await state.lease(ms) : undefined) };
  const { wa, clock, life, stood, nextStands } = await linked({ state: shared });
  isOurs = false;
  const waiting = nextStands("waiting");
  await state.lease(30_000);
  await clock.advance(10_000);
  await waiting;
  await vi.waitFor(() => expect(wa.connections).toBe(0));
  expect(life.account.line()).toBeUndefined();
  const why = "another process of this gateway has taken this account over";
  expect(stood.items).toContainEqual(expect.objectContaining({ is: "waiting", why }));
});

it("ends the connection when keys cannot be written, and opens the account anew", async () => {
  const { failKeys, wa, host, clock, nextStands } = await linked();
  const waiting = nextStands("waiting");
  failKeys(new GatewayError("store.unavailable", "the disk is full"));
  await waiting;
  await vi.waitFor(() => expect(wa.connections).toBe(0));
  expect(host.failures).toMatchObject([{ code: "channel.unreachable" }]);
  const open = nextStands("open");
  await clock.advance(5_000);
  await open;
  expect(host.recoveries).toEqual([1]);
});

it("stops where its keys are sealed with another key, and touches nothing", async () => {
  const state = memoryState();
  const first = await linked({ state, stateKey: aStateKey() });
  await first.life.close();
  const before = await state.get(["auth/creds"]);
  const second = await setUp({ state, stateKey: aStateKey(), wa: first.wa });
  expect(second.stood.items).toMatchObject([
    { is: "stopped", why: expect.stringMatching(/another stateKey/) },
  ]);
  expect(await state.get(["auth/creds"])).toEqual(before);
});
