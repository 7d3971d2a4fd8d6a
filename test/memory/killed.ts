import type { KyselyPlugin } from "kysely";
import type { Database } from "../../src/store/database.ts";

/** The same database for a process that ends at its `at`-th statement: nothing of what it has open is committed. */
export function endingAt(database: Database, at: number): Database & { readonly ended: () => boolean } {
  let statements = 0;
  let ended = false;
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      statements += 1;
      if (ended || statements >= at) {
        ended = true;
        throw new Error("the process has ended");
      }
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return {
    ...database,
    db: database.db.withPlugin(plugin),
    light: (work) => database.light((trx) => work(trx.withPlugin(plugin))),
    ended: () => ended,
  };
}
