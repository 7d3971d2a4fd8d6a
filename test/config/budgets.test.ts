import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { budget } from "../../src/config/budget-schema.ts";
import { faultSentence } from "../../src/config/faults.ts";
import { configOf, type Files, faultsOf, loadYaml } from "./support.ts";

const WEB = "channels:\n  web: { kind: web }\n";
const KEYS = { OPENAI_API_KEY: "open" };

async function faults(yaml: string, files: Files = {}): Promise<readonly string[]> {
  return faultsOf(await loadYaml(yaml, { files, env: KEYS })).map(faultSentence);
}

describe("budgets", () => {
  it("are taken over as they are written; a warning comes at 80 percent", async () => {
    const yaml = `
channels:
  web:
    kind: web
    budgets: { person: { turnsPerHour: 0 }, chat: { mediaMinutesPerDay: 1.5 } }
    chats: { "5": { budget: { tokensPerDay: 7 } } }
budgets: { total: { costPerMonth: 0.5 } }
`;
    const files = {
      "config/agents/helper.md": "---\nmodel: openai:gpt-5\nbudget: { costPerMonth: 20 }\n---\nx",
    };
    const { rules } = configOf(await loadYaml(yaml, { files, env: KEYS }));
    expect(rules.budgets).toEqual({ total: { costPerMonth: 0.5 }, warnPercent: 80 });
    expect(rules.channels.get("web")).toMatchObject({
      budgets: { person: { turnsPerHour: 0 }, chat: { mediaMinutesPerDay: 1.5 } },
      chats: { "5": { budget: { tokensPerDay: 7 } } },
    });
    expect(rules.agents.get("helper")?.budget).toEqual({ costPerMonth: 20 });
  });

  it.each([
    [
      `${WEB}budgets: { total: { tokensPerHour: 5 } }`,
      'config/perch.yaml:3 budgets.total.tokensPerHour (5): unknown key. Did you mean "turnsPerHour"?',
    ],
    [`${WEB}budgets: { total: { costPerMonth: -1 } }`, /costPerMonth \(-1\): must be at least 0/],
    [`${WEB}budgets: { warnPercent: 0 }`, /warnPercent \(0\): must be at least 1/],
    [
      `channels:\n  web: { kind: web, budgets: { person: { turnsPerHour: 1.5 } } }`,
      /turnsPerHour \(1\.5\): must be a whole number/,
    ],
  ])("are refused with a sentence: %s", async (yaml, sentence) => {
    expect(await faults(yaml)).toEqual([
      sentence instanceof RegExp ? expect.stringMatching(sentence) : sentence,
    ]);
  });

  it("of tokens and costs are refused for a graph, which asks its models itself", async () => {
    const files = {
      "config/agents/helper.md":
        "---\ngraph: ./g.js\nbudget: { turnsPerHour: 5, tokensPerDay: 5, costPerMonth: 5 }\n---\n",
      "config/agents/g.js": "",
    };
    expect(await faults(WEB, files)).toEqual(
      ["tokensPerDay", "costPerMonth"].map((key) =>
        expect.stringContaining(`budget.${key} (5): has no effect beside a graph of your own`),
      ),
    );
  });

  it("have each of their keys in docs/budgets.md, and each in a row", () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/budgets.md"), "utf8");
    for (const key of Object.keys(budget.shape)) expect(page).toMatch(new RegExp(`^\\| \`${key}\` \\|`, "m"));
  });
});
