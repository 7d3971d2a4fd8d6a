import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

import { faultSentence } from "../../src/config/faults.ts";
import { configOf, faultsOf, loadYaml, place } from "./support.ts";
import type { Files } from "./support.ts";

const WEB = "channels:\n  web: { kind: web }\n";

async function faults(helper: string, files: Files = {}): Promise<readonly string[]> {
  const result = await loadYaml(WEB, { files: { "config/agents/helper.md": helper, ...files } });
  return faultsOf(result).map((fault) => faultSentence(fault).replace(/^config\/agents\//, ""));
}

describe("an agent's file", () => {
  it.each([
    ["a pipe", (path: string) => execFileSync("mkfifo", [path]), "this is no regular file"],
    ["a link to a device", (path: string) => symlinkSync("/dev/null", path), "this is no regular file"],
    ["a folder", (path: string) => mkdirSync(path), "this is a folder"],
  ])("is not waited for where it is %s", async (_what, make, problem) => {
    const there = await place({
      "config/perch.yaml": WEB,
      "config/agents/helper.md": "---\nmodel: demo\n---\nHi.",
    });
    make(join(there.folder, "config/agents/odd.md"));
    expect(faultsOf(await there.load()).map(faultSentence)).toEqual([
      `config/agents/odd.md: ${problem}. Make it a file, or take it out.`,
    ]);
  });

  it("becomes the agent: front matter above, prompt below", async () => {
    const there = await place({
      "config/perch.yaml": `${WEB}turns: { timeoutSeconds: 90 }\n`,
      "config/agents/helper.md": [
        "---",
        "model: ollama:llama3:8b",
        "baseUrl: http://127.0.0.1:11434",
        "assets: ../pictures",
        "choices: true",
        "graph: ./graph.js",
        "limits: { messages: 5 }",
        "---",
        "",
        "You help.",
        "---",
        "Briefly.",
        "",
      ].join("\r\n"),
      "config/agents/graph.js": "export default {};",
      "config/pictures/cat.txt": "",
      "config/agents/.draft.md": "not an agent",
    });
    expect([...configOf(await there.load()).rules.agents.values()]).toEqual([
      {
        name: "helper",
        prompt: "You help.\n---\nBriefly.",
        model: { provider: "ollama", name: "llama3:8b", baseUrl: "http://127.0.0.1:11434" },
        graph: join(there.folder, "config/agents/graph.js"),
        assets: join(there.folder, "config/pictures"),
        files: true,
        choices: true,
        limits: { messages: 5, characters: 400_000, mediaTurns: 3, turnSeconds: 90 },
      },
    ]);
  });

  it("may be a prompt alone", async () => {
    const config = configOf(await loadYaml(WEB, { files: { "config/agents/helper.md": "You help." } }));
    expect(config.rules.agents.get("helper")).toMatchObject({
      prompt: "You help.",
      model: { provider: "demo", name: "demo" },
      limits: { turnSeconds: 600 },
    });
  });

  it.each([
    ["an unknown key", "---\nlimts: {}\n---\nx", ['helper.md:2 limts: unknown key. Did you mean "limits"?']],
    [
      "a wrong type",
      "---\nlimits:\n  messages: all\n---\nx",
      ['helper.md:3 limits.messages ("all"): must be a number. Write a number.'],
    ],
    [
      "a transcriber that is not told of the sound",
      "---\ntranscriber:\n  use: command\n  command: [whisper-cli, -nt]\n---\nx",
      [
        'helper.md:4 transcriber.command: a command has to be told where the sound is. Put "{file}" among its arguments.',
      ],
    ],
    [
      "an unknown key of a transcriber, among those of its use",
      "---\ntranscriber: { use: openai, modle: x, comand: [x] }\n---\nx",
      [
        'helper.md:2 transcriber.modle ("x"): unknown key. Did you mean "model"?',
        "helper.md:2 transcriber.comand: unknown key. Known here: apiKey, baseUrl, language, model, use.",
      ],
    ],
    [
      "a transcriber of no use",
      "---\ntranscriber: { use: whisper }\n---\nx",
      [
        'helper.md:2 transcriber.use ("whisper"): a transcriber is a server or a program. Write use: openai, or use: command.',
      ],
    ],
    [
      "no provider",
      "---\nmodel: gpt-5\n---\nx",
      [
        'helper.md:2 model ("gpt-5"): "gpt-5" does not name a provider and a model. Write provider:name, such as openai:gpt-5, or demo.',
      ],
    ],
    [
      "an unknown provider",
      "---\nmodel: google:gemini\n---\nx",
      ['helper.md:2 model ("google:gemini"): there is no provider "google". Did you mean "google-genai"?'],
    ],
    [
      "no graph file",
      "---\ngraph: ./no.js\n---\nx",
      [
        'helper.md:2 graph ("./no.js"): there is no file config/agents/no.js. Write its path from the agent\'s own file.',
      ],
    ],
    [
      "no assets folder",
      "---\nassets: helper.md\n---\nx",
      [
        'helper.md:2 assets ("helper.md"): there is no folder config/agents/helper.md. Write its path from the agent\'s own file.',
      ],
    ],
    [
      "an unset variable",
      "---\napiKey: ${NONE}\n---\nx",
      ["helper.md:2 apiKey: NONE is not set. Set NONE in .env, or write ${NONE:-default}."],
    ],
    [
      "a key as text",
      "---\napiKey: hunter2hunter2\n---\nx",
      [
        "helper.md:2 apiKey: a secret stands in the file itself. Put it into .env as NAME=…, and write ${NAME} here, without a default.",
      ],
    ],
    [
      "no end of the front matter",
      "---\nmodel: demo\n\nYou help.\n",
      ["helper.md:1: the front matter that begins here has no end. Put a line of --- after it."],
    ],
    [
      "broken YAML",
      "---\nmodel: demo\na: [\n---\nx",
      [
        "helper.md:3: not valid YAML: flow sequence in block collection must be sufficiently indented and end with a ]. Look at this line and the one above: spaces indent, and text with special characters stands in quotes.",
      ],
    ],
    [
      "no prompt",
      "---\nmodel: demo\n---\n\n",
      [
        "helper.md: there is no prompt below the front matter. Write there who the agent is and what it does.",
      ],
    ],
  ])("is refused with %s", async (_name, text, expected) => {
    expect(await faults(text)).toEqual(expected);
  });

  it("is refused for its name", async () => {
    expect(await faults("x", { "config/agents/My Agent.md": "x" })).toEqual([
      "My Agent.md: the file's name is its agent's, and a name is 1–40 lower-case letters, digits and hyphens, and begins with a letter. Rename the file, or keep it in another folder.",
    ]);
  });

  it("is asked for where the folder holds none", async () => {
    const there = await place({ "config/perch.yaml": WEB, "config/agents/graph.js": "" });
    expect(faultsOf(await there.load()).map(faultSentence)).toEqual([
      "config/agents: the folder holds no agents. Put one into it: helper.md.",
    ]);
  });

  it("that stands in by default is missed only where a channel needs it", async () => {
    const there = await place({
      "config/perch.yaml": "channels:\n  a: { kind: web, agent: coder }\n",
      "config/agents/coder.md": "x",
    });
    expect(faultsOf(await there.load())).toEqual([]);
    await there.write({ "config/perch.yaml": "channels:\n  a: { kind: web }\n" });
    expect(faultsOf(await there.load()).map(faultSentence)).toEqual([
      'config/perch.yaml:2 channels.a.agent: is missing, and there is no agent "helper" to stand in. Write one of: coder.',
    ]);
  });
});

describe("a model's key", () => {
  it.each([
    ["openai:gpt-5", "OPENAI_API_KEY"],
    ["anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"],
    ["google-genai:gemini-2.5-pro", "GOOGLE_API_KEY"],
  ])(
    "of %s comes from %s; without it the demo model answers, and a note says so",
    async (model, variable) => {
      const files = { "config/agents/helper.md": "---\nmodel: ${PERCH_MODEL:-demo}\n---\nx" };
      const [provider, name] = model.split(":");
      const set = configOf(await loadYaml(WEB, { files, env: { PERCH_MODEL: model, [variable]: "k" } }));
      expect(set.rules.agents.get("helper")?.model).toEqual({ provider, name, apiKey: "k" });
      expect(set.notes).toEqual([]);

      const unset = configOf(await loadYaml(WEB, { files, env: { PERCH_MODEL: model } }));
      expect(unset.rules.agents.get("helper")?.model).toEqual({ provider: "demo", name: "demo" });
      expect(unset.notes).toEqual([{ agent: "helper", wanted: model, set: [variable] }]);
    },
  );

  it("is not sent to another address than the provider's own", async () => {
    const files = {
      "config/agents/helper.md": "---\nmodel: openai:local\nbaseUrl: http://127.0.0.1:8000/v1\n---\nx",
    };
    const config = configOf(await loadYaml(WEB, { files, env: { OPENAI_API_KEY: "k" } }));
    expect(config.rules.agents.get("helper")?.model).toEqual({
      provider: "openai",
      name: "local",
      baseUrl: "http://127.0.0.1:8000/v1",
    });
    expect(config.notes).toEqual([]);
  });
});
