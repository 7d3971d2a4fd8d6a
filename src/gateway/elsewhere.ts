import type { Channel, ChannelFace, ChannelFront, Live, Progress } from "../core/channel.ts";
import { type Clock, pause } from "../core/clock.ts";
import type { ChannelId, ChatAddress } from "../core/identity.ts";
import type { Wire } from "../core/wire.ts";
import type { Draft } from "../turns/life.ts";

/** Between two drafts of a turn that go to another process: the whole text goes each time. */
const DRAFT_PAUSE_MS = 400;

/** UTF-16 units of a draft that are shown elsewhere, at its beginning; however they are written, the wire takes them. */
const DRAFT_LENGTH = 40_000;

const TOPIC = "sign";

/** A sign of life as it goes from the process where a turn runs to the one where its connection is open. */
type Sign = { readonly to: ChatAddress } & (
  | { readonly is: "typing" | "over" }
  | { readonly is: "draft"; readonly text: string; readonly live?: Live }
  | { readonly is: "taken"; readonly refs: readonly string[] }
  /** At a message of a person; taken back without a sign. */
  | { readonly is: "reaction"; readonly ref: string; readonly sign?: string }
);

/** A connection that is open in another process, as turns see it. A sign that is lost on the way is missed by nobody. */
export function frontOf(face: ChannelFace, wire: Wire, clock: Clock, ended: AbortSignal): ChannelFront {
  const send = (sign: Sign): void => wire.publish(TOPIC, { ...sign, to: { ...sign.to } });
  return {
    ...face,
    async progress(to, progress) {
      if (progress.kind !== "draft") return send({ to, is: progress.kind });
      const { text, live } = progress;
      send({ to, is: "draft", text: text.slice(0, DRAFT_LENGTH), ...(live === undefined ? {} : { live }) });
      await pause(clock, DRAFT_PAUSE_MS, ended);
    },
    async taken(to, refs) {
      send({ to, is: "taken", refs });
    },
    async react(to, ref, sign) {
      send({ to, is: "reaction", ref, ...(sign === undefined ? {} : { sign }) });
    },
  };
}

/** Shows the signs of life of turns that run in other processes. Gives what ends that. */
export function showSigns(
  wire: Wire,
  by: {
    readonly channel: (id: ChannelId) => Channel | undefined;
    readonly draft: (text: string) => Draft;
    /** Aborts when nothing more is to be shown. */
    readonly closing: AbortSignal;
  },
): () => void {
  const slots = new Map<string, Slot>();
  return wire.subscribe(TOPIC, (message) => {
    const sign = message as unknown as Sign; // only `frontOf` sends here
    const channel = by.channel(sign.to.channel);
    if (!channel) return;
    if (sign.is === "taken") return void channel.taken?.(sign.to, sign.refs);
    if (sign.is === "reaction") return void channel.react?.(sign.to, sign.ref, sign.sign, by.closing);
    if (!channel.progress) return;
    const key = JSON.stringify(sign.to);
    const slot = slots.get(key) ?? new Slot(() => slots.delete(key));
    slots.set(key, slot);
    slot.show(() => channel.progress?.(sign.to, progressOf(sign, by.draft)));
  });
}

function progressOf(
  sign: Extract<Sign, { readonly is: "typing" | "over" | "draft" }>,
  draft: (text: string) => Draft,
): Progress {
  if (sign.is !== "draft") return { kind: sign.is };
  return { kind: "draft", ...draft(sign.text), ...(sign.live === undefined ? {} : { live: sign.live }) };
}

/** One sign at a time, as a channel wants it; of those that come meanwhile, the newest. */
class Slot {
  readonly #done: () => void;
  #next: (() => Promise<void> | undefined) | undefined;
  #busy = false;

  constructor(done: () => void) {
    this.#done = done;
  }

  show(sign: () => Promise<void> | undefined): void {
    this.#next = sign;
    if (!this.#busy) void this.#run();
  }

  /** Never rejects, as `Channel.progress` never does. */
  async #run(): Promise<void> {
    this.#busy = true;
    for (let sign = this.#next; sign; sign = this.#next) {
      this.#next = undefined;
      await sign();
    }
    this.#busy = false;
    this.#done();
  }
}
