import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { agentSchema } from "../../src/config/agent-schema.ts";
import { rootSchema } from "../../src/config/schema.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/agent.md"), "utf8");
/** Told in docs/media.md, or in the agent's file itself. */
const ELSEWHERE = new Set([
  "model",
  "baseUrl",
  "apiKey",
  "assets",
  "transcriber",
  "files",
  "choices",
  "senses",
  "limits",
]);

it("docs/agent.md tells of every key of an agent that no other page does", () => {
  const keys = Object.keys(agentSchema.shape).filter((key) => !ELSEWHERE.has(key));
  expect(keys.filter((key) => !new RegExp(`(^|\`)${key}:`, "m").test(PAGE))).toEqual([]);
});

it("docs/agent.md shows defaults as they are", () => {
  const { memory, subagents, background, rubric, approve } = agentSchema.parse({
    memory: {},
    subagents: ["researcher"],
    background: true,
    rubric: { criteria: "x" },
  });
  const told = (key: string): unknown => Number(new RegExp(`\\b${key}: (\\d+)`).exec(PAGE)?.[1]);
  for (const [key, value] of Object.entries({
    ...memory,
    ...subagents,
    ...background,
    ...rubric,
    ...approve,
  })) {
    if (typeof value === "number") expect([key, told(key)]).toEqual([key, value]);
  }
  const { mcp } = rootSchema.parse({ channels: {}, mcp: { x: { command: "x" } } });
  expect(told("timeoutSeconds")).toBe(mcp["x"]?.timeoutSeconds);
});

it("docs/agent.md names files that there are", () => {
  const table = PAGE.slice(PAGE.indexOf("## Systems"));
  const named = Array.from(
    table.matchAll(/`([\w./-]+\.(?:ts|md)|[\w-]+(?:\/[\w-]+)*\/)`/g),
    ([, path = ""]) => path,
  );
  const under = [
    "",
    "src/",
    "src/agent/",
    "test/agent/",
    "test/agent/harness/",
    "test/agent/window/",
    "test/memory/",
  ];
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((path) => !under.some((folder) => existsSync(join(ROOT, folder, path))))).toEqual([]);
});
