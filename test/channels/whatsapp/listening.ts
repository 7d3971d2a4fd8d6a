import { guardConsole } from "../../../channels/whatsapp/baileys/life/console-guard.ts";
import { openBaileys } from "../../../channels/whatsapp/baileys/open.ts";
import { settings as schema, type WhatsAppSettings } from "../../../channels/whatsapp/settings.ts";
import type { Channel } from "../../../src/core/channel.ts";
import type { ConnectionState } from "../../../src/core/standing.ts";
import type { InboundEvent } from "../../../src/core/events.ts";
import { memoryJournal, memoryState, type TestHost, testHost } from "../../support/channel-host.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "../../support/whatsapp/loopback.ts";
import type { LinkedDevice } from "../../support/whatsapp/linked-device.ts";
import type { Person } from "../../support/whatsapp/person.ts";
import { Seen } from "../../support/whatsapp/seen.ts";

/** The whole channel over the library's own socket, linked with an account of a WhatsApp on this machine. */
export type Listening = {
  readonly wa: LoopbackWhatsApp;
  readonly owner: Person;
  readonly bob: Person;
  readonly carol: Person;
  readonly device: LinkedDevice;
  readonly clock: ManualClock;
  readonly journal: ReturnType<typeof memoryJournal>;
  readonly channel: Channel;
  readonly host: TestHost;
  /** Where the connection stood, in order. */
  readonly stood: Seen<ConnectionState>;
  /** Resolves with the first that matches, of those that were committed or else of those that will be. */
  heard(matches: (event: InboundEvent) => boolean): Promise<InboundEvent>;
  /** The message with these words. */
  hears(text: string): Promise<InboundEvent>;
  close(): Promise<void>;
};

export async function listening(changes: Partial<WhatsAppSettings> = {}): Promise<Listening> {
  guardConsole();
  const wa = await startWhatsApp();
  wa.trust();
  const owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
  const bob = await wa.addPerson({ phone: "15550000002", lid: "90000000000002", name: "Bob" });
  const carol = await wa.addPerson({ phone: "15550000003", lid: "90000000000003", name: "Carol" });
  const clock = manualClock(Date.now());
  const state = memoryState();
  const journal = memoryJournal();
  const host = await testHost({ clock, state, journal });
  const settings = { ...schema.parse({ testServer: { url: wa.url, ca: wa.ca } }), ...changes };
  const stood = new Seen<ConnectionState>();
  const channel = await openBaileys(settings, { ...host.host, stands: (where) => stood.add(where) });
  await stood.when(({ is }) => is === "unpaired");
  const device = await link(channel, wa, owner);
  await stood.when(({ is }) => is === "open");

  async function heard(matches: (event: InboundEvent) => boolean): Promise<InboundEvent> {
    for (;;) {
      const found = host.accepted.find(matches);
      if (found) return found;
      await host.whenAccepted(host.accepted.length + 1);
    }
  }
  return {
    wa,
    owner,
    bob,
    carol,
    device,
    clock,
    journal,
    channel,
    host,
    stood,
    heard,
    hears: (text) =>
      heard(
        (event) =>
          "content" in event && event.content.some((part) => part.type === "text" && part.text === text),
      ),
    async close() {
      await channel.close();
      await host.close();
      await wa.close();
    },
  };
}

/** Links the channel with somebody's account by QR. */
export async function link(channel: Channel, wa: LoopbackWhatsApp, owner: Person): Promise<LinkedDevice> {
  if (!channel.pair) throw new Error("this channel cannot be linked");
  let device: LinkedDevice | undefined;
  for await (const step of channel.pair({}, new AbortController().signal)) {
    if (step.kind === "qr") device = await wa.scan(owner, step.text);
    if (step.kind === "failed") throw new Error(step.why);
  }
  if (!device) throw new Error("no QR code was shown");
  return device;
}
