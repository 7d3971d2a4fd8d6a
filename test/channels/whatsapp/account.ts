import { randomBytes } from "node:crypto";
import type { PairingStep } from "../../../src/core/channel.ts";
import type { ConnectionState } from "../../../src/core/standing.ts";
import type { Lease } from "../../../src/core/host.ts";
import type { AuthState } from "../../../channels/whatsapp/baileys/keys/auth-state.ts";
import { openAuthState } from "../../../channels/whatsapp/baileys/keys/auth-state.ts";
import { Life } from "../../../channels/whatsapp/baileys/life/life.ts";
import type { Hearing } from "../../../channels/whatsapp/baileys/line.ts";
import { libraryLog } from "../../../channels/whatsapp/baileys/life/library-log.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import { newCaches, socketConfig } from "../../../channels/whatsapp/baileys/life/socket-config.ts";
import { waysFor } from "../../../channels/whatsapp/baileys/life/ways.ts";
import { guardConsole } from "../../../channels/whatsapp/baileys/life/console-guard.ts";
import { type TestHost, testHost, type TestHostOptions } from "../../support/channel-host.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import type { LinkedDevice } from "../../support/whatsapp/linked-device.ts";
import {
  type LoopbackWhatsApp,
  startWhatsApp,
  type WhatsAppOptions,
} from "../../support/whatsapp/loopback.ts";
import type { Person } from "../../support/whatsapp/person.ts";
import { Seen } from "../../support/whatsapp/seen.ts";

export type AccountOptions = {
  readonly wa?: LoopbackWhatsApp;
  readonly whatsApp?: WhatsAppOptions;
  readonly state?: TestHostOptions["state"];
  readonly hearings?: (clock: ManualClock) => readonly Hearing[];
  readonly stateKey?: string;
  /** How long each QR code is shown; usually as long as WhatsApp's. */
  readonly qrMs?: number;
};

/** The life of one account against a WhatsApp on this machine, without what reads and writes messages. */
export type TestAccount = {
  readonly wa: LoopbackWhatsApp;
  readonly owner: Person;
  readonly life: Life;
  readonly clock: ManualClock;
  readonly host: TestHost;
  /** Where it stood, in order. */
  readonly stood: Seen<ConnectionState>;
  /** The account as it is stored and held, once it was opened. */
  auth(): AuthState;
  /** As when a write of its keys has failed. */
  failKeys(error: Error): void;
  /** Links it by QR. */
  link(): Promise<LinkedDevice>;
  /** Resolves when it stands so after all that it stood before this call. */
  nextStands(is: ConnectionState["is"]): Promise<ConnectionState>;
  close(): Promise<void>;
};

export async function testAccount(options: AccountOptions = {}): Promise<TestAccount> {
  guardConsole();
  const { makeWASocket } = await import("@whiskeysockets/baileys");
  const wa = options.wa ?? (await startWhatsApp(options.whatsApp));
  const untrust = wa.trust();
  const owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
  const clock = manualClock(Date.now());
  const host = await testHost({ clock, ...(options.state ? { state: options.state } : {}) });
  const stood = new Seen<ConnectionState>();
  const testServer = { url: wa.url, ca: wa.ca };
  const ways = await waysFor({ testServer });
  const seal = await sealWith(options.stateKey, "test");
  const caches = newCaches(clock);
  const logger = libraryLog(host.host.log, clock);
  let auth: AuthState | undefined;
  let failKeys: (error: Error) => void = () => {};
  const life = new Life({
    host: { ...host.host, stands: (state) => stood.add(state) },
    random: () => 1,
    connects: async () => {},
    async openState(lease: Lease, fatal) {
      failKeys = fatal;
      auth = await openAuthState({ host: host.host, seal, lease, fatal });
      return auth;
    },
    makeSocket: (of) =>
      makeWASocket({
        ...socketConfig({ settings: { device: "Perch" }, address: wa.url, ways, caches, logger, clock }, of),
        ...(options.qrMs === undefined ? {} : { qrTimeout: options.qrMs }),
      }),
  });
  life.start(options.hearings?.(clock) ?? []);
  await stood.when(() => true);

  return {
    wa,
    owner,
    life,
    clock,
    host,
    stood,
    auth() {
      if (!auth) throw new Error("the account was not opened");
      return auth;
    },
    failKeys: (error) => failKeys(error),
    async link() {
      const steps = life.pair({}, new AbortController().signal);
      let device: LinkedDevice | undefined;
      for await (const step of steps) {
        if (step.kind === "qr") device = await wa.scan(owner, step.text);
        if (step.kind === "failed") throw new Error(step.why);
      }
      if (!device) throw new Error("no QR code was shown");
      return device;
    },
    async nextStands(is) {
      const before = stood.items.length;
      return await stood.when((state) => state.is === is && stood.items.indexOf(state) >= before);
    },
    async close() {
      await life.close();
      untrust();
      if (!options.wa) await wa.close();
      await host.close();
    },
  };
}

/** All steps until the end, doing what `at` says at each. */
export async function stepsOf(
  steps: AsyncIterable<PairingStep>,
  at: (step: PairingStep) => void | Promise<void> = () => {},
): Promise<readonly PairingStep[]> {
  const seen: PairingStep[] = [];
  for await (const step of steps) {
    seen.push(step);
    await at(step);
  }
  return seen;
}

export function aStateKey(): string {
  return randomBytes(32).toString("base64");
}
