import { randomBytes } from "node:crypto";
import type { Config } from "../config/load.ts";
import type { Connections } from "../connections.ts";
import { type Clock, pause } from "../core/clock.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Database } from "../store/database.ts";
import { claimCode, hasOwner } from "../store/people.ts";

const AGAIN_MS = 30_000;

type Parts = {
  readonly config: () => Config;
  readonly connections: Connections;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly print: (line: string) => void;
  readonly stop: AbortSignal;
};

/** One-time links by which the first person of a connection becomes its owner. */
export class OwnerLinks {
  readonly #by: Parts;

  constructor(by: Parts) {
    this.#by = by;
  }

  /** One for each open connection that nobody owns yet; one that cannot be had now is printed later. */
  async now(): Promise<ReadonlyMap<string, string>> {
    const links = new Map<string, string>();
    await Promise.all(
      [...this.#by.config().channels.keys()].map(async (id) => {
        try {
          const link = await this.#link(id);
          if (link !== undefined) links.set(id, link);
        } catch {
          void this.offer(id);
        }
      }),
    );
    return links;
  }

  /** Prints the link of a connection as soon as there is one. Never rejects. */
  async offer(id: ChannelId): Promise<void> {
    const { clock, log, print, stop } = this.#by;
    while (!stop.aborted) {
      try {
        const link = await this.#link(id);
        if (link !== undefined) print(`${id}: open ${link} to become its owner`);
        return;
      } catch (err) {
        log.debug({ channel: id, err }, "there is no start link yet, tried again after a wait");
        await pause(clock, AGAIN_MS, stop);
      }
    }
  }

  /** @throws Error while the platform does not say who the bot is. */
  async #link(id: ChannelId): Promise<string | undefined> {
    const { config, connections, database, clock } = this.#by;
    const channel = connections.get(id);
    const owner = config().rules.channels.get(id)?.owner;
    if (!channel?.startLink || owner !== undefined || (await hasOwner(database, id))) return undefined;
    const code = await claimCode(database, id, randomBytes(18).toString("base64url"), clock.now());
    return await channel.startLink(code);
  }
}
