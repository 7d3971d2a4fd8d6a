import { faultSentence } from "../config/faults.ts";
import { type Config, loadConfig } from "../config/load.ts";
import type { AgentDefinition } from "../core/agent.ts";
import type { ChannelRules } from "../core/rules.ts";
import { EXIT } from "./exit.ts";
import { kinds } from "./kinds.ts";

export type CommandOptions = {
  readonly file?: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly print: (line: string) => void;
};

/** Checks the configuration and prints for each channel and chat which agent, model and rules hold. */
export async function check(options: CommandOptions): Promise<number> {
  const loaded = await loadConfig({ ...options, kinds });
  if (!loaded.ok) {
    for (const fault of loaded.faults) options.print(faultSentence(fault));
    options.print(`${loaded.faults.length} ${loaded.faults.length === 1 ? "fault" : "faults"}.`);
    return EXIT.config;
  }
  for (const line of describe(loaded.config)) options.print(line);
  return EXIT.ok;
}

function describe({ channels, rules, notes, file }: Config): readonly string[] {
  const lines = [`${file} is sound.`];
  for (const [id, channel] of channels) {
    const of = rules.channels.get(id);
    if (!of) continue;
    const off = channel.off ? `, off until ${channel.off.set.join(", ")} is set` : "";
    lines.push("", `${id} (${channel.kind}${off})`, `  who may talk: ${whoMayTalk(of)}`);
    lines.push(`  everywhere: ${answerer(of.agent, rules.agents)}`);
    for (const [chat, chatRules] of Object.entries(of.chats)) {
      const when = chatRules.when ?? "addressed";
      lines.push(`  chat ${chat}: ${answerer(chatRules.agent ?? of.agent, rules.agents)}, answers ${when}`);
      for (const [topic, { agent, when: topicWhen }] of Object.entries(chatRules.topics ?? {})) {
        const who = answerer(agent ?? chatRules.agent ?? of.agent, rules.agents);
        lines.push(`    topic ${topic}: ${who}, answers ${topicWhen ?? when}`);
      }
      for (const [sender, { agent }] of Object.entries(chatRules.senders ?? {})) {
        lines.push(`    sender ${sender}: ${answerer(agent, rules.agents)}`);
      }
    }
  }
  for (const { agent, wanted, set } of notes) {
    lines.push("", `agent ${agent}: ${wanted} needs ${set.join(", ")}; until then the demo model answers`);
  }
  return lines;
}

function whoMayTalk({ owner, allow, deny, open }: ChannelRules): string {
  const people = [owner === undefined ? "nobody owns it yet" : "its owner"];
  if (open) people.push("everybody");
  else if (allow.length > 0) people.push(`${allow.length} more who are listed`);
  if (deny.length > 0) people.push(`not ${deny.length} who are denied`);
  return people.join(", ");
}

function answerer(name: string, agents: ReadonlyMap<string, AgentDefinition>): string {
  const agent = agents.get(name);
  if (!agent) return name;
  if (agent.graph !== undefined) return `${name} (a graph of its own)`;
  const { provider, name: model } = agent.model;
  return `${name} (${model === "" ? provider : `${provider}:${model}`})`;
}
