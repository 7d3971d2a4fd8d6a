import { faultSentence } from "../config/faults.ts";
import { loadConfig } from "../config/load.ts";
import type { Clock } from "../core/clock.ts";
import { describe } from "./describe.ts";
import { EXIT } from "./exit.ts";
import { kinds } from "./kinds.ts";
import { type Examined, examineAll } from "./live.ts";

export type CommandOptions = {
  readonly file?: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly print: (line: string) => void;
};

/**
 * Checks the configuration and prints for each channel and chat which agent, model and rules hold; with `live` also what
 * the platforms say of the connections.
 */
export async function check(
  options: CommandOptions & { readonly clock: Clock; readonly live: boolean },
): Promise<number> {
  const loaded = await loadConfig({ ...options, kinds });
  if (!loaded.ok) {
    for (const fault of loaded.faults) options.print(faultSentence(fault));
    options.print(`${loaded.faults.length} ${loaded.faults.length === 1 ? "fault" : "faults"}.`);
    return EXIT.config;
  }
  for (const line of describe(loaded.config)) options.print(line);
  if (!options.live) return EXIT.ok;
  const examined = await examineAll(loaded.config, options.clock);
  for (const line of told(examined)) options.print(line);
  const sound = examined.every(({ findings }) => findings.every(({ kind }) => kind === "fact"));
  return sound ? EXIT.ok : EXIT.failed;
}

function told(examined: readonly Examined[]): readonly string[] {
  return examined.flatMap(({ id, kind, findings }) => [
    "",
    `${id} (${kind}), asked now`,
    ...findings.map(({ kind: found, text, remedy }) => {
      const words = remedy === undefined ? text : `${text}; ${remedy}`;
      return found === "fault" ? `  fault: ${words}` : `  ${words}`;
    }),
  ]);
}
