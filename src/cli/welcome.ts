import type { Config } from "../config/load.ts";
import { noteSentence } from "../config/model-choice.ts";
import { unpriced } from "./prices.ts";
import type { Connections } from "../connections.ts";
import type { Role } from "../core/role.ts";
import type { OwnerLinks } from "./owner-links.ts";
import { standingWords } from "../core/standing.ts";

/** The few lines that the terminal says at the start: what is on, what is off, and what one would set to turn it on. */
export async function welcome(
  config: Config,
  role: Role,
  connections: Connections,
  origin: string,
  ownerLinks: Pick<OwnerLinks, "now">,
  now: number,
): Promise<readonly string[]> {
  if (role === "workers") return ["Perch is ready. It runs turns; other processes are the channels."];
  const links = await ownerLinks.now();
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
  const prices = unpriced(config.rules).map((line) => `  ${line}`);
  return ["Perch is ready.", ...channels, ...notes, ...prices, ...how];
}
