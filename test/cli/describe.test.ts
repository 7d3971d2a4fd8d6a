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
