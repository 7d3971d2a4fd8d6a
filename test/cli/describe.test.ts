import { expect, it } from "vitest";
import { describe } from "../../src/cli/describe.ts";
import { configOf, loadYaml, TOKEN } from "../config/support.ts";

it("tells who may talk in each chat and how often, what the agent sees, and how answers are shown", async () => {
  const yaml = `
channels:
  club:
    kind: telegram
    token: \${TOKEN}
    owner: 1
    allow: [2]
    open: true
    acknowledge: allow-arbitrary-senders
    turnsPerHour: 1
    strangers: pair
    context: 5
    live: draft
    commands: { weather: Rain or sun, plan_b: What else }
    chats:
      "-5": { allow: everyone, context: 20, live: edit, when: all }
      "-6": { allow: [7, 8], context: 0, live: off }
  other: { kind: web, strangers: polite }
`;
  const lines = describe(configOf(await loadYaml(yaml, { env: { TOKEN } })));
  expect(lines.slice(1)).toEqual([
    "",
    "club (telegram)",
    "  who may talk: its owner, 1 more who are listed, everybody (at most 1 turn an hour each)",
    "  strangers: get a code that the owner can let them in with",
    "  everywhere: helper (demo:demo), sees 5 messages that were not for it, shown as a draft while it is written",
    "  commands for the agent: /weather, /plan_b",
    "  chat -5: helper (demo:demo), answers all, sees 20 messages that were not for it, shown by edits while it is written; everybody (at most 1 turn an hour each) may talk there",
    "  chat -6: helper (demo:demo), answers addressed, sees no messages that were not for it, shown when it is whole; 2 more may talk there",
    "",
    "other (web)",
    "  who may talk: its owner",
    "  strangers: are told that the bot is private",
    "  everywhere: helper (demo:demo)",
  ]);
});

it("tells in a line what an agent has beyond a model and a prompt, and which models wait for a key", async () => {
  const agents = {
    "config/agents/helper.md": [
      "---",
      "model: openai:gpt-5",
      "fallbacks: [ollama:llama3, anthropic:a]",
      "memory: { facts: true, files: [./AGENTS.md] }",
      "subagents: [coder]",
      "background: true",
      "mcp: [notes]",
      'rubric: { criteria: "Is true." }',
      "---",
      "x",
    ].join("\n"),
    "config/agents/AGENTS.md": "We sell shoes.",
    "config/agents/coder.md": "---\nshell: true\ntodos: true\n---\nx",
  };
  const yaml = "channels:\n  web: { kind: web }\nmcp:\n  notes: { command: notes-server }\n";
  const config = configOf(await loadYaml(yaml, { files: agents, env: { OPENAI_API_KEY: "k" } }));
  expect(describe(config).slice(5)).toEqual([
    "",
    "agent coder: runs commands in a sandbox; keeps a list of what is to be done; the demo model uses none of it",
    "",
    "agent helper: then asks ollama:llama3; remembers facts; knows 1 file by heart; hands work to coder, in the background too; tools of notes; its answers are graded, at most 3 times a turn",
    "",
    "agent helper: anthropic:a needs ANTHROPIC_API_KEY; until then it is not asked",
  ]);
});
