import { PostgresAdapter, type Transaction } from "kysely";
import type { Lease } from "../core/host.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";

/** A process as a holder of leases: who it is, and what time it has. */
export type Holder = { readonly owner: string; readonly clock: Clock };

type Trx = Transaction<Tables>;

/**
 * The right to be a connection, from now for `ms`: undefined while another process has it. Its owner gets it anew at any
 * time, and what it had before holds no more. `write` is what `set` of the lease does in the transaction that has checked it.
 */
export async function takeLease(
  { db }: Database,
  channel: ChannelId,
  { owner, clock }: Holder,
  ms: number,
  write: (trx: Trx, ...what: Parameters<Lease["set"]>) => Promise<void>,
): Promise<Lease | undefined> {
  const now = clock.now();
  const taken = await db
    .insertInto("channel_lease")
    .values({ channel, owner, epoch: 1, until: now + ms })
    .onConflict((conflict) =>
      conflict
        .column("channel")
        .doUpdateSet((eb) => ({
          owner,
          epoch: eb("channel_lease.epoch", "+", 1),
          until: now + ms,
        }))
        .where((eb) => eb.or([eb("channel_lease.until", "<=", now), eb("channel_lease.owner", "=", owner)])),
    )
    .returning("epoch")
    .executeTakeFirst();
  if (!taken) return undefined;
  const { epoch } = taken;

  /** Changes the row where it is still ours. */
  const change = async (values: { readonly owner?: string; readonly until: number }): Promise<boolean> => {
    const { numUpdatedRows } = await db
      .updateTable("channel_lease")
      .set(values)
      .where("channel", "=", channel)
      .where("owner", "=", owner)
      .where("epoch", "=", epoch)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  };

  return {
    epoch,
    async set(...what) {
      await db.transaction().execute(async (trx) => {
        const held = await trx
          .selectFrom("channel_lease")
          .select("epoch")
          .where("channel", "=", channel)
          .where("owner", "=", owner)
          .where("epoch", "=", epoch)
          // SQLite has one writer at a time; PostgreSQL keeps the next holder waiting until this has committed.
          .$if(trx.getExecutor().adapter instanceof PostgresAdapter, (query) => query.forUpdate())
          .executeTakeFirst();
        if (!held) throw lost(channel);
        await write(trx, ...what);
      });
    },
    async renew(forMs) {
      if (!(await change({ until: clock.now() + forMs }))) throw lost(channel);
    },
    async release() {
      await change({ owner: "", until: 0 });
    },
  };
}

/** No process has a lease any more, or not that one: for whoever knows that those who had it have died. */
export async function endLeases(trx: Trx, channel?: ChannelId): Promise<void> {
  await trx
    .updateTable("channel_lease")
    .set({ owner: "", until: 0 })
    .where("owner", "!=", "")
    .$if(channel !== undefined, (query) => query.where("channel", "=", channel ?? ""))
    .execute();
}

function lost(channel: ChannelId): GatewayError {
  return new GatewayError(
    "store.hold_lost",
    `connection ${channel} is held by another process now; nothing was written`,
  );
}
