import { join } from "node:path";
import { describe, expect, it } from "vitest";

import { agentSchema } from "../../src/config/agent-schema.ts";
import { faultSentence } from "../../src/config/faults.ts";
import { noteSentence } from "../../src/config/model-choice.ts";
import type { AgentDefinition } from "../../src/core/agent.ts";
import { configOf, faultsOf, loadYaml, place } from "./support.ts";
import type { Files } from "./support.ts";

const WEB = "channels:\n  web: { kind: web }\n";
const KEYS = { OPENAI_API_KEY: "open", ANTHROPIC_API_KEY: "anthro" };
const LIMITS = { ...agentSchema.parse({}).limits, turnSeconds: 600 };

function helper(front: string, model = "openai:gpt-5"): Files {
  return { "config/agents/helper.md": `---\nmodel: ${model}\n${front}\n---\nx` };
}

async function agent(
  front: string,
  options: { readonly env?: Readonly<Record<string, string>>; readonly model?: string } = {},
): Promise<AgentDefinition> {
  const loaded = await loadYaml(WEB, {
    files: helper(front, options.model),
    env: options.env ?? KEYS,
  });
  const found = configOf(loaded).rules.agents.get("helper");
  if (found === undefined) throw new Error("there is no helper");
  return found;
}

async function faults(front: string, files: Files = {}): Promise<readonly string[]> {
  const result = await loadYaml(WEB, { files: { ...helper(front), ...files }, env: KEYS });
  return faultsOf(result).map((fault) => faultSentence(fault).replace(/^config\/agents\//, ""));
}

describe("an agent's file", () => {
  it("says what an agent has beyond a model and a prompt; AGENTS.md beside it is no agent", async () => {
    const there = await place({
      "config/perch.yaml": WEB,
      "config/agents/helper.md": [
        "---",
        "model: openai:gpt-5",
        "fallbacks: [anthropic:claude-sonnet-4-5]",
        "price: { input: 1.25, output: 10, cached: 0.125 }",
        "skills: [./skills, ../more]",
        "memory: { files: [./AGENTS.md], facts: true, quietSeconds: 10 }",
        "about: Answers.",
        "shell: true",
        "guard: ./guard.js",
        "todos: true",
        'rubric: { criteria: "Is true.", model: openai:gpt-5-mini }',
        "limits: { contextTokens: 32000 }",
        "---",
        "x",
      ].join("\n"),
      "config/agents/skills/a/SKILL.md": "x",
      "config/more/b/SKILL.md": "x",
      "config/agents/guard.js": "",
      "config/agents/AGENTS.md": "We sell shoes.",
    });
    const at = (path: string): string => join(there.folder, "config", path);
    expect([...configOf(await there.load({ env: KEYS })).rules.agents.values()]).toEqual([
      {
        name: "helper",
        prompt: "x",
        model: { provider: "openai", name: "gpt-5", apiKey: "open" },
        fallbacks: [{ provider: "anthropic", name: "claude-sonnet-4-5", apiKey: "anthro" }],
        price: { input: 1.25, output: 10, cached: 0.125 },
        files: true,
        skills: [at("agents/skills"), at("more")],
        memory: {
          files: [at("agents/AGENTS.md")],
          facts: true,
          quietSeconds: 10,
          mostSeconds: 300,
          mostFacts: 100,
        },
        about: "Answers.",
        shell: true,
        guard: at("agents/guard.js"),
        approve: { tools: [], minutes: 60 },
        todos: true,
        rubric: {
          criteria: "Is true.",
          rounds: 3,
          model: { provider: "openai", name: "gpt-5-mini", apiKey: "open" },
        },
        limits: { ...LIMITS, contextTokens: 32_000 },
      },
    ]);
  });

  it("that says nothing of it has none of it", async () => {
    expect(await agent("shell: false\ntodos: false\nbackground: false")).toEqual({
      name: "helper",
      prompt: "x",
      model: { provider: "openai", name: "gpt-5", apiKey: "open" },
      files: true,
      limits: LIMITS,
    });
  });

  it("that says which calls wait for a yes has that, with or without a guard", async () => {
    const written = "approve: { tools: [send_mail, shell], who: anyone, minutes: 5 }";
    expect((await agent(written)).approve).toEqual({
      tools: ["send_mail", "shell"],
      who: "anyone",
      minutes: 5,
    });
    expect((await agent("approve: { minutes: 5 }")).approve).toBeUndefined();
  });

  it.each([
    [
      "approvals of nobody that there is",
      "approve: { tools: [notes/*], who: admin }",
      [
        'helper.md:3 approve.who ("admin"): must be owner, asker or anyone. Known here: anyone, asker, owner.',
      ],
    ],
    [
      "approvals of a server that it has not",
      "approve: { tools: [notes/*] }",
      [
        'helper.md:3 approve.tools[0] ("notes/*"): the agent has no such server of tools. Write the server under mcp:.',
      ],
    ],
    [
      "a spare model of no provider",
      "fallbacks: [gpt-5, anthropc:x]",
      [
        'helper.md:3 fallbacks[0] ("gpt-5"): "gpt-5" does not name a provider and a model. Write provider:name, such as openai:gpt-5, or demo.',
        'helper.md:3 fallbacks[1] ("anthropc:x"): there is no provider "anthropc". Did you mean "anthropic"?',
      ],
    ],
    [
      "the demo as a spare model",
      "fallbacks: [demo]",
      [
        'helper.md:3 fallbacks[0] ("demo"): the demo model stands in for nobody. Write another model, or remove it.',
      ],
    ],
    [
      "an unknown key of a spare model",
      "fallbacks: [{ model: openai:x, baseurl: http://127.0.0.1 }]",
      ['helper.md:3 fallbacks[0].baseurl ("http://127.0.0.1"): unknown key. Did you mean "baseUrl"?'],
    ],
    [
      "a price of part of it",
      "price: { input: 1, outptu: 2 }",
      [
        "helper.md:3 price.output: is missing. Write output: with a number.",
        'helper.md:3 price.outptu (2): unknown key. Did you mean "output"?',
      ],
    ],
    [
      "paths to nothing, all of them at once",
      "skills: [./skills]\nguard: ./guard.js\nmemory: { files: [./KNOW.md] }",
      [
        'helper.md:4 guard ("./guard.js"): there is no file config/agents/guard.js. Write its path from the agent\'s own file.',
        'helper.md:3 skills[0] ("./skills"): there is no folder config/agents/skills. Write its path from the agent\'s own file.',
        'helper.md:5 memory.files[0] ("./KNOW.md"): there is no file config/agents/KNOW.md. Write its path from the agent\'s own file.',
      ],
    ],
    [
      "a wait that is longer than the longest",
      "memory: { facts: true, quietSeconds: 400 }",
      [
        "helper.md:3 memory.mostSeconds: must not be less than quietSeconds. Write more, or lower quietSeconds.",
      ],
    ],
    [
      "a key of memory that there is not",
      "memory: { fact: true }",
      ['helper.md:3 memory.fact (true): unknown key. Did you mean "facts"?'],
    ],
    [
      "subagents that are no names",
      "subagents: researcher",
      [
        'helper.md:3 subagents ("researcher"): must be names of agents. Write [researcher], or a map with agents: [researcher].',
      ],
    ],
    [
      "an unknown key of subagents",
      "subagents: { agents: [b], atonce: 2 }",
      ['helper.md:3 subagents.atonce (2): unknown key. Did you mean "atOnce"?'],
    ],
    [
      "work in the background for nobody",
      "background: true",
      [
        "helper.md:3 background (true): there is nobody to work in the background. Write subagents: with the agents that are to.",
      ],
    ],
    [
      "a rubric without criteria",
      "rubric: { rounds: 99 }",
      [
        "helper.md:3 rubric.criteria: is missing. Write criteria: with text in quotes.",
        "helper.md:3 rubric.rounds (99): must be at most 10. Write at most 10.",
      ],
    ],
  ])("is refused with %s", async (_name, front, expected) => {
    const files = { "config/agents/b.md": "x" };
    expect(await faults(front, files)).toEqual(expected);
  });

  it("with a graph of its own is refused what only our own loop does", async () => {
    const front = "graph: ./graph.js\ntodos: true\nshell: false\nmcp: []\nmemory: { facts: true }";
    expect(await faults(front, { "config/agents/graph.js": "" })).toEqual(
      ["memory", "mcp", "todos (true)"].map((key) =>
        expect.stringMatching(
          new RegExp(
            `^helper\\.md:\\d ${key.replace(/[()]/g, "\\$&")}: has no effect beside a graph of your own\\. Remove it, or remove graph`,
          ),
        ),
      ),
    );
  });
});

describe("a spare model", () => {
  it("of the agent's own provider has its address and key; one of its own has its own", async () => {
    const front = [
      "baseUrl: http://127.0.0.1:8000/v1",
      "apiKey: ${MINE}",
      "fallbacks:",
      "  - openai:small",
      "  - { model: openai:else, baseUrl: http://127.0.0.1:9000/v1 }",
      "  - { model: openai:key, apiKey: '${OTHER}' }",
      "  - anthropic:claude-sonnet-4-5",
    ].join("\n");
    const { fallbacks } = await agent(front, { env: { ...KEYS, MINE: "mine", OTHER: "other" } });
    const baseUrl = "http://127.0.0.1:8000/v1";
    expect(fallbacks).toEqual([
      { provider: "openai", name: "small", baseUrl, apiKey: "mine" },
      { provider: "openai", name: "else", baseUrl: "http://127.0.0.1:9000/v1" },
      { provider: "openai", name: "key", baseUrl, apiKey: "other" },
      { provider: "anthropic", name: "claude-sonnet-4-5", apiKey: "anthro" },
    ]);
  });

  it("without its key is not asked, and a note says so", async () => {
    const files = helper(
      "fallbacks: [anthropic:a, ollama:b]\nrubric: { criteria: c, model: google-genai:g }",
    );
    const config = configOf(await loadYaml(WEB, { files, env: { OPENAI_API_KEY: "open" } }));
    const found = config.rules.agents.get("helper");
    expect(found?.fallbacks).toEqual([{ provider: "ollama", name: "b" }]);
    expect(found?.rubric).toEqual({ criteria: "c", rounds: 3 });
    expect(config.notes.map(noteSentence)).toEqual([
      "agent helper: anthropic:a needs ANTHROPIC_API_KEY; until then it is not asked",
      "agent helper: google-genai:g needs GOOGLE_API_KEY; until then it is not asked",
    ]);
  });

  it("is nothing to the demo model, which has no facts to distil either", async () => {
    const front = "fallbacks: [anthropic:a]\nmemory: { facts: true }";
    const demo = await agent(front, { model: "demo" });
    expect(demo.fallbacks).toBeUndefined();
    expect(demo.memory?.facts).toBe(false);
  });
});

describe("the work of subagents in the background", () => {
  it.each([
    ["true", { retries: 2, retrySeconds: 30 }],
    ["{ retries: 0 }", { retries: 0, retrySeconds: 30 }],
  ])("is switched on by %s", async (written, expected) => {
    const files = { ...helper(`subagents: [b]\nbackground: ${written}`), "config/agents/b.md": "x" };
    const config = configOf(await loadYaml(WEB, { files, env: KEYS }));
    expect(config.rules.agents.get("helper")?.background).toEqual(expected);
  });
});
