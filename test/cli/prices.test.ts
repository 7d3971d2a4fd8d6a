import { expect, it } from "vitest";
import { describe as described } from "../../src/cli/describe.ts";
import { unpriced } from "../../src/cli/prices.ts";
import { configOf, loadYaml } from "../config/support.ts";

const WEB = "channels:\n  web: { kind: web }\n";

const agents = {
  "config/agents/helper.md": "---\nmodel: openai:gpt-5\nfallbacks: [ollama:llama3]\n---\nx",
  "config/agents/own.md": "---\nmodel: openai:mine\nbaseUrl: http://127.0.0.1:8000/v1\n---\nx",
  "config/agents/priced.md": "---\nmodel: openai:mine\nprice: { input: 1, output: 2 }\n---\nx",
  "config/agents/known.md": "---\nmodel: openai:gpt-5-mini\n---\nx",
};

const load = async (more: string) =>
  configOf(await loadYaml(WEB + more, { files: agents, env: { OPENAI_API_KEY: "k" } }));

it("names the models that nobody knows the price of, where costs are bounded", async () => {
  const config = await load("budgets: { total: { costPerMonth: 5 } }");
  const words =
    "so costPerMonth does not stop it; write price: into its file, or price: { input: 0, output: 0 }";
  expect(unpriced(config.rules)).toEqual([
    `agent helper: nobody knows what ollama:llama3 costs, ${words} if it costs nothing.`,
    `agent own: nobody knows what openai:mine costs, ${words} if it costs nothing.`,
  ]);
  expect(described(config)).toEqual(expect.arrayContaining([...unpriced(config.rules)]));
});

it("says nothing of prices where no costs are bounded", async () => {
  expect(unpriced((await load("budgets: { total: { tokensPerDay: 5 } }")).rules)).toEqual([]);
});
