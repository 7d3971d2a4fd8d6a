import type { Api } from "grammy";
import type { BusinessConnection, Update } from "grammy/types";
import type { ChannelHost } from "../../src/core/host.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { type BusinessOwner, connectionIn, ownerIn } from "./business.ts";
import { within } from "./deadline.ts";
import { failureOf, wordsOf } from "./failures.ts";

const KEY = "business:";
const ASK_MS = 10_000;
/** What Telegram answers of what is not there, or not for us. */
const OVER: ReadonlySet<number> = new Set([400, 403, 404]);

/**
 * Whose business account each connection belongs to. Telegram tells of it once, so it is kept. Anybody can connect a bot to
 * an account of theirs, where it would answer whoever may talk to it in their name and before their eyes: those of
 * `served` alone are read.
 */
export class BusinessOwners {
  readonly #host: ChannelHost;
  readonly #api: Api["raw"];
  readonly #served: ReadonlySet<string>;
  /** "" where we may not write for the owner. */
  readonly #known = new Map<string, string>();

  /** `served` are people's ids. */
  constructor(host: ChannelHost, api: Api["raw"], served: readonly string[]) {
    this.#host = host;
    this.#api = api;
    this.#served = new Set(served);
  }

  readonly ownerOf: BusinessOwner = (connection) => {
    const owner = this.#known.get(connection) ?? "";
    return this.#served.has(owner) ? owner : undefined;
  };

  /**
   * Keeps what these updates tell of connections, and finds out what reading them needs to know.
   * @throws where that cannot be kept or asked now: the updates must come again.
   */
  async learnFrom(updates: readonly Update[]): Promise<void> {
    for (const update of updates) {
      const { business_connection: told } = update;
      if (told) await this.#hear(told);
      // Where nobody is served, nobody's connection holds up the others' messages.
      if (this.#served.size === 0) continue;
      const needed = connectionIn(update);
      if (needed !== undefined && !this.#known.has(needed)) await this.#lookUp(needed);
    }
  }

  async #hear(told: BusinessConnection): Promise<void> {
    const owner = ownerIn(told);
    await this.#keep(told.id, owner ?? "");
    if (owner !== undefined && !this.#served.has(owner))
      this.#host.log.warn(
        {},
        "a business account has connected this bot, and is not read; if it is yours, write your id under business",
      );
  }

  async #keep(connection: string, owner: string): Promise<void> {
    await this.#host.state.set({ [KEY + connection]: owner });
    this.#known.set(connection, owner);
  }

  async #lookUp(connection: string): Promise<void> {
    const kept = (await this.#host.state.get([KEY + connection])).get(KEY + connection);
    if (kept === undefined) await this.#keep(connection, await this.#ask(connection));
    else this.#known.set(connection, kept);
  }

  async #ask(connection: string): Promise<string> {
    try {
      const asked = { business_connection_id: connection };
      const told = await within(this.#host.clock, ASK_MS, undefined, (signal) =>
        this.#api.getBusinessConnection(asked, signal),
      );
      return ownerIn(told) ?? "";
    } catch (thrown) {
      const failure = failureOf(thrown);
      // It has ended since, or its owner's account has: nobody can be answered there.
      if (failure.kind === "refused" && OVER.has(failure.code)) return "";
      throw new GatewayError(
        "channel.unreachable",
        `whose chat it is could not be asked: ${wordsOf(failure)}`,
      );
    }
  }
}
