import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ChatFiles } from "../../../src/agent/files/chat-files.ts";
import { frontMatterOf } from "../../../src/agent/skills/front-matter.ts";
import { Skills, skillWords } from "../../../src/agent/skills/skills.ts";
import type { AgentDefinition } from "../../../src/core/agent.ts";
import { type LoggedLine, memoryLog } from "../../support/channel-host.ts";
import type { Json } from "../../support/models/server.ts";
import { closeServers, served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const messagesIn = (body: Json = {}) => body["messages"] as readonly Json[]; // of requests to OpenAI and Ollama
const toolsIn = (body: Json = {}) => body["tools"] as readonly Json[]; // the same

describe("the head of a SKILL.md", () => {
  it.each([
    [
      "---\nname: pdf-forms\ndescription: Fills forms.\n---\nText",
      { name: "pdf-forms", description: "Fills forms." },
    ],
    [
      "\ufeff---\r\nname: a\r\ndescription: >-\r\n  Two\r\n  lines: here\r\n---\r\n",
      { name: "a", description: "Two lines: here" },
    ],
    [
      '---\nname: a\ndescription: "costs $& [x]"\nallowed-tools: Bash\nmetadata: { a: 1 }\n---',
      { name: "a", description: "costs $& [x]" },
    ],
    [
      `---\nname: ${"a".repeat(64)}\ndescription: ${"b".repeat(1_024)}\n---`,
      { name: "a".repeat(64), description: "b".repeat(1_024) },
    ],
    ["name: a\ndescription: b", { wrong: "has no front matter between two lines of --- at its head" }],
    ["---\nname: a\ndescription: b", { wrong: "has no front matter between two lines of --- at its head" }],
    ["---\nname: [a\n---", { wrong: "has front matter that is not YAML" }],
    ["---\na: &a [x]\nb: *a\nname: x\ndescription: y\n---", { wrong: "has front matter that is not YAML" }],
    ["---\njust words\n---", { wrong: "has front matter without a name" }],
    ["---\nname: a\n---", { wrong: "has no description" }],
    ["---\nname: a\ndescription: '  '\n---", { wrong: "has no description" }],
    [
      `---\nname: a\ndescription: ${"b".repeat(1_025)}\n---`,
      { wrong: "has a description of over 1024 characters" },
    ],
  ])("%# is read, or refused with a part of a sentence", (text, read) => {
    expect(frontMatterOf(text)).toEqual(read);
  });

  it.each(["PDF", "a b", "../x", "a--b", "-a", "a/b", "7", "a".repeat(65), "a\\nb"])(
    "has no name such as %j",
    (name) => {
      expect(
        frontMatterOf(`---\nname: ${name === "7" ? 7 : JSON.stringify(name)}\ndescription: b\n---`),
      ).toMatchObject({
        wrong: expect.stringContaining("needs a name of small letters"),
      });
    },
  );
});

async function setUp() {
  const root = await mkdtemp(join(tmpdir(), "perch-skills-"));
  const logged: LoggedLine[] = [];
  const folders = [join(root, "shared"), join(root, "own")];
  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text);
  };
  for (const folder of folders) await mkdir(folder, { recursive: true });
  const skills = new Skills({ skills: folders }, memoryLog(logged));
  const named = async () => (await skills.found()).map(({ name, description }) => `${name}: ${description}`);
  return { root, folders, skills, named, put, logged };
}

const skill = (name: string, description: string, text = "") =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${text}`;

describe("skills", () => {
  it("are found in all folders, the later of a name first, by name, and again when they change", async () => {
    const { named, put, root, skills } = await setUp();
    await put("shared/pdf/SKILL.md", skill("pdf", "Of all."));
    await put("shared/csv/SKILL.md", skill("csv", "Tables."));
    await put("shared/readme.txt", "no skill");
    await put("shared/empty/other.md", "no skill");
    await put("own/pdf/SKILL.md", skill("pdf", "My own."));
    expect(await named()).toEqual(["csv: Tables.", "pdf: My own."]);
    const words = skillWords(await skills.found());
    expect(skillWords(await skills.found())).toBe(words);
    await put("own/pdf/SKILL.md", skill("pdf", "Newer."));
    await put("own/xls/SKILL.md", skill("xls", "Sheets."));
    await rm(join(root, "shared/csv"), { recursive: true });
    expect(await named()).toEqual(["pdf: Newer.", "xls: Sheets."]);
  });

  it("that are broken are named, in the log once for each change, and are never fatal", async () => {
    const { named, put, skills, logged, root } = await setUp();
    await put("shared/pdf/SKILL.md", skill("pdf", "Fine."));
    await put("shared/bad/SKILL.md", "nothing");
    await put("shared/huge/SKILL.md", skill("huge", "Too much."));
    await truncate(join(root, "shared/huge/SKILL.md"), 10 * 1_024 * 1_024 + 1);
    await put("secret/SKILL.md", skill("secret", "SECRET"));
    await symlink(join(root, "secret"), join(root, "shared/linked"));
    await mkdir(join(root, "shared/file-link"));
    await symlink(join(root, "secret/SKILL.md"), join(root, "shared/file-link/SKILL.md"));
    await rm(join(root, "own"), { recursive: true });
    for (let times = 0; times < 2; times += 1) expect(await named()).toEqual(["pdf: Fine."]);
    expect(skills.unavailable).toEqual([
      "skill bad",
      "skill file-link",
      "skill huge",
      "skill linked",
      "folder of skills own",
    ]);
    expect(logged.map(({ fields }) => fields["skills"])).toEqual([
      [
        "the skill bad has no front matter between two lines of --- at its head",
        "the skill file-link is led out of its folder by a link",
        "the skill huge is over 10.5 MB",
        "the skill linked is led out of its folder by a link",
        "the folder of skills own cannot be read",
      ],
    ]);
    expect(skillWords([])).toBe("");
    await put("shared/bad/SKILL.md", skill("bad", "Good now."));
    expect(await named()).toEqual(["bad: Good now.", "pdf: Fine."]);
    expect(logged).toHaveLength(2);
  });
});

describe("the files of a skill", () => {
  async function files() {
    const made = await setUp();
    await made.put("shared/pdf/SKILL.md", skill("pdf", "Fills forms.", "See forms/a.md."));
    await made.put("shared/pdf/forms/a.md", "the form\n");
    await made.put("secret.md", "SECRET");
    await symlink(join(made.root, "secret.md"), join(made.root, "shared/pdf/link.md"));
    await symlink("forms/a.md", join(made.root, "shared/pdf/inner.md"));
    const chat = join(made.root, "7");
    await mkdir(chat);
    const found = await made.skills.found();
    return {
      ...made,
      chat,
      files: new ChatFiles(chat, new Map(found.map(({ name, folder }) => [name, folder]))),
    };
  }

  it("are listed, read, found and searched at /skills, and lead nowhere else", async () => {
    const { files: there } = await files();
    const paths = async (path: string) => (await there.ls(path)).files?.map((file) => file.path);
    expect(await paths("/")).toContain("/skills/");
    expect(await paths("/skills")).toEqual(["/skills/pdf/"]);
    expect(await paths("/skills/pdf")).toEqual([
      "/skills/pdf/SKILL.md",
      "/skills/pdf/forms/",
      "/skills/pdf/inner.md",
    ]);
    expect(await paths("/skills/other")).toEqual([]);
    expect(await there.lines("/skills/pdf/forms/a.md", 0, 10)).toMatchObject({ rows: ["the form"] });
    expect((await there.glob("**/*.md", "/skills")).files?.map(({ path }) => path)).toEqual([
      "/skills/pdf/SKILL.md",
      "/skills/pdf/forms/a.md",
    ]);
    expect((await there.glob("pdf/forms/*", "/skills")).files).toHaveLength(1);
    expect((await there.grep("form", "/skills/pdf")).matches?.map(({ path }) => path)).toEqual([
      "/skills/pdf/SKILL.md",
      "/skills/pdf/SKILL.md",
      "/skills/pdf/forms/a.md",
    ]);
    for (const path of ["link.md", "../../secret.md", "forms/../../../secret.md"])
      expect(await there.lines(`/skills/pdf/${path}`, 0, 10)).toEqual({
        error: `there is no file /skills/pdf/${path}`,
      });
    expect((await there.grep("SECRET", "/skills")).matches).toEqual([]);
    // A search of the chat is one of the chat alone.
    expect((await there.glob("**/*", "/")).files).toEqual([]);
  });

  it("are told of in the prompt, stably, and read by the agent, which cannot write them", async () => {
    const { folders, chat, put } = await files();
    const { server, runner, agent } = await served("openai", {
      files: true,
      prompt: "You help.",
      skills: folders,
    });
    const run = (id: string, of: AgentDefinition = agent) =>
      runner.run({ ...turn(of, id, "fill it"), folder: chat }, new AbortController().signal);
    server.reply(
      { toolCalls: [{ name: "read_file", args: { file_path: "/skills/pdf/SKILL.md" } }] },
      { toolCalls: [{ name: "write_file", args: { file_path: "/skills/pdf/SKILL.md", content: "x" } }] },
      {
        toolCalls: [
          {
            name: "edit_file",
            args: { file_path: "/skills/pdf/SKILL.md", old_string: "See", new_string: "x" },
          },
        ],
      },
      "done",
      "again",
    );
    await run("1");
    const said = (request: number): readonly Json[] =>
      server.requests[request]?.body["messages"] as readonly Json[]; // of a chat request
    const results = said(3).flatMap(({ role, content }) => (role === "tool" ? [String(content)] : []));
    expect(results[0]).toContain("See forms/a.md.");
    expect(results[1]).toContain("permission denied");
    expect(results[2]).toContain("permission denied");
    const system = (request: number): unknown => said(request)[0]?.["content"];
    expect(system(0)).toContain("- pdf: Fills forms. (/skills/pdf/SKILL.md)");
    expect(system(0)).not.toContain("See forms/a.md.");
    for (const request of [1, 2, 3]) expect(system(request)).toBe(system(0));
    await put("shared/pdf/SKILL.md", skill("pdf", "Fills $& forms."));
    await run("2");
    expect(system(4)).toContain("- pdf: Fills $& forms. (");
  });

  it("that are broken are named where the agent is told where it is, from its first message on", async () => {
    const { folders, chat, put } = await files();
    await put("own/bad/SKILL.md", "nothing");
    const { server, runner, agent } = await served("openai", { files: true, skills: folders });
    const local = { kind: "toy", chat: "private", people: [], timeZone: "UTC", now: 0 } as const;
    await runner.run({ ...turn(agent, "1", "hi"), folder: chat, local }, new AbortController().signal);
    const words = JSON.stringify(messagesIn(server.requests[0]?.body)).replaceAll(String.raw`\"`, '"');
    expect(words).toMatch(/failed to load[^;]*"skill bad"/);
  });

  it("are all that an agent without files of its chat can read", async () => {
    const { folders, chat } = await files();
    await mkdir(join(chat, "uploads"));
    await writeFile(join(chat, "uploads", "a.txt"), "SECRET");
    const { server, runner, agent } = await served("openai", { skills: folders });
    const calls = [
      { name: "read_file", args: { file_path: "/skills/pdf/SKILL.md" } },
      { name: "read_file", args: { file_path: "/uploads/a.txt" } },
      { name: "ls", args: { path: "/uploads" } },
      { name: "grep", args: { pattern: "SECRET", path: "/" } },
      { name: "glob", args: { pattern: "**/*", path: "/" } },
      { name: "ls", args: {} },
    ];
    server.reply({ toolCalls: calls }, "done");
    await runner.run({ ...turn(agent, "1", "go"), folder: chat }, new AbortController().signal);
    const body = JSON.stringify(server.requests[1]?.body["messages"]);
    expect(body).toContain("See forms/a.md.");
    expect(body).not.toContain("SECRET\\n");
    expect(body).not.toContain("a.txt (");
    const names = toolsIn(server.requests[0]?.body).map((each) => (each["function"] as Json)["name"]); // of a chat request
    expect(names).toEqual(["ls", "read_file", "glob", "grep"]);
    const results = messagesIn(server.requests[1]?.body).flatMap(({ role, content }) =>
      role === "tool" ? [String(content)] : [],
    );
    expect(results.slice(1)).toEqual([
      "Error: permission denied for read on /uploads/a.txt",
      "Error: permission denied for read on /uploads",
      expect.stringContaining("No matches"),
      expect.stringContaining("No files"),
      "/skills/ (directory)",
    ]);
  });

  it("are not told of to a model that takes no tools, which is told the rest", async () => {
    const { folders, chat, put, root } = await files();
    await put("AGENTS.md", "Speak of herons.");
    const notes = {
      files: [join(root, "AGENTS.md")],
      facts: false,
      quietSeconds: 30,
      mostSeconds: 300,
      mostFacts: 10,
    };
    const { server, runner, agent } = await served("ollama", {
      prompt: "You help.",
      files: true,
      skills: folders,
      memory: notes,
    });
    const none = "registry.ollama.ai/library/gemma3:4b does not support tools";
    server.reply(({ body }) => (body["tools"] ? { fault: "status", status: 400, message: none } : "hello"));
    await runner.run({ ...turn(agent, "1", "hello"), folder: chat }, new AbortController().signal);
    const [system] = messagesIn(server.requests.at(-1)?.body);
    expect(system?.["content"]).toMatch(/^You help\.\n\nFor reference, from "AGENTS\.md"/);
    expect(JSON.stringify(system)).not.toContain("/skills/");
  });
});
