import { openCloud } from "../../../../channels/whatsapp/cloud/open.ts";
import { webhookPath } from "../../../../channels/whatsapp/cloud/webhook.ts";
import { settings } from "../../../../channels/whatsapp/settings.ts";
import type { Channel, Piece, PieceBody, PlatformId } from "../../../../src/core/channel.ts";
import type { ChannelState } from "../../../../src/core/host.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import type { Rendered } from "../../../../src/core/tree.ts";
import { watchedClock } from "../../../support/channel-contract.ts";
import { type TestHost, type TestHostOptions, testHost } from "../../../support/channel-host.ts";
import { type GraphEmulator, startGraph } from "../../../support/graph/emulator.ts";
import type { GraphPerson } from "../../../support/graph/person.ts";

export const MIRA = "15550100001";

/** A number that is connected to the stand-in for Meta, and Mira, who writes to it. */
export type Cloud = {
  readonly graph: GraphEmulator;
  readonly host: TestHost;
  readonly channel: Channel;
  readonly mira: GraphPerson;
  /** Where the webhook is. */
  readonly url: string;
  /** Timers of the channel that are waiting. */
  readonly timers: () => number;
  send(body: PieceBody, more?: Partial<Piece> & { readonly form?: string }): Promise<readonly PlatformId[]>;
  close(): Promise<void>;
};

export type CloudOptions = {
  readonly clock?: Clock;
  /** What an earlier connection of the same number left behind. */
  readonly state?: ChannelState;
  readonly graph?: GraphEmulator;
  readonly host?: Omit<TestHostOptions, "clock" | "state">;
  /** Keys of the connection beside those under `cloud`, and keys under `cloud` that differ. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly cloud?: Readonly<Record<string, unknown>>;
  readonly before?: (graph: GraphEmulator) => void;
};

export async function openNumber(options: CloudOptions = {}): Promise<Cloud> {
  const clock = watchedClock(options.clock ?? systemClock);
  const graph = options.graph ?? (await startGraph({ clock: options.clock ?? systemClock }));
  options.before?.(graph);
  const { state } = options;
  const host = await testHost({ id: "family", ...options.host, clock, ...(state ? { state } : {}) });
  const cloud = { ...graph.settings, ...options.cloud };
  const channel = await openCloud(
    settings.parse({ transport: "cloud", cloud, ...options.settings }),
    host.host,
  );
  const url = host.http.origin + webhookPath(host.host.id);
  const mira = graph.people.find(({ phone }) => phone === MIRA) ?? graph.person({ phone: MIRA });
  await graph.hook.verify(url, graph.verifyToken);
  return {
    graph,
    host,
    channel,
    mira,
    url,
    timers: clock.waiting,
    send(body, { form, ...more } = {}) {
      const piece: Piece = { id: 7, to: { channel: "family", chat: `+${MIRA}` }, body, ...more };
      return channel.send(piece, { number: 1, ...(form === undefined ? {} : { form }) }, NEVER);
    },
    async close() {
      await channel.close();
      await graph.close();
      await host.close();
    },
  };
}

export const NEVER = new AbortController().signal;

export function words(text: string): PieceBody & { readonly kind: "text" } {
  return { kind: "text", rendered: plain(text) };
}

export function plain(text: string): Rendered {
  return { text, marks: [] };
}

/** Waits, a turn of the loop at a time, for something that comes over the network. */
export async function until(holds: () => boolean): Promise<void> {
  const endsAt = performance.now() + 4_000;
  while (!holds()) {
    if (performance.now() > endsAt) throw new Error("it did not come to that");
    await new Promise((resolve) => setImmediate(resolve));
  }
}
