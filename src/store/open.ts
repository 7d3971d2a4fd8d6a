import { join } from "node:path";
import type { Database } from "./database.ts";
import { openSqlite } from "./sqlite.ts";

/** Where the facts are: a PostgreSQL server, or a file in the data folder. */
export type StorePlace = { readonly dataFolder: string; readonly store: { readonly url?: string } };

/**
 * Opens the facts, with today's schema. The server's driver is loaded only where there is a server.
 * @throws GatewayError as `openSqlite` and `openPostgres`.
 */
export async function openStore({ dataFolder, store }: StorePlace): Promise<Database> {
  if (store.url === undefined) return await openSqlite(join(dataFolder, "perch.db"));
  const { openPostgres } = await import("./postgres.ts");
  return await openPostgres(store.url);
}
