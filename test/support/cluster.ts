import type { Role } from "../../src/core/role.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import type { Running } from "./perch-process.ts";
import { type OwnRedis, ownRedis } from "./redis.ts";
import { type World, world } from "./telegram-perch.ts";

/** A Perch of several processes with a Redis and a PostgreSQL of its own, at a Telegram and a model. */
export type TestCluster = World & {
  readonly redis: OwnRedis;
  readonly postgres: PostgresServer;
  /** Starts a process and waits until it says that it is ready. */
  join(role: Role, env?: Readonly<Record<string, string>>): Promise<Running>;
};

export async function cluster(options: Parameters<typeof world>[0] = {}): Promise<TestCluster> {
  const [redis, postgres] = await Promise.all([ownRedis(), startPostgres()]);
  const at = await world({
    // BullMQ and the servers know no other time than the machine's.
    rate: 1,
    ...options,
    root: [
      `store: { url: "${postgres.url}" }`,
      `cluster: { redis: "${redis.url}", prefix: "${redis.prefix}" }`,
      options.root ?? "",
    ].join("\n"),
  });
  return {
    ...at,
    redis,
    postgres,
    join: (role, env) => at.start(env, ["start", "--role", role]),
    async close() {
      await at.close();
      await redis.close();
      await postgres.remove();
    },
  };
}
