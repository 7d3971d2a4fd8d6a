import type { PlatformId } from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import { deadline } from "../../src/core/clock.ts";
import { asError } from "../../src/core/errors.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import { failureOf } from "./failures.ts";
import { type Lost, LostPreviews } from "./lost-previews.ts";
import type { ProbeParts } from "./probe.ts";
import type { Sightings } from "./sightings.ts";
import { takeAway } from "./take-away.ts";

const PREFIX = "preview/";
const MOST_LISTED = 500;
/** So long may Telegram take for the last of them when the connection ends. */
const LAST_MS = 2_000;

export type PreviewParts = Omit<ProbeParts, "clock"> & {
  readonly host: Pick<ChannelHost, "clock" | "id" | "log" | "state">;
  readonly sightings: Sightings;
  readonly closing: AbortSignal;
};

/**
 * Messages that show an answer while it is written, and are taken away once it stands there. They are kept in the
 * connection's state from before they are sent until then: what a process that was killed has left behind is taken away by
 * the next. Each is known by its id; one whose sending was not answered, by the button below it.
 */
export class Previews {
  readonly #parts: PreviewParts;
  /** Ids by chat. */
  readonly #standing = new Map<string, Set<number>>();
  readonly #lost: LostPreviews;

  constructor(parts: PreviewParts) {
    const { api, pace, host, closing } = parts;
    this.#parts = parts;
    this.#lost = new LostPreviews({
      api,
      pace,
      closing,
      clock: host.clock,
      channel: host.id,
      found: (lost, id) => this.#found(lost, id),
    });
  }

  /** Sends one with this button; `call` gives its id, which is passed on. @throws what `call` throws. */
  async send({ chat }: ChatAddress, button: string, call: () => Promise<number>): Promise<number> {
    const after = this.#parts.sightings.highest(chat);
    // Without an id that it must be higher than it could not be found.
    await this.#store({ [keyOf(chat, button)]: String(after ?? "") });
    try {
      const id = await call();
      await this.#stands(chat, button, id);
      return id;
    } catch (thrown) {
      const isLost = failureOf(thrown).kind === "unknown" && after !== undefined;
      if (isLost) this.#lost.add(chat, button, after);
      else await this.#store({ [keyOf(chat, button)]: undefined });
      throw thrown;
    }
  }

  /** Resolves when they are gone, or the connection ends. */
  async remove({ chat }: Pick<ChatAddress, "chat">, ids: readonly number[]): Promise<void> {
    await this.#remove(chat, ids, this.#parts.closing);
  }

  /** Those whose id is not known; what is sent from now on has a higher one. */
  lost(): readonly Lost[] {
    return this.#lost.all();
  }

  /** Messages of ours stand in a chat that are none of these, sent when `before` were lost. */
  sent({ chat }: ChatAddress, ids: readonly PlatformId[], before: readonly Lost[] = []): void {
    const numbers = ids.filter((id) => /^\d+$/.test(id)).map(Number);
    for (const id of numbers) this.#parts.sightings.saw(chat, id);
    if (numbers.length > 0) this.#lost.sent(chat, numbers, before);
  }

  /** Those of the ids that are none of these. @throws GatewayError "send.*" when Telegram cannot be asked now. */
  async without(
    { chat }: ChatAddress,
    ids: readonly number[],
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const others = (): readonly number[] => ids.filter((id) => !this.#standing.get(chat)?.has(id));
    await this.#lost.settle(chat, others(), signal);
    return others();
  }

  /** Takes away what an earlier process left; resolves when it is known what that is. */
  async removeLeft(): Promise<void> {
    const left = new Map<string, number[]>();
    for (const { chat, name, value } of await this.#stored()) {
      if (/^\d+$/.test(name)) {
        this.#note(chat, Number(name));
        left.set(chat, [...(left.get(chat) ?? []), Number(name)]);
      } else if (value === "") await this.#store({ [keyOf(chat, name)]: undefined });
      else this.#lost.add(chat, name, Number(value));
    }
    // One chat that does not answer must not hold the others.
    for (const [chat, ids] of left) void this.remove({ chat }, ids);
  }

  /** One last try for all that still stand there; `closing` has cut off what was under way. */
  async close(): Promise<void> {
    const last = deadline(this.#parts.host.clock, LAST_MS, new Error("the connection ends"));
    await Promise.all([...this.#standing].map(([chat, ids]) => this.#remove(chat, [...ids], last.signal, 1)));
    last.clear();
  }

  async #stands(chat: string, button: string, id: number): Promise<void> {
    this.#parts.sightings.saw(chat, id);
    this.#note(chat, id);
    await this.#store({ [keyOf(chat, button)]: undefined, [keyOf(chat, id)]: "1" });
  }

  async #found({ chat, button }: Lost, id: number | undefined): Promise<void> {
    if (id === undefined) return await this.#store({ [keyOf(chat, button)]: undefined });
    await this.#stands(chat, button, id);
    void this.remove({ chat }, [id]);
  }

  async #remove(
    chat: string,
    ids: readonly number[],
    signal: AbortSignal,
    mostTries?: number,
  ): Promise<void> {
    const { host, api, pace } = this.#parts;
    const parts = { api, pace, clock: host.clock, ...(mostTries === undefined ? {} : { mostTries }) };
    const left = new Set(await takeAway({ channel: host.id, chat }, ids, parts, signal));
    const gone = ids.filter((id) => !left.has(id));
    for (const id of gone) this.#standing.get(chat)?.delete(id);
    if (this.#standing.get(chat)?.size === 0) this.#standing.delete(chat);
    await this.#store(Object.fromEntries(gone.map((id) => [keyOf(chat, id), undefined])));
  }

  #note(chat: string, id: number): void {
    this.#standing.set(chat, (this.#standing.get(chat) ?? new Set()).add(id));
  }

  async #store(entries: Readonly<Record<string, string | undefined>>): Promise<void> {
    const { state, log } = this.#parts.host;
    try {
      await state.set(entries);
    } catch (thrown) {
      log.warn({ err: asError(thrown) }, "where an answer is shown while it is written could not be stored");
    }
  }

  async #stored(): Promise<
    readonly { readonly chat: string; readonly name: string; readonly value: string }[]
  > {
    const { state, log } = this.#parts.host;
    const entries: (readonly [string, string])[] = [];
    try {
      for (;;) {
        const after = entries.at(-1)?.[0];
        const page = await state.list(PREFIX, {
          limit: MOST_LISTED,
          ...(after === undefined ? {} : { after }),
        });
        entries.push(...page);
        if (page.length < MOST_LISTED) break;
      }
    } catch (thrown) {
      log.warn({ err: asError(thrown) }, "what is left of answers half written could not be read");
    }
    return entries.map(([key, value]) => {
      const slash = key.lastIndexOf("/");
      return { chat: key.slice(PREFIX.length, slash), name: key.slice(slash + 1), value };
    });
  }
}

function keyOf(chat: string, name: number | string): string {
  return `${PREFIX}${chat}/${name}`;
}
