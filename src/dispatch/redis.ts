import { createNodeRedisClient } from "bullmq";
import { createClient } from "redis";
import { type Clock, deadline } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { unlessAborted } from "../core/unless-aborted.ts";

export type RedisParts = {
  /** "redis://:password@host:6379/0"; it is never logged. */
  readonly url: string;
  /** What all keys and channels of this Perch begin with; without ":". */
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Log;
};

const CONNECT_MS = 5_000;
const LONGEST_WAIT_MS = 2_000;
/** A connection on which nothing comes in for `SILENT_MS`, in spite of the pings, is made anew. */
const PING_MS = 10_000;
const SILENT_MS = 30_000;
const ANSWER_MS = 2_000;
/** One line of the log in so long a time, whatever goes wrong. */
const SAY_EVERY_MS = 60_000;

/**
 * The connections of a process to Redis: one for commands, which everything shares, one for each worker, which blocks
 * on it, and one for subscriptions. Redis may be away, from the first moment on: they all come back by themselves.
 */
export class Redis {
  readonly prefix: string;
  readonly #parts: RedisParts;
  readonly #clients = new Set<Client>();
  readonly #commands: Client;
  /** The connection for commands, as BullMQ wants it; BullMQ duplicates it for each worker. */
  readonly connection: ReturnType<typeof createNodeRedisClient>;
  #awaySince: number | undefined;
  #saidAt = Number.NEGATIVE_INFINITY;
  #unsaid = 0;
  #closed = false;

  constructor(parts: RedisParts) {
    this.#parts = parts;
    this.prefix = parts.prefix;
    this.#awaySince = parts.clock.now();
    this.#commands = this.#tracked(made(parts.url, () => this.#closed));
    this.#commands.on("ready", () => this.#isBack());
    this.#commands.on("error", (err) => this.#isAway(err));
    this.connection = createNodeRedisClient(this.#commands); // it connects by itself
    this.connection.on("error", () => {}); // said above; without a listener it would be thrown
    const duplicate = this.connection.duplicate.bind(this.connection);
    this.connection.duplicate = (...options) => {
      const other = duplicate(...options);
      other.on("error", () => {}); // its worker says it, and listens no longer once it is closed
      return other;
    };
  }

  get isReady(): boolean {
    return this.#commands.isReady;
  }

  /** A connection of its own, which has begun to connect. */
  duplicate(): Client {
    const client = this.#commands.duplicate();
    client.on("error", (err) => this.trouble(err));
    // Its strategy never gives up, so that this rejects only when it is closed meanwhile.
    client.connect().catch((err: unknown) => this.trouble(err));
    return client;
  }

  /** What could not be written soon is not sent late. */
  async publish(channel: string, text: string): Promise<void> {
    await this.#commands.withCommandOptions({ timeout: ANSWER_MS }).publish(channel, text);
  }

  /** Says what went wrong with Redis, once a minute at most, and not while it is known to be away. */
  trouble(err: unknown): void {
    if (this.#closed || this.#awaySince !== undefined) return;
    this.#unsaid += 1;
    const now = this.#parts.clock.now();
    if (now - this.#saidAt < SAY_EVERY_MS) return;
    this.#parts.log.warn({ err, times: this.#unsaid }, "Redis did not do what it was asked, it goes on");
    this.#saidAt = now;
    this.#unsaid = 0;
  }

  /** Why it cannot be asked, in a sentence; undefined when it answers. Never rejects. */
  async away(): Promise<string | undefined> {
    const since = this.#awaySince;
    if (since !== undefined) return `Redis is away since ${new Date(since).toISOString()}`;
    const tooLong = deadline(this.#parts.clock, ANSWER_MS, new Error("no answer"));
    try {
      await unlessAborted(this.#commands.ping(), tooLong.signal);
      return undefined;
    } catch {
      return `Redis did not answer within ${ANSWER_MS / 1_000} s`;
    } finally {
      tooLong.clear();
    }
  }

  /** Ends every connection; whatever still waits for an answer fails. */
  close(): void {
    this.#closed = true;
    for (const client of this.#clients) if (client.isOpen) client.destroy();
    this.#clients.clear();
  }

  /** Those that BullMQ makes of it are ended with all others, also where BullMQ waits for Redis to come back. */
  #tracked(client: Client): Client {
    this.#clients.add(client);
    client.on("end", () => this.#clients.delete(client));
    // One that was ended while it connected would stay connected, for nobody.
    client.on("connect", () => {
      if (this.#closed || !client.isOpen) client.destroy();
    });
    // BullMQ may connect one of its own once more after it was ended.
    client.on("ready", () => (this.#closed ? client.destroy() : this.#clients.add(client)));
    const duplicate = client.duplicate.bind(client);
    const tracked = (): Client => this.#tracked(duplicate() as Client); // no modules and scripts, as the first has none
    client.duplicate = tracked as typeof duplicate;
    return client;
  }

  #isAway(err: unknown): void {
    if (this.#closed) return;
    const { clock, log } = this.#parts;
    this.#awaySince ??= clock.now();
    if (clock.now() - this.#saidAt < SAY_EVERY_MS) return;
    this.#saidAt = clock.now();
    log.warn(
      { err },
      "Redis is away; wake-ups are lost until it is back, and the sweep finds what they were about",
    );
  }

  #isBack(): void {
    const { clock, log } = this.#parts;
    if (this.#awaySince !== undefined && this.#saidAt !== Number.NEGATIVE_INFINITY)
      log.info({ awayMs: clock.now() - this.#awaySince }, "Redis is there again");
    this.#awaySince = undefined;
    this.#saidAt = Number.NEGATIVE_INFINITY;
  }
}

type Client = ReturnType<typeof made>;

function made(url: string, isClosed: () => boolean) {
  return createClient({
    url,
    pingInterval: PING_MS,
    socket: {
      connectTimeout: CONNECT_MS,
      socketTimeout: SILENT_MS,
      // For ever, also after a silent connection was ended, which the library's own strategy would not.
      reconnectStrategy: (tries) =>
        isClosed() ? false : Math.min(50 * 2 ** tries, LONGEST_WAIT_MS) + Math.random() * 200,
    },
  });
}
