import type { Api } from "grammy";
import type { Update } from "grammy/types";
import type { ChannelHost } from "../../src/core/host.ts";
import { asError } from "../../src/core/errors.ts";
import { BusinessOwners } from "./business-owners.ts";
import { within } from "./deadline.ts";
import { failureOf, wordsOf } from "./failures.ts";
import { batchToEvents, type InboundOptions, toEvents } from "./inbound.ts";
import type { BotIdentity } from "./people.ts";

/** A pressed button shows that it is waiting until it is answered; a process that ends waits for no more than this. */
const ANSWER_MS = 3_000;
const ANSWER_CHARACTERS = 200; // Bot API answerCallbackQuery: 0–200

/** Takes updates in, however they came: committed first, then pressed buttons are answered. */
export class Updates {
  readonly #host: ChannelHost;
  readonly #api: Api["raw"];
  readonly #options: InboundOptions;
  readonly #owners: BusinessOwners;
  readonly #answers = new Set<Promise<void>>();

  /** `business` are the people whose business accounts are read. */
  constructor(
    host: ChannelHost,
    api: Api["raw"],
    {
      business = [],
      ...options
    }: Omit<InboundOptions, "businessOwner"> & { readonly business?: readonly string[] | undefined },
  ) {
    this.#host = host;
    this.#api = api;
    this.#owners = new BusinessOwners(host, api, business);
    this.#options = { ...options, businessOwner: this.#owners.ownerOf };
  }

  /**
   * Resolves when all is committed; does not wait for the answers to buttons.
   * @throws where it cannot be committed: Telegram must keep the updates.
   */
  async take(updates: readonly Update[], me: BotIdentity): Promise<void> {
    const isReadable = (update: Update): boolean => this.#isReadable(update, me);
    const whole = updates.filter(isReadable);
    await this.#owners.learnFrom(whole);
    // What came by connections that were not known is looked at only now.
    const events = batchToEvents(whole.filter(isReadable), me, this.#options);
    const words = events.length === 0 ? new Map<string, string>() : await this.#host.accept(events);
    for (const { callback_query: query } of updates) {
      if (!query) continue;
      const answer = this.#answer(query.id, words.get(query.id)).finally(() => this.#answers.delete(answer));
      this.#answers.add(answer);
    }
  }

  /** Resolves when no answer to a button is on its way. */
  async settled(): Promise<void> {
    await Promise.all(this.#answers);
  }

  /** An update that breaks the reading of it must not hold up those behind it for ever. */
  #isReadable(update: Update, me: BotIdentity): boolean {
    try {
      toEvents(update, me, this.#options);
      return true;
    } catch (thrown) {
      this.#host.log.error(
        { update: update.update_id, err: asError(thrown) },
        "an update that cannot be read is left out",
      );
      return false;
    }
  }

  /** Never rejects: a button that was not answered has done its work all the same. */
  async #answer(query: string, words: string | undefined): Promise<void> {
    const { clock, log } = this.#host;
    const text = words === undefined ? {} : { text: words.slice(0, ANSWER_CHARACTERS) };
    try {
      await within(clock, ANSWER_MS, undefined, (signal) =>
        this.#api.answerCallbackQuery({ callback_query_id: query, ...text }, signal),
      );
    } catch (thrown) {
      const failure = failureOf(thrown);
      // After a pause of ours, nobody looks at the button any more.
      if (failure.kind === "refused" && /query is too old/i.test(failure.description)) return;
      log.debug({ why: wordsOf(failure) }, "a pressed button could not be answered");
    }
  }
}
