import { modelKey } from "../agent/model-key.ts";
import { priceOf } from "../agent/prices.ts";
import type { AgentDefinition } from "../core/agent.ts";
import type { Rules } from "../core/rules.ts";

/** A sentence for each agent whose models cost something that nobody knows, where the operator bounds costs. */
export function unpriced(rules: Rules): readonly string[] {
  if (!boundsCosts(rules)) return [];
  return [...rules.agents.values()].flatMap((agent) => {
    const unknown = modelsOf(agent).filter((choice) => priceOf(agent, choice) === undefined);
    if (unknown.length === 0) return [];
    const names = [...new Set(unknown.map(modelKey))].join(", ");
    return [
      `agent ${agent.name}: nobody knows what ${names} costs, so costPerMonth does not stop it; write price: into its file, or price: { input: 0, output: 0 } if it costs nothing.`,
    ];
  });
}

function boundsCosts({ budgets, channels, agents }: Rules): boolean {
  const all = [
    budgets?.total,
    ...[...agents.values()].map(({ budget }) => budget),
    ...[...channels.values()].flatMap((of) => [
      of.budgets?.person,
      of.budgets?.chat,
      ...Object.values(of.chats).map(({ budget }) => budget),
    ]),
  ];
  return all.some((budget) => budget?.costPerMonth !== undefined);
}

function modelsOf({
  graph,
  model,
  fallbacks = [],
  rubric,
}: AgentDefinition): readonly AgentDefinition["model"][] {
  if (graph !== undefined) return [];
  return [model, ...fallbacks, ...(rubric?.model === undefined ? [] : [rubric.model])];
}
