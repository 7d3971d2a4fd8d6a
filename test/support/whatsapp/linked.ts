import whatsapp from "../../../channels/whatsapp/index.ts";
import { settings } from "../../../channels/whatsapp/settings.ts";
import type { Channel } from "../../../src/core/channel.ts";
import type { ChannelHost } from "../../../src/core/host.ts";
import type { ConnectionState } from "../../../src/core/standing.ts";
import type { LinkedDevice } from "./linked-device.ts";
import type { LoopbackWhatsApp } from "./loopback.ts";
import type { Person } from "./person.ts";
import { Seen } from "./seen.ts";

export type Linked = {
  readonly channel: Channel;
  /** What the owner's phone lists under its linked devices. */
  readonly device: LinkedDevice;
  /** Where the connection has stood, in order. */
  readonly stood: Seen<ConnectionState>;
};

const STATE_KEY = "a key for tests only, of 32 characters";

/**
 * Opens a connection as perch.yaml does, without the pace that people are spared a machine by, and links it by QR where it
 * is not linked yet; resolves once it is open.
 */
export async function openLinked(
  wa: LoopbackWhatsApp,
  owner: Person,
  host: ChannelHost,
  more: { readonly selfChat?: boolean } = {},
): Promise<Linked> {
  const stood = new Seen<ConnectionState>();
  const channel = await whatsapp.open(
    settings.parse({
      stateKey: STATE_KEY,
      chatSeconds: 0,
      perMinute: 100_000,
      testServer: { url: wa.url, ca: wa.ca },
      ...more,
    }),
    {
      ...host,
      stands(state) {
        host.stands(state);
        stood.add(state);
      },
    },
  );
  const { is } = await stood.when((state) => state.is === "unpaired" || state.is === "open");
  if (is === "unpaired") await link(channel, wa, owner);
  await stood.when((state) => state.is === "open");
  const device = wa.devices.find(({ phone }) => phone === owner);
  if (!device) throw new Error("the account has no linked device");
  return { channel, device, stood };
}

async function link(channel: Channel, wa: LoopbackWhatsApp, owner: Person): Promise<void> {
  if (!channel.pair) throw new Error("this channel is not linked by a code");
  for await (const step of channel.pair({}, new AbortController().signal)) {
    if (step.kind === "qr") await wa.scan(owner, step.text);
    if (step.kind === "failed") throw new Error(step.why);
  }
}
