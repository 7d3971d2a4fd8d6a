import type { Transaction } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { EffectLog, StoredEffect } from "../core/effects.ts";
import type { ChatId, Hold, ThreadId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Database } from "./database.ts";
import { assertHeld } from "./holds.ts";
import { insist } from "./insist.ts";
import type { Queries, Tables } from "./tables.ts";

/** Of one attempt at a turn. */
export type EffectsOf = {
  readonly hold: Hold;
  readonly thread: ThreadId;
  /** The message that is answered, as the thread knows it. */
  readonly message: string;
  /** Whether there was an attempt before: otherwise nobody has to look. */
  readonly again: boolean;
};

/** The effects of a turn, and whether there are any that the end of the turn must forget. */
export type TurnEffects = EffectLog & {
  readonly any: boolean;
  /**
   * Writes down a call that is not made, with the result that it has for now, and what `also` writes, as one; nothing
   * where `also` gives false. Whether it did.
   */
  putOff(
    call: string,
    step: string,
    result: string,
    also: (trx: Queries) => Promise<boolean>,
  ): Promise<boolean>;
};

/** What effects are written down with. */
export type EffectsBy = { readonly clock: Clock; readonly log: Log; readonly closing: AbortSignal };

export function turnEffects(database: Database, { hold, ...of }: EffectsOf, by: EffectsBy): TurnEffects {
  const assertOurs = async (trx: Transaction<Tables>): Promise<void> => await assertHeld(trx, hold);
  return effectsOf(database, { ...of, chat: hold.chat, assertOurs }, by);
}

/** The effects of a turn, or of a background task. */
export function effectsOf(
  database: Database,
  {
    chat,
    thread,
    message,
    again,
    assertOurs,
  }: Omit<EffectsOf, "hold"> & {
    readonly chat: ChatId;
    /** Throws "store.hold_lost" where the work is another one's by now. */
    readonly assertOurs: (trx: Transaction<Tables>) => Promise<void>;
  },
  by: EffectsBy,
): TurnEffects {
  let known: Promise<readonly StoredEffect[]> | undefined = again ? undefined : Promise.resolve([]);
  let any = false;
  const set = (effects: readonly StoredEffect[]): void => {
    known = Promise.resolve(effects);
    any = effects.length > 0;
  };
  const all = async (): Promise<readonly StoredEffect[]> => {
    known ??= read(database, { thread, message });
    try {
      const effects = await known;
      any ||= effects.length > 0;
      return effects;
    } catch (error) {
      known = undefined;
      throw error;
    }
  };
  return {
    get any() {
      return any;
    },
    earlier: all,
    async begin(call, step) {
      // Two calls of one message begin at once; what each adds is added to what is there by then.
      await all();
      await database.db.transaction().execute(async (trx) => {
        await assertOurs(trx);
        await trx
          .insertInto("effect")
          .values({ chat_id: chat, thread, message, call, step, at: by.clock.now() })
          .onConflict((conflict) => conflict.columns(["thread", "message", "call"]).doNothing())
          .execute();
      });
      set([...(await all()).filter((each) => each.call !== call), { call, step }]);
    },
    async putOff(call, step, result, also) {
      await all();
      const isOurs = await database.db.transaction().execute(async (trx) => {
        await assertOurs(trx);
        if (!(await also(trx))) return false;
        await trx
          .insertInto("effect")
          .values({ chat_id: chat, thread, message, call, step, done: 1, result, at: by.clock.now() })
          .onConflict((conflict) => conflict.columns(["thread", "message", "call"]).doNothing())
          .execute();
        return true;
      });
      if (isOurs) set([...(await all()).filter((each) => each.call !== call), { call, step, result }]);
      return isOurs;
    },
    async done(call, result) {
      // It has happened: a disk that is full is only a wait.
      await insist(
        async () =>
          await database.db.transaction().execute(async (trx) => {
            await assertOurs(trx);
            await trx
              .updateTable("effect")
              .set({ done: 1, result })
              .where("thread", "=", thread)
              .where("message", "=", message)
              .where("call", "=", call)
              .execute();
          }),
        by,
      );
      set((await all()).map((each) => (each.call === call ? { ...each, result } : each)));
    },
  };
}

/** In the transaction that ends the turn: what was done is in its thread by then. */
export async function forgetEffects(
  trx: Queries,
  { thread, message }: { readonly thread: ThreadId; readonly message: string },
): Promise<void> {
  await trx.deleteFrom("effect").where("thread", "=", thread).where("message", "=", message).execute();
}

async function read(
  { db }: Database,
  { thread, message }: { readonly thread: ThreadId; readonly message: string },
): Promise<readonly StoredEffect[]> {
  const rows = await db
    .selectFrom("effect")
    .select(["call", "step", "done", "result"])
    .where("thread", "=", thread)
    .where("message", "=", message)
    .orderBy("id")
    .execute();
  return rows.map(({ call, step, done, result }) => (done === 1 ? { call, step, result } : { call, step }));
}
