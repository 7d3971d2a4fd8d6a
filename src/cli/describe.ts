import type { Config } from "../config/load.ts";
import { noteSentence } from "../config/model-choice.ts";
import type { AgentDefinition } from "../core/agent.ts";
import type { ChannelRules, ChatRules } from "../core/rules.ts";
import { modelOf } from "../intake/status.ts";
import { unpriced } from "./prices.ts";

/** For each channel and chat: who may talk, which agent and model answer, and by which rules. */
export function describe({ channels, rules, notes, file }: Config): readonly string[] {
  const lines = [`${file} is sound.`];
  for (const [id, channel] of channels) {
    const of = rules.channels.get(id);
    if (!of) continue;
    const off = channel.off ? `, off until ${channel.off.set.join(", ")} is set` : "";
    lines.push("", `${id} (${channel.kind}${off})`, `  who may talk: ${whoMayTalk(of)}`);
    if (of.strangers !== "silent") lines.push(`  strangers: ${STRANGERS[of.strangers]}`);
    lines.push(`  everywhere: ${answerer(of.agent, rules.agents)}${shownWords(of)}`);
    const commands = Object.keys(of.commands).map((name) => `/${name}`);
    if (commands.length > 0) lines.push(`  commands for the agent: ${commands.join(", ")}`);
    for (const [chat, chatRules] of Object.entries(of.chats)) {
      const when = chatRules.when ?? "addressed";
      const who = answerer(chatRules.agent ?? of.agent, rules.agents);
      const shown = shownWords(chatRules, of.context);
      lines.push(`  chat ${chat}: ${who}, answers ${when}${shown}${alsoThere(chatRules, of)}`);
      for (const [topic, { agent, when: topicWhen }] of Object.entries(chatRules.topics ?? {})) {
        const there = answerer(agent ?? chatRules.agent ?? of.agent, rules.agents);
        lines.push(`    topic ${topic}: ${there}, answers ${topicWhen ?? when}`);
      }
      for (const [sender, { agent }] of Object.entries(chatRules.senders ?? {})) {
        lines.push(`    sender ${sender}: ${answerer(agent, rules.agents)}`);
      }
    }
  }
  for (const agent of rules.agents.values()) {
    const extras = extrasOf(agent);
    if (extras.length > 0) lines.push("", `agent ${agent.name}: ${extras.join("; ")}`);
  }
  for (const line of unpriced(rules)) lines.push("", line);
  for (const note of notes) lines.push("", noteSentence(note));
  return lines;
}

const STRANGERS = {
  polite: "are told that the bot is private",
  pair: "get a code that the owner can let them in with",
} as const;

function whoMayTalk(rules: ChannelRules): string {
  const { owner, allow, deny, open } = rules;
  const people = [owner === undefined ? "nobody owns it yet" : "its owner"];
  if (allow.length > 0) people.push(`${allow.length} more who are listed`);
  if (open) people.push(everybody(rules));
  if (deny.length > 0) people.push(`not ${deny.length} who are denied`);
  return people.join(", ");
}

/** Who may talk in a chat besides those who may everywhere. */
function alsoThere({ allow = [] }: ChatRules, rules: ChannelRules): string {
  if (allow === "everyone") return `; ${everybody(rules)} may talk there`;
  return allow.length === 0 ? "" : `; ${allow.length} more may talk there`;
}

function everybody({ turnsPerHour }: ChannelRules): string {
  return `everybody (at most ${turnsPerHour} ${turnsPerHour === 1 ? "turn" : "turns"} an hour each)`;
}

const LIVE = {
  draft: "shown as a draft while it is written",
  edit: "shown by edits while it is written",
  off: "shown when it is whole",
} as const;

/** What the agent sees of a group, where that is not what holds otherwise, and people of an answer that is being written. */
function shownWords({ context, live }: Pick<ChatRules, "context" | "live">, otherwise = 0): string {
  return [
    ...(context === undefined || context === otherwise
      ? []
      : [`sees ${context === 0 ? "no" : context} messages that were not for it`]),
    ...(live === undefined ? [] : [LIVE[live]]),
  ]
    .map((words) => `, ${words}`)
    .join("");
}

function answerer(name: string, agents: ReadonlyMap<string, AgentDefinition>): string {
  const agent = agents.get(name);
  return agent ? `${name} (${modelOf(agent)})` : name;
}

/** What an agent has beyond a model, a prompt and the files of its chat. */
function extrasOf(agent: AgentDefinition): readonly string[] {
  const { fallbacks = [], skills = [], memory, subagents, background, mcp = [], rubric } = agent;
  const files = memory?.files.length ?? 0;
  const others = subagents?.agents.map(({ name }) => name).join(", ") ?? "";
  const all = [
    fallbacks.length > 0 &&
      `then asks ${fallbacks.map(({ provider, name }) => `${provider}:${name}`).join(", ")}`,
    memory?.facts === true && "remembers facts",
    files > 0 && `knows ${files} ${files === 1 ? "file" : "files"} by heart`,
    skills.length > 0 && `skills of ${skills.length} ${skills.length === 1 ? "folder" : "folders"}`,
    subagents && `hands work to ${others}${background ? ", in the background too" : ""}`,
    mcp.length > 0 && `tools of ${mcp.map(({ name }) => name).join(", ")}`,
    agent.shell === true && "runs commands in a sandbox",
    agent.guard !== undefined && "its calls are guarded",
    agent.approve !== undefined && agent.approve.tools.length > 0 && "some calls wait for a person's yes",
    agent.todos === true && "keeps a list of what is to be done",
    rubric && `its answers are graded, at most ${rubric.rounds} times a turn`,
  ];
  const extras = all.filter((words) => typeof words === "string");
  const idle = agent.model.provider === "demo" && agent.graph === undefined && extras.length > 0;
  return idle ? [...extras, "the demo model uses none of it"] : extras;
}
