import type { ChannelHost } from "../../../src/core/host.ts";
import { asError } from "../../../src/core/errors.ts";
import type { InboundEvent } from "../../../src/core/events.ts";
import { Contacts, entryOf } from "./contacts.ts";
import { whyOf } from "./failures.ts";
import { eventIn, type Heard, heardIn, type Known, personIn } from "./inbound.ts";
import { REMEMBERED_MS, remember, saidEntry } from "./memory.ts";
import { nowOf } from "./moves.ts";
import { type Change, listed, worded } from "./payload.ts";
import { deliveriesIn, failedIn, recipientsIn } from "./statuses.ts";
import { KNOWN_MS, type Windows } from "./window.ts";

const EARLY_MS = 60_000;

/** What a press that leads to nothing is answered with. */
export type Notice = { readonly chat: string; readonly text: string };

/** Takes in what a webhook brought; commits it, or throws and has done nothing that a repeat would not do again. */
export class Receiver {
  readonly #host: Pick<ChannelHost, "accept" | "state" | "clock" | "log">;
  readonly #windows: Windows;
  readonly #contacts: Contacts;

  constructor(host: Pick<ChannelHost, "accept" | "state" | "clock" | "log">, windows: Windows) {
    this.#host = host;
    this.#windows = windows;
    this.#contacts = new Contacts(host.state);
  }

  /** Gives what those who pressed a button are to be shown; undefined where it is to come again, and nothing was done. */
  async take(changes: readonly Change[]): Promise<readonly Notice[] | undefined> {
    if (await this.#isEarly(changes)) return undefined;
    const events = await this.#eventsOf(changes);
    for (const change of changes) this.#faults(change);
    if (events.length === 0) return [];
    const answers = await this.#host.accept(events);
    return events.flatMap((event) => {
      const text = event.type === "choice" ? answers.get(event.id) : undefined;
      return text === undefined || event.type !== "choice" ? [] : [{ chat: event.place.chat, text }];
    });
  }

  /**
   * Whether it tells of the end of a message that we do not know to be sent: its own answer may still be on the way. What is
   * older was sent by another program, or its answer was lost.
   */
  async #isEarly(changes: readonly Change[]): Promise<boolean> {
    const { state, clock } = this.#host;
    const refs = changes.flatMap((change) => failedIn(change, clock.now() - EARLY_MS));
    if (refs.length === 0) return false;
    const sent = await state.get(refs.map(saidEntry));
    return refs.some((ref) => !sent.has(saidEntry(ref)));
  }

  /** What they are known by from now on is stored before anything is committed: a crash between the two loses nothing. */
  async #eventsOf(changes: readonly Change[]): Promise<readonly InboundEvent[]> {
    const { state, clock } = this.#host;
    const heard = changes.flatMap(heardIn);
    const people = [...heard.map(personIn), ...changes.flatMap(recipientsIn)];
    const { keyOf, entries: contacts } = await this.#contacts.known(people);
    const keys = people.flatMap((forms) => keyOf(forms) ?? []);
    const messages = heard.map(({ message }) => message);
    const memory = await remember(state, messages, [...new Set(keys)]);
    const moved: Record<string, string> = {};
    const events: InboundEvent[] = [];
    for (const each of heard) {
      const { system } = each.message;
      const now = system && nowOf(personIn(each), system, keyOf);
      for (const form of now?.forms ?? []) moved[entryOf(form)] = now?.key ?? form;
      const event = this.#eventIn(each, { keyOf, ...memory });
      if (!event) continue;
      memory.note(each.message, event);
      events.push(event);
    }
    const windows = await this.#windows.heard(events);
    const at = clock.now();
    await this.#store({ ...contacts, ...moved });
    await this.#store(memory.entries, at + REMEMBERED_MS);
    await this.#store(windows, at + KNOWN_MS);
    return [...events, ...changes.flatMap((change) => deliveriesIn(change, keyOf))];
  }

  /** One message that cannot be read must not keep back those beside it, for which Meta would come again for days. */
  #eventIn(heard: Heard, known: Known): InboundEvent | undefined {
    try {
      return eventIn(heard, known);
    } catch (thrown) {
      const { id = "", timestamp = "", type = "" } = heard.message;
      this.#host.log.error({ type, err: asError(thrown) }, "a message could not be read");
      return eventIn({ ...heard, message: { id, timestamp, type: "unsupported" } }, known);
    }
  }

  async #store(entries: Readonly<Record<string, string>>, until?: number): Promise<void> {
    if (Object.keys(entries).length === 0) return;
    await this.#host.state.set(entries, until === undefined ? {} : { until });
  }

  /** What Meta tells of the number itself. */
  #faults({ errors }: Change): void {
    for (const { code = 0, title } of listed(errors))
      this.#host.log.warn({ code }, `Meta tells of a trouble with the number: ${whyOf(code, worded(title))}`);
  }
}
