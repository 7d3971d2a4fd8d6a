import { expect, it } from "vitest";

import { faultSentence } from "../../src/config/faults.ts";
import type { LoadResult } from "../../src/config/load.ts";
import { configOf, faultsOf, place } from "./support.ts";

const WEB = "channels:\n  web: { kind: web, agent: a }\n";

/** Agents by their names, each with its front matter. */
async function load(agents: Readonly<Record<string, string>>): Promise<LoadResult> {
  const files = Object.entries(agents).map(([name, front]) => [
    `config/agents/${name}.md`,
    `---\n${front}\n---\nI am ${name}.`,
  ]);
  const there = await place({ "config/perch.yaml": WEB, ...Object.fromEntries(files) });
  return await there.load();
}

async function faults(agents: Readonly<Record<string, string>>): Promise<readonly string[]> {
  return faultsOf(await load(agents)).map((fault) => faultSentence(fault).replace(/^config\/agents\//, ""));
}

it("makes subagents of names, each the very definition that the folder gives", async () => {
  const { agents } = configOf(
    await load({
      a: "subagents: { agents: [b, c], atOnce: 2 }",
      b: "subagents: [c]",
      c: "about: Knows.",
    }),
  ).rules;
  const a = agents.get("a")?.subagents;
  expect(a).toMatchObject({ atOnce: 2, mostPerTurn: 6, seconds: 120 });
  expect(a?.agents.map(({ name }) => name)).toEqual(["b", "c"]);
  expect(a?.agents[0]).toBe(agents.get("b"));
  expect(agents.get("b")?.subagents).toEqual({
    agents: [agents.get("c")],
    atOnce: 3,
    mostPerTurn: 6,
    seconds: 120,
  });
  expect(agents.get("b")?.subagents?.agents[0]).toBe(agents.get("c"));
  expect(a?.agents[1]).toMatchObject({ about: "Knows.", prompt: "I am c." });
});

it.each([
  [
    "a name that is nobody's",
    { a: "subagents: [reseacher]", researcher: "" },
    ['a.md:2 subagents[0] ("reseacher"): there is no such agent. Did you mean "researcher"?'],
  ],
  [
    "itself",
    { a: "subagents: { agents: [a] }" },
    ['a.md:2 subagents.agents[0] ("a"): an agent is no subagent of its own. Remove it.'],
  ],
  [
    "the same twice",
    { a: "subagents: [b, b]", b: "" },
    ['a.md:2 subagents[1] ("b"): this agent stands here a second time. Keep one of the two.'],
  ],
  [
    "a circle, told once",
    { a: "subagents: [b]", b: "subagents: [c]", c: "subagents: [b]" },
    ['c.md:2 subagents[0] ("b"): b → c → b is a circle. Remove one of them.'],
  ],
  [
    "a third level",
    { a: "subagents: [b]", b: "subagents: [c]", c: "subagents: [d]", d: "" },
    [
      'a.md:2 subagents[0] ("b"): its subagents have subagents of their own; at most 2 levels are taken. Remove it here, or the subagents of its subagents.',
    ],
  ],
])("refuses %s", async (_what, agents, expected) => {
  expect(await faults(agents)).toEqual(expected);
});

it("does not miss a subagent whose own file is at fault", async () => {
  expect(await faults({ a: "subagents: [b]", b: "limts: {}" })).toEqual([
    'b.md:2 limts: unknown key. Did you mean "limits"?',
  ]);
});

it("takes a changed subagent up in its parent, whose own file is the same", async () => {
  const there = await place({
    "config/perch.yaml": WEB,
    "config/agents/a.md": "---\nsubagents: [b]\n---\nx",
    "config/agents/b.md": "Before.",
  });
  const parent = async () => configOf(await there.load()).rules.agents.get("a");
  const before = await parent();
  await there.write({ "config/agents/b.md": "After." });
  const after = await parent();
  expect(before?.subagents?.agents[0]?.prompt).toBe("Before.");
  expect(after?.subagents?.agents[0]?.prompt).toBe("After.");
  expect(after).not.toBe(before);
});
