import whatsapp from "../../../channels/whatsapp/index.ts";
import { settings } from "../../../channels/whatsapp/settings.ts";
import type { Channel } from "../../../src/core/channel.ts";
import type { ConnectionState } from "../../../src/core/standing.ts";
import type { ChannelState } from "../../../src/core/host.ts";
import { type Clock, scaledClock } from "../../../src/core/clock.ts";
import { memoryState, type TestHost, testHost } from "../../support/channel-host.ts";
import type { LinkedDevice } from "../../support/whatsapp/linked-device.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "../../support/whatsapp/loopback.ts";
import type { Person } from "../../support/whatsapp/person.ts";
import { Seen } from "../../support/whatsapp/seen.ts";
import { aStateKey, stepsOf } from "./account.ts";

/** A WhatsApp on this machine, with the account's owner and somebody to talk to. */
export type Platform = { readonly wa: LoopbackWhatsApp; readonly owner: Person; readonly bob: Person };

export async function startPlatform(): Promise<Platform> {
  const wa = await startWhatsApp();
  wa.trust();
  const owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
  const bob = await wa.addPerson({ phone: "15550000002", lid: "90000000000002", name: "Bob" });
  return { wa, owner, bob };
}

export type OpenOptions = {
  readonly state?: ChannelState;
  readonly stateKey?: string;
  readonly clock?: Clock;
};

/** A connection as perch.yaml opens it. */
export type Opened = {
  readonly channel: Channel;
  readonly host: TestHost;
  readonly stood: Seen<ConnectionState>;
  /** Links it by QR. */
  link(): Promise<LinkedDevice>;
  /** Of the channel and its host; more than once is no error. */
  close(): Promise<void>;
};

/** Waits on its clock are twenty times as short. */
export async function openConnection({ wa, owner }: Platform, options: OpenOptions = {}): Promise<Opened> {
  const { state = memoryState(), stateKey = aStateKey(), clock = scaledClock(20, Date.now()) } = options;
  const stood = new Seen<ConnectionState>();
  const host = await testHost({ id: "wa", clock, state });
  const channel = await whatsapp.open(
    settings.parse({ stateKey, chatSeconds: 0, perMinute: 100_000, testServer: { url: wa.url, ca: wa.ca } }),
    { ...host.host, stands: (now) => stood.add(now) },
  );
  let closed = false;
  return {
    channel,
    host,
    stood,
    async link() {
      if (!channel.pair) throw new Error("this channel is not linked by a code");
      await stood.when(({ is }) => is === "unpaired");
      let device: LinkedDevice | undefined;
      await stepsOf(channel.pair({}, new AbortController().signal), async (step) => {
        if (step.kind === "qr") device = await wa.scan(owner, step.text);
        if (step.kind === "failed") throw new Error(step.why);
      });
      if (!device) throw new Error("no QR code was shown");
      return device;
    },
    async close() {
      if (closed) return;
      closed = true;
      await channel.close();
      await host.close();
    },
  };
}
