import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { operatorFolder, spawnPerch } from "../support/perch-process.ts";

const ROOT = join(import.meta.dirname, "../..");

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function perch(
  files: Readonly<Record<string, string>>,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly lines: readonly string[] }> {
  const folder = await operatorFolder(files);
  cleanups.push(folder.remove);
  const { ended, output } = spawnPerch({ folder: folder.path, args, env });
  const code = await ended;
  return { code, lines: output().trimEnd().replaceAll(folder.path, "HERE").split("\n") };
}

const HELPER = { "config/agents/helper.md": "---\nmodel: openai:gpt-5\n---\nBe brief.\n" };

describe("perch check", () => {
  it("prints for each channel and chat who answers, with which model, by which rules", async () => {
    const files = {
      ...HELPER,
      "config/agents/editor.md": "---\nmodel: ollama:llama3:8b\nbaseUrl: http://127.0.0.1:1\n---\nEdit.\n",
      "config/agents/coder.md": "---\ngraph: ./coder.js\n---\n",
      "config/agents/coder.js": "export default 1;\n",
      "config/perch.yaml": `
channels:
  web: { kind: web }
  family:
    kind: telegram
    token: \${FAMILY_TOKEN}
    owner: "123456789"
    allow: ["234567890", "345678901"]
    deny: ["456789012"]
    chats:
      "-100987": { agent: editor, when: all, topics: { "7": { agent: coder, when: none }, "8": {} } }
      "-100988": { senders: { "123456789": { agent: coder } } }
  club: { kind: telegram, token: "\${CLUB_TOKEN}", open: true, acknowledge: allow-arbitrary-senders, agent: editor }
`,
    };
    const env = {
      FAMILY_TOKEN: "6900000001:AAEmulatedTokenForTests_0123456789abc",
      OPENAI_API_KEY: "a key",
    };
    expect(await perch(files, ["check"], env)).toEqual({
      code: 0,
      lines: [
        "HERE/config/perch.yaml is sound.",
        "",
        "web (web)",
        "  who may talk: its owner",
        "  everywhere: helper (openai:gpt-5)",
        "",
        "family (telegram)",
        "  who may talk: its owner, 2 more who are listed, not 1 who are denied",
        "  everywhere: helper (openai:gpt-5)",
        "  chat -100987: editor (ollama:llama3:8b), answers all",
        "    topic 7: coder (a graph of its own), answers none",
        "    topic 8: editor (ollama:llama3:8b), answers all",
        "  chat -100988: helper (openai:gpt-5), answers addressed",
        "    sender 123456789: coder (a graph of its own)",
        "",
        "club (telegram, off until CLUB_TOKEN is set)",
        "  who may talk: nobody owns it yet, everybody (at most 20 turns an hour each)",
        "  everywhere: editor (ollama:llama3:8b)",
      ],
    });
  });

  it("says which model is meant where its key is missing", async () => {
    const { code, lines } = await perch(
      { ...HELPER, "config/perch.yaml": "channels: { web: { kind: web } }\n" },
      ["check"],
    );
    expect(code).toBe(0);
    expect(lines).toContain("  everywhere: helper (demo:demo)");
    expect(lines.at(-1)).toBe(
      "agent helper: openai:gpt-5 needs OPENAI_API_KEY; until then the demo model answers",
    );
  });

  it("lists eight faults of two files at once, each with its place, value and remedy, and ends with 2", async () => {
    const files = {
      "config/agents/helper.md": "---\nmodel: opnai:gpt-5\n---\nBe brief.\n",
      "config/perch.yaml": `
channels:
  web: { kind: wep }
  family:
    kind: telegram
    token: \${TOKEN}
    alow: ["123456789"]
    strangers: rude
    open: true
    agent: helpr
htpp: {}
turns: { graceSeconds: 601 }
`,
    };
    const { code, lines } = await perch(files, ["check"], { TOKEN: `6900000001:${"a".repeat(35)}` });
    expect(code).toBe(2);
    expect(lines).toEqual([
      'config/perch.yaml:3 channels.web.kind ("wep"): there is no such kind of channel. Did you mean "web"?',
      'config/perch.yaml:7 channels.family.alow: unknown key. Did you mean "allow"?',
      'config/perch.yaml:8 channels.family.strangers ("rude"): must be silent, polite or pair. Known here: pair, polite, silent.',
      "config/perch.yaml:9 channels.family.open (true): anybody could use the agent, its tools and your model's budget. Write acknowledge: allow-arbitrary-senders beside it, or allow: with the people you mean.",
      'config/perch.yaml:10 channels.family.agent ("helpr"): there is no such agent. Did you mean "helper"?',
      'config/perch.yaml:11 htpp: unknown key. Did you mean "http"?',
      "config/perch.yaml:12 turns.graceSeconds (601): must be at most 600 seconds. Write at most 600.",
      'config/agents/helper.md:2 model ("opnai:gpt-5"): there is no provider "opnai". Did you mean "openai"?',
      "8 faults.",
    ]);
  });
});

describe("perch", () => {
  it("prints the schema that editors are given", async () => {
    const { code, lines } = await perch({}, ["schema"]);
    expect(code).toBe(0);
    expect(JSON.parse(lines.join("\n"))).toEqual(
      JSON.parse(await readFile(join(ROOT, "config/perch.schema.json"), "utf8")),
    );
  });

  it.each([["--help"], ["-h"]])("says with %s what it can do", async (flag) => {
    const { code, lines } = await perch({}, [flag]);
    expect(code).toBe(0);
    for (const command of [
      "start",
      "check",
      "why",
      "people",
      "pair",
      "queue",
      "schedules",
      "schema",
      "--config <file>",
    ])
      expect(lines.join("\n")).toContain(command);
  });

  it("says that there is no such command, and what there is", async () => {
    const { code, lines } = await perch({}, ["chekc"]);
    expect(code).toBe(1);
    expect(lines[0]).toBe('There is no command "chekc".');
    expect(lines).toContain("perch queue [retry <number>]");
  });

  it("reads the file that it is told to", async () => {
    const { code, lines } = await perch({ ...HELPER, "elsewhere.yaml": "chanels: {}\n" }, [
      "check",
      "--config",
      "elsewhere.yaml",
    ]);
    expect(code).toBe(2);
    expect(lines[0]).toMatch(/^elsewhere\.yaml:1 /);
  });

  it("tells the faults of a configuration that a command cannot work with", async () => {
    const { code, lines } = await perch(
      { ...HELPER, "config/perch.yaml": "channels: { web: { kind: wep } }\n" },
      ["why"],
    );
    expect(code).not.toBe(0);
    expect(lines).toEqual([
      'config/perch.yaml:1 channels.web.kind ("wep"): there is no such kind of channel. Did you mean "web"?',
      "1 fault.",
    ]);
  });
});
