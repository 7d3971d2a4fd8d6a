import { faultSentence } from "../config/faults.ts";
import { type Config, loadConfig } from "../config/load.ts";
import { GatewayError } from "../core/errors.ts";
import type { Database } from "../store/database.ts";
import { openStore } from "../store/open.ts";
import type { CommandOptions } from "./check.ts";
import { kinds } from "./kinds.ts";

/**
 * Opens the data of the configured folder for a command; a running gateway does not mind.
 * @throws GatewayError "config.invalid" with all faults.
 */
export async function withData<T>(
  options: CommandOptions,
  use: (database: Database, config: Config) => Promise<T>,
): Promise<T> {
  const loaded = await loadConfig({ ...options, kinds });
  if (!loaded.ok) {
    const { faults } = loaded;
    const count = `${faults.length} ${faults.length === 1 ? "fault" : "faults"}`;
    throw new GatewayError("config.invalid", [...faults.map(faultSentence), count].join("\n"));
  }
  const database = await openStore(loaded.config);
  try {
    return await use(database, loaded.config);
  } finally {
    await database.close();
  }
}
