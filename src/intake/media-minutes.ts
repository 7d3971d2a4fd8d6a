import type { BoundNow, MediaMinutes, MinutesLeft } from "../core/budget.ts";
import type { Bounded } from "../core/bounds.ts";
import type { Clock } from "../core/clock.ts";
import { charge, countsOf, firstExceeded } from "../store/budgets.ts";
import type { Database } from "../store/database.ts";
import type { Queries } from "../store/tables.ts";

/** What one recording takes of the minutes that somebody has. */
export type Listening = MediaMinutes & {
  /** Counts it as used, in the transaction that its outcome is written by: a recording that a crash takes back counts once. */
  readonly count: (trx: Queries) => Promise<void>;
  /** It is not under way any more, whether it was counted or not. */
  readonly end: () => void;
};

/** The recordings that are listened to just now, which count before they are counted: ten at once must not all find room. */
export class MinutesUnderWay {
  readonly #seconds = new Map<string, number>();
  #last: Promise<unknown> = Promise.resolve();

  open(database: Database, clock: Clock, bounded: Bounded): Listening {
    let taken: readonly BoundNow[] = [];
    let seconds = 0;
    const release = (): void => {
      for (const bound of taken) this.#add(bound, -seconds);
      taken = [];
    };
    const leftFor = async (asked: number): Promise<MinutesLeft | readonly BoundNow[]> => {
      const bounds = bounded.at(clock.now()).filter(({ measure }) => measure === "media");
      const counted = await countsOf(database.db, bounds);
      const all = counted.map((each) => ({ ...each, used: each.used + this.#of(each.bound) }));
      const spent = firstExceeded(all.map((each) => ({ ...each, used: each.used + asked })));
      if (spent === undefined) return bounds;
      const { scope, limit } = spent;
      const used = all.find(({ bound }) => bound.scope === scope)?.used ?? 0;
      return { scope, limit, left: Math.max(0, limit - used) };
    };
    return {
      fits: async (asked) => {
        const left = await leftFor(wholeSeconds(asked));
        return "scope" in left ? left : undefined;
      },
      take: async (asked) =>
        await this.#inTurn(async () => {
          release(); // it may be taken in once more, and is no other recording then
          const left = await leftFor(wholeSeconds(asked));
          if ("scope" in left) return left;
          [taken, seconds] = [left, wholeSeconds(asked)];
          for (const bound of taken) this.#add(bound, seconds);
          return undefined;
        }),
      count: async (trx) => {
        await charge(
          trx,
          taken.map((bound) => ({ bound, amount: seconds })),
        );
      },
      end: release,
    };
  }

  #of(bound: BoundNow): number {
    return this.#seconds.get(nameOf(bound)) ?? 0;
  }

  #add(bound: BoundNow, seconds: number): void {
    const now = this.#of(bound) + seconds;
    if (now === 0) this.#seconds.delete(nameOf(bound));
    else this.#seconds.set(nameOf(bound), now);
  }

  /** One after the other: what one takes, the next one sees. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => undefined);
    return next;
  }
}

/** A recording of a length that nobody knows takes something. */
function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds));
}

function nameOf({ scope, channel, subject, from }: BoundNow): string {
  return JSON.stringify([scope, channel, subject, from]);
}
