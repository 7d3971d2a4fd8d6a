import type { ChannelState } from "../../../src/core/host.ts";
import type { Forms } from "./people.ts";

/** Gives the key by which a person is known here for ever: the form that was seen first. */
export type KeyOf = (forms: Forms) => string | undefined;

/** What is to be stored, and what of it was not there before. */
export type Entries = Readonly<Record<string, string>>;

/**
 * Which ids are one person's. A phone number that is hidden later, or shown later, must not make two people of one: each
 * further form is remembered with the key.
 */
export class Contacts {
  readonly #state: ChannelState;

  constructor(state: ChannelState) {
    this.#state = state;
  }

  /** For these people together; `entries` are to be stored before anything is made of the keys. */
  async known(people: readonly Forms[]): Promise<{ readonly keyOf: KeyOf; readonly entries: Entries }> {
    const asked = [...new Set(people.flat())];
    const kept = asked.length === 0 ? new Map<string, string>() : await this.#state.get(asked.map(entryOf));
    const keys = new Map<string, string>();
    for (const form of asked) {
      const key = kept.get(entryOf(form));
      if (key !== undefined) keys.set(form, key);
    }
    const entries: Record<string, string> = {};
    for (const forms of people) {
      const key = keyIn(keys, forms) ?? forms[0];
      // A number that came alone is its own key.
      if (key === undefined || (forms.length === 1 && key.startsWith("+"))) continue;
      for (const form of forms) {
        if (keys.has(form)) continue;
        keys.set(form, key);
        entries[entryOf(form)] = key;
      }
    }
    return { keyOf: (forms) => keyIn(keys, forms) ?? forms[0], entries };
  }
}

export function entryOf(form: string): string {
  return `contact/${form}`;
}

/** By the business's own id first: numbers are given to other people in time. */
function keyIn(keys: ReadonlyMap<string, string>, forms: Forms): string | undefined {
  return forms
    .toReversed()
    .map((form) => keys.get(form))
    .find((key) => key !== undefined);
}
