import type { AgentDefinition } from "../core/agent.ts";
import type { AgentSettings } from "./agent-schema.ts";
import { suggestion } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Path } from "./path.ts";
import { child } from "./yaml-source.ts";
import type { YamlSource } from "./yaml-source.ts";

/** An agent whose file is read, and whom it wants as subagents: they may stand in files that come later. */
export type Alone = {
  readonly agent: AgentDefinition;
  readonly wanted?: NonNullable<AgentSettings["subagents"]>;
  readonly source: YamlSource;
};

/** A subagent may have subagents, and these none. */
const MOST_DEPTH = 2;

/** Gives each agent its subagents' definitions. `names` are those of all files, also of those with faults. */
export function withSubagents(
  alone: ReadonlyMap<string, Alone>,
  names: readonly string[],
): { readonly agents: ReadonlyMap<string, AgentDefinition>; readonly faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const agents = new Map<string, AgentDefinition>();
  /** How many levels are below an agent. */
  const depths = new Map<string, number>();

  const depthOf = (name: string, way: readonly string[]): number => {
    const known = depths.get(name);
    const here = alone.get(name);
    if (known !== undefined || here === undefined) return known ?? 0;
    let depth = 0;
    const wanted = here.wanted?.agents ?? [];
    for (const [i, other] of wanted.entries()) {
      const at = placeOf(here.source, i);
      const circle = [...way, name, other];
      if (other === name) {
        faults.push(here.source.fault(at, "an agent is no subagent of its own", "Remove it"));
      } else if (way.includes(other)) {
        const shown = circle.slice(circle.indexOf(other)).join(" → ");
        faults.push(here.source.fault(at, `${shown} is a circle`, "Remove one of them"));
      } else if (wanted.indexOf(other) < i) {
        faults.push(here.source.fault(at, "this agent stands here a second time", "Keep one of the two"));
      } else if (!names.includes(other)) {
        const others = names.filter((it) => it !== name);
        faults.push(here.source.fault(at, "there is no such agent", suggestion(other, others)));
      } else {
        const below = depthOf(other, [...way, name]) + 1;
        depth = Math.max(depth, below);
        if (below <= MOST_DEPTH) continue;
        const problem = `its subagents have subagents of their own; at most ${MOST_DEPTH} levels are taken`;
        faults.push(here.source.fault(at, problem, "Remove it here, or the subagents of its subagents"));
      }
    }
    depths.set(name, depth);
    return depth;
  };
  for (const name of alone.keys()) depthOf(name, []);

  const whole = (name: string): AgentDefinition | undefined => {
    const here = alone.get(name);
    if (agents.has(name) || here === undefined) return agents.get(name);
    const { agent, wanted } = here;
    const below = (wanted?.agents ?? []).flatMap((other) => whole(other) ?? []);
    const all = wanted === undefined ? agent : { ...agent, subagents: { ...wanted, agents: below } };
    agents.set(name, all);
    return all;
  };
  // In a circle nobody would come to an end.
  if (faults.length === 0) for (const name of alone.keys()) whole(name);
  return { agents: new Map([...alone.keys()].flatMap((name) => entryOf(name, agents))), faults };
}

function entryOf(
  name: string,
  agents: ReadonlyMap<string, AgentDefinition>,
): readonly (readonly [string, AgentDefinition])[] {
  const agent = agents.get(name);
  return agent === undefined ? [] : [[name, agent]];
}

/** Where the name stands: in a plain list, or in the list of a map. */
function placeOf(source: YamlSource, i: number): Path {
  return Array.isArray(child(source.value, "subagents")) ? ["subagents", i] : ["subagents", "agents", i];
}
