import type { Config } from "../config/load.ts";
import { noteSentence } from "../config/model-choice.ts";
import type { Connections } from "../connections.ts";
import { standingWords } from "../core/standing.ts";

/** The few lines that the terminal says at the start: what is on, what is off, and what one would set to turn it on. */
export async function welcome(
  config: Config,
  connections: Connections,
  origin: string,
  startLinks: (config: Config) => Promise<ReadonlyMap<string, string>>,
  now: number,
): Promise<readonly string[]> {
  const links = await startLinks(config);
  const channels = [...config.channels].flatMap(([id, channel]) => {
    const name = id.padEnd(10);
    if (channel.off) return [`  ${name} off: set ${channel.off.set.join(", ")}`];
    const fault = connections.faults.get(id);
    if (fault !== undefined) return [`  ${name} off: ${fault}`];
    const standing = connections.standings.get(id);
    if (standing && standing.is !== "open" && standing.is !== "connecting")
      return [`  ${name} ${standingWords(standing, now)}`];
    const link = links.get(id);
    const where = channel.kind === "web" ? ` at ${origin}` : "";
    return [
      `  ${name} on${where}`,
      ...(link === undefined ? [] : [`  ${" ".repeat(10)} open ${link} to become its owner`]),
    ];
  });
  const notes = config.notes.map((note) => `  ${noteSentence(note)}`);
  const demo = [...config.rules.agents.values()].some(
    (agent) => agent.model.provider === "demo" && !agent.graph,
  );
  const how =
    demo && config.notes.every(({ spare }) => spare)
      ? [
          "  No model is configured, so the demo answers. Set PERCH_MODEL=openai:gpt-5 and OPENAI_API_KEY, for example in .env.",
        ]
      : [];
  return ["Perch is ready.", ...channels, ...notes, ...how];
}
