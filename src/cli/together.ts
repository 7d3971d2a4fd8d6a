import { setMaxListeners } from "node:events";
import type { Config } from "../config/load.ts";
import type { ChannelFront } from "../core/channel.ts";
import type { Clock } from "../core/clock.ts";
import type { MakeDispatcher } from "../core/dispatcher.ts";
import { GatewayError } from "../core/errors.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Role } from "../core/role.ts";
import type { Wire } from "../core/wire.ts";
import { inProcess } from "../dispatch/in-process.ts";
import { frontOf } from "../gateway/elsewhere.ts";
import { kinds } from "./kinds.ts";

/** What a process shares with others of the same Perch; all of it is its own where it is alone. */
export type Together = {
  readonly dispatcher: MakeDispatcher;
  readonly cluster?: {
    readonly role: Role;
    readonly wire: Wire;
    readonly front: (id: ChannelId) => ChannelFront | undefined;
  };
  /** A changed configuration. */
  use(config: Config): Promise<void>;
  close(): Promise<void>;
};

/** @throws GatewayError "config.invalid" for a role that one process alone cannot have. */
export async function together(
  config: Config,
  role: Role,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<Together> {
  if (!config.cluster) {
    if (role !== "all")
      throw new GatewayError(
        "config.invalid",
        `one process alone does everything, and --role ${role} is for one of several; write cluster.redis in perch.yaml, or leave the role out`,
      );
    return { dispatcher: inProcess, use: async () => {}, close: async () => {} };
  }
  const { bullmq } = await import("../dispatch/bullmq.ts");
  const { Redis } = await import("../dispatch/redis.ts");
  const { redisWire } = await import("../dispatch/wire-redis.ts");
  const redis = new Redis({ url: config.cluster.redis, prefix: config.cluster.prefix, clock, log });
  const wire = redisWire(redis, log);
  const ending = new AbortController();
  setMaxListeners(0, ending.signal); // as many drafts wait as turns run
  let fronts: ReadonlyMap<ChannelId, ChannelFront> = new Map();

  /** What connections look like is known without opening them. */
  async function use({ channels }: Config): Promise<void> {
    const found = await Promise.all(
      [...channels].map(async ([id, channel]) => {
        if (channel.off) return [];
        const kind = await kinds.load(channel.kind);
        if (!kind) return [];
        return [[id, frontOf(kind.face(channel.settings), wire, clock, ending.signal)] as const];
      }),
    );
    fronts = new Map(found.flat());
  }

  await use(config);
  return {
    dispatcher: bullmq(redis),
    cluster: { role, wire, front: (id) => fronts.get(id) },
    use,
    async close() {
      ending.abort();
      await wire.close();
      redis.close();
    },
  };
}
