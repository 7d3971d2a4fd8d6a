import type { Update } from "grammy/types";
import type { RefusalParameters } from "./refusal.ts";
import type { Call } from "./request.ts";
import { Storm, type StormCounts, type StormPlan } from "./storm.ts";

/** What goes wrong with a call. Before: nothing happened at Telegram; after: it did, and the client cannot know. */
export type Fault =
  | { readonly kind: "delay"; readonly ms: number }
  /** The connection breaks. */
  | { readonly kind: "drop"; readonly when: "before" | "after" }
  /** After: an answer that is complete as HTTP, with half of the JSON in it. */
  | { readonly kind: "truncate" }
  /** After: the connection breaks in the middle of the answer. grammY hears nothing of that and waits for its timeout. */
  | { readonly kind: "cut" }
  /** What the edge answers in front of the Bot API: 502, 504, 413. */
  | { readonly kind: "html"; readonly status: number; readonly when: "before" | "after" }
  | { readonly kind: "rateLimit"; readonly seconds: number }
  | {
      readonly kind: "refuse";
      readonly code: number;
      readonly description: string;
      readonly parameters?: RefusalParameters;
    }
  /** Half-open: the connection stays and nothing ever comes. */
  | { readonly kind: "silence"; readonly when: "before" | "after" }
  /** A few bytes of the answer or the download, then a pause of the emulator's clock, and so on. */
  | { readonly kind: "drip"; readonly chunkBytes: number; readonly everyMs: number }
  /** So many bytes of the answer or the download, and then nothing more. */
  | { readonly kind: "stall"; readonly afterBytes: number };

/** Which calls; all that is given must fit. */
export type FaultPlace = {
  /** As the docs write it; "file" is the download route. */
  readonly method?: string;
  readonly chat?: number;
  readonly when?: (call: Call) => boolean;
  /** The first call that is hit, among those that fit from now on: 1 (the default) is the next. */
  readonly nth?: number;
  /** How many calls are hit in a row; default 1. */
  readonly times?: number;
};

export type PlacedFault = {
  /** How many calls it has hit. */
  hits(): number;
  remove(): void;
};

export type PlacedStorm = {
  /** How the calls ended that it could have hit. */
  counts(): Readonly<StormCounts>;
  end(): void;
};

type Rule = { readonly place: FaultPlace; readonly fault: Fault; seen: number; hits: number };

export class Faults {
  readonly #rules = new Set<Rule>();
  readonly #storms = new Set<Storm>();

  place(place: FaultPlace, fault: Fault): PlacedFault {
    const rule: Rule = { place, fault, seen: 0, hits: 0 };
    this.#rules.add(rule);
    return { hits: () => rule.hits, remove: () => void this.#rules.delete(rule) };
  }

  startStorm(plan: StormPlan): PlacedStorm {
    const storm = new Storm(plan);
    this.#storms.add(storm);
    return { counts: () => storm.counts(), end: () => void this.#storms.delete(storm) };
  }

  /** Counts the call for every rule that it fits; the rule that was placed first and is due decides, then the storms. */
  of(call: Call): Fault | undefined {
    const fitting = [...this.#rules].filter((rule) => fits(rule.place, call));
    for (const rule of fitting) rule.seen += 1;
    const due = fitting.find(({ place, seen }) => {
      const first = place.nth ?? 1;
      return seen >= first && seen < first + (place.times ?? 1);
    });
    if (due) {
      due.hits += 1;
      return due.fault;
    }
    for (const storm of this.#storms) {
      const fault = storm.of(call);
      if (fault) return fault;
    }
    return undefined;
  }
}

function fits(place: FaultPlace, call: Call): boolean {
  if (place.method !== undefined && place.method !== call.method) return false;
  if (place.chat !== undefined && String(place.chat) !== String(call.parameters["chat_id"])) return false;
  return place.when?.(call) ?? true;
}

/** Where a test can step in, for instance to kill the gateway. */
export type Hooks = {
  /** A call passed all checks and is about to change something. Awaited. */
  beforeCommit: Call;
  /** It has changed it; the answer is not written yet. */
  afterCommit: Call;
  /** getUpdates handed these over (none after a timeout); the answer has just been written. */
  pollAnswered: { readonly call: Call; readonly updates: readonly Update[] };
  /** A download is about to be answered. Awaited. */
  fileRequested: { readonly path: string; readonly call: Call };
};

type Listener<Name extends keyof Hooks> = (event: Hooks[Name]) => void | Promise<void>;

export class HookListeners {
  readonly #listeners: { [Name in keyof Hooks]: Set<Listener<Name>> } = {
    beforeCommit: new Set(),
    afterCommit: new Set(),
    pollAnswered: new Set(),
    fileRequested: new Set(),
  };

  /** Called synchronously at that point; gives the way to stop listening. */
  on<Name extends keyof Hooks>(name: Name, listener: Listener<Name>): () => void {
    this.#listeners[name].add(listener);
    return () => void this.#listeners[name].delete(listener);
  }

  /** Every listener has been called when this returns; it resolves when those that are asynchronous are done. */
  async emit<Name extends keyof Hooks>(name: Name, event: Hooks[Name]): Promise<void> {
    await Promise.all([...this.#listeners[name]].map(async (listener) => listener(event)));
  }
}
