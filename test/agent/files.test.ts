import { execFileSync } from "node:child_process";
import { link, mkdir, mkdtemp, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ChatFiles } from "../../src/agent/files/chat-files.ts";
import type { AgentAnswer } from "../../src/core/agent.ts";
import type { Json } from "../support/models/server.ts";
import { medium } from "./media-blocks.ts";
import { closeServers, served, type Served, type WireName } from "./model-servers.ts";
import { definition, turn } from "./set-up.ts";

afterEach(closeServers);

type WithFolder = Served & {
  readonly folder: string;
  /** What a tool gives when the model calls it. */
  readonly use: (name: string, args: Json) => Promise<string>;
  readonly run: (id: string, said: string) => Promise<AgentAnswer>;
};

/** An agent with file tools and a chat's folder in which three things were sent. */
async function setUp(wire: WireName = "openai"): Promise<WithFolder> {
  const folder = join(await mkdtemp(join(tmpdir(), "perch-agent-")), "7");
  await mkdir(join(folder, "uploads"), { recursive: true });
  await writeFile(join(folder, "uploads", "poem.txt"), "The heron\nstands\nin the pond.\n");
  await writeFile(join(folder, "uploads", "my notes (2).txt"), "eggs\n");
  await writeFile(
    join(folder, "uploads", "photo.jpg"),
    Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 74, 70, 73, 70]),
  );
  const told = await served(wire, { files: true });
  const run = (id: string, said: string): Promise<AgentAnswer> =>
    told.runner.run({ ...turn(told.agent, id, said), folder }, new AbortController().signal);
  let turns = 0;
  return {
    ...told,
    folder,
    run,
    async use(name, args) {
      turns += 1;
      told.server.reply({ toolCalls: [{ name, args, id: `call_${turns}` }] }, "done");
      await run(`use-${turns}`, "use it");
      return resultIn(told.server.requests.at(-1)?.body ?? {});
    },
  };
}

/** The newest result of a tool in a chat request. */
function resultIn(body: Json): string {
  const messages = body["messages"] as readonly Json[]; // of a chat request
  const content = messages.findLast(({ role }) => role === "tool")?.["content"];
  expect(typeof content, "results are text").toBe("string");
  return String(content);
}

describe("the files of a chat", () => {
  it("are listed, the agent's folders among them, which nobody else on the machine looks into", async () => {
    const { use, folder } = await setUp();
    expect(await use("ls", {})).toBe("/outputs/ (directory)\n/uploads/ (directory)\n/workspace/ (directory)");
    expect((await use("ls", { path: "/uploads" })).split("\n")).toEqual([
      "/uploads/my notes (2).txt (5 bytes)",
      "/uploads/photo.jpg (10 bytes)",
      "/uploads/poem.txt (30 bytes)",
    ]);
    expect((await stat(join(folder, "outputs"))).mode & 0o777).toBe(0o700);
  });

  it("are read in lines, from an offset on", async () => {
    const { use } = await setUp();
    expect(await use("read_file", { file_path: "/uploads/poem.txt" })).toBe(
      "@@ lines 1-3 of 3 @@\nThe heron\nstands\nin the pond.",
    );
    expect(await use("read_file", { file_path: "/uploads/poem.txt", offset: 1, limit: 1 })).toBe(
      "@@ lines 2-2 of 3 | next offset 2 @@\nstands",
    );
    expect(await use("read_file", { file_path: "/uploads/poem.txt", offset: 3 })).toBe(
      "Error: /uploads/poem.txt has 3 lines; there is none at offset 3",
    );
    expect(await use("read_file", { file_path: "/uploads/my notes (2).txt" })).toContain("eggs");
  });

  it("are read to their end in steps, each of bounded length, also where they are one endless line", async () => {
    const { use, folder } = await setUp();
    const letters = Array.from({ length: 30_000 }, (_, at) => String(at)).join("🦊");
    await writeFile(join(folder, "uploads", "line.json"), letters);
    let read = "";
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const result = await use("read_file", { file_path: "/uploads/line.json", offset, limit: 1000 });
      expect(result.length).toBeLessThan(20_000);
      const [head = "", ...rows] = result.split("\n");
      read += rows.join("");
      const next = /next offset (\d+)/.exec(head)?.[1];
      offset = next === undefined ? undefined : Number(next);
    }
    expect(read).toBe(letters);
  });

  it("are written, edited, found and searched", async () => {
    const { use, folder } = await setUp();
    expect(
      await use("write_file", { file_path: "/outputs/new/prices.csv", content: "eggs,2\nmilk,1\n" }),
    ).toBe("Successfully wrote to '/outputs/new/prices.csv'");
    await use("edit_file", {
      file_path: "/outputs/new/prices.csv",
      old_string: "eggs,2",
      new_string: "eggs,3",
    });
    expect(await readFile(join(folder, "outputs/new/prices.csv"), "utf8")).toBe("eggs,3\nmilk,1\n");
    expect(await use("glob", { pattern: "**/*.csv" })).toBe("/outputs/new/prices.csv");
    expect(await use("grep", { pattern: "eggs" })).toBe(
      "/outputs/new/prices.csv:\n  1: eggs,3\n/uploads/my notes (2).txt:\n  1: eggs",
    );
    expect(await use("grep", { pattern: "heron", path: "/uploads/poem.txt" })).toContain("1: The heron");
  });

  it("that are no text are named, and their text beside them", async () => {
    const { use, folder } = await setUp();
    expect(await use("read_file", { file_path: "/uploads/photo.jpg" })).toBe(
      "Error: /uploads/photo.jpg is no text (10 bytes); what is known of it was shown to you with the message that brought it",
    );
    await writeFile(join(folder, "uploads", "brief.docx"), Buffer.from([0x50, 0x4b, 3, 4, 0xff, 0xfe]));
    await writeFile(join(folder, "uploads", "brief.docx.txt"), "Dear reader");
    expect(await use("read_file", { file_path: "/uploads/brief.docx" })).toContain(
      "is no text (6 bytes); its text is in /uploads/brief.docx.txt",
    );
    expect(await use("grep", { pattern: "PK" })).toContain("No matches");
    await writeFile(join(folder, "uploads", "empty.txt"), "");
    expect(await use("read_file", { file_path: "/uploads/empty.txt" })).toBe(
      "Error: /uploads/empty.txt is empty",
    );
  });

  it.each<[string, Json]>([
    ["write_file", { file_path: "/uploads/poem.txt", content: "gone" }],
    ["edit_file", { file_path: "/uploads/poem.txt", old_string: "heron", new_string: "crow" }],
    ["write_file", { file_path: "/elsewhere.txt", content: "x" }],
  ])("that people sent are not touched, and nothing is put beside the folders: %s", async (name, args) => {
    const { use, folder } = await setUp();
    expect(await use(name, args)).toContain("permission denied");
    expect(await readFile(join(folder, "uploads/poem.txt"), "utf8")).toContain("heron");
    expect(await readdir(folder)).not.toContain("elsewhere.txt");
  });
});

describe("what lies outside of a chat's folder", () => {
  const SECRET = "TOP-SECRET-4271";

  async function beside(): Promise<WithFolder> {
    const there = await setUp();
    const { folder } = there;
    await writeFile(join(folder, "..", "secret.txt"), SECRET);
    await mkdir(join(folder, "..", "72", "uploads"), { recursive: true });
    await writeFile(join(folder, "..", "72", "uploads", "secret.txt"), SECRET);
    await mkdir(join(folder, "outputs"));
    await symlink(join(folder, "..", "secret.txt"), join(folder, "outputs", "link.txt"));
    await symlink(join(folder, ".."), join(folder, "outputs", "up"));
    return there;
  }

  const OUTSIDE = [
    "../secret.txt",
    "/../secret.txt",
    "/uploads/../../secret.txt",
    "/outputs/link.txt",
    "/outputs/up/secret.txt",
    "/uploads/..%2f..%2fsecret.txt",
    "~/secret.txt",
    "/etc/hostname",
    "/proc/self/environ",
    String.raw`/uploads\..\..\secret.txt`,
    "/uploads/poem.txt\0/../../secret.txt",
  ];

  it.each(OUTSIDE)("is neither read nor searched: %s", async (path) => {
    const { use } = await beside();
    for (const [tool, args] of [
      ["read_file", { file_path: path }],
      ["ls", { path }],
      ["grep", { pattern: "TOP", path }],
      ["glob", { pattern: "**/*", path }],
    ] as const) {
      const result = await use(tool, args);
      expect(result).not.toContain(SECRET);
      expect(result).not.toContain("72/");
    }
  });

  it.each(OUTSIDE)("is neither written nor edited: %s", async (path) => {
    const { use, folder } = await beside();
    await use("write_file", { file_path: path, content: "written" });
    await use("edit_file", { file_path: path, old_string: SECRET, new_string: "edited" });
    expect(await readFile(join(folder, "..", "secret.txt"), "utf8")).toBe(SECRET);
    expect((await readdir(join(folder, ".."))).toSorted()).toEqual(["7", "72", "secret.txt"]);
  });

  it.each(["../**/*.txt", "/../**/*", "uploads/../../*", "{..,uploads}/*", "**/*secret*", "up/**"])(
    "is not found: %s",
    async (pattern) => {
      const { use } = await beside();
      expect(await use("glob", { pattern })).not.toMatch(/(^|\/)(72\/|secret)/m);
      expect(await use("grep", { pattern: "TOP", glob: pattern })).not.toContain(SECRET);
    },
  );

  it("is not listed by a pattern, though a folder of such a name is allowed", async () => {
    const { folder } = await beside();
    const files = new ChatFiles(folder);
    expect(await files.glob("../../uploads/*")).toEqual({ files: [] });
    expect(await files.glob("*", "/../72")).toEqual({ files: [] });
    expect(await files.glob("{a,b}".repeat(22))).toEqual({
      error: "a pattern has at most 200 characters and few {,}",
    });
  });

  it("does not grow without end by being edited", async () => {
    const { use } = await setUp();
    const edit = { file_path: "/workspace/a.txt", old_string: "a", replace_all: true };
    await use("write_file", { file_path: edit.file_path, content: "a".repeat(1_000) });
    expect(await use("edit_file", { ...edit, new_string: "aa" })).not.toContain("too large");
    expect(await use("edit_file", { ...edit, new_string: "a".repeat(10_000) })).toContain(
      "/workspace/a.txt could become larger than 10 MB, too large to be edited",
    );
  });

  it("is not told of in what goes wrong", async () => {
    const { use, folder } = await setUp();
    const wrong = [
      await use("read_file", { file_path: "/uploads/none.txt" }),
      await use("write_file", { file_path: "/workspace", content: "x" }),
      await use("write_file", { file_path: "/uploads", content: "x" }),
      await use("edit_file", { file_path: "/workspace/none.txt", old_string: "a", new_string: "b" }),
    ];
    expect(wrong[0]).toBe("Error: there is no file /uploads/none.txt");
    for (const words of wrong) expect(words).not.toContain(folder);
  });

  it("is not waited for: what is no regular file is not there", async () => {
    const { use, folder } = await setUp();
    await mkdir(join(folder, "uploads", "sub"));
    expect(await use("read_file", { file_path: "/uploads/sub" })).toBe(
      "Error: there is no file /uploads/sub",
    );
    expect(await use("read_file", { file_path: "/" })).toContain("Error: there is no file /");
    // A second name of a file is the file.
    await link(join(folder, "uploads", "poem.txt"), join(folder, "uploads", "again.txt"));
    expect(await use("read_file", { file_path: "/uploads/again.txt" })).toContain("heron");
    await mkdir(join(folder, "outputs"));
    execFileSync("mkfifo", [join(folder, "outputs", "pipe")]);
    expect(await use("read_file", { file_path: "/outputs/pipe" })).toBe(
      "Error: there is no file /outputs/pipe",
    );
    expect(await use("grep", { pattern: "x", path: "/outputs/pipe" })).toContain("No matches");
    expect(await use("write_file", { file_path: "/outputs/pipe", content: "x" })).toContain("is no file");
  });
});

describe("an agent with file tools", () => {
  it.each(["openai", "responses", "anthropic", "google", "ollama"] as const)(
    "reads a file, writes one and names it in its answer, by the protocol of %s, whole and streamed",
    async (wire) => {
      const { server, run, folder, runner, agent } = await setUp(wire);
      const script = () =>
        server.reply(
          {
            text: "Let me look.",
            toolCalls: [{ name: "read_file", args: { file_path: "/uploads/poem.txt" } }],
          },
          {
            toolCalls: [
              { name: "write_file", args: { file_path: "/outputs/a.txt", content: "a" } },
              { name: "write_file", args: { file_path: "/outputs/b.txt", content: "b" } },
            ],
          },
          "Here: ![A](a.txt)",
        );
      script();
      expect((await run("1", "copy it")).markdown).toBe("Here: ![A](a.txt)");
      expect(await readdir(join(folder, "outputs"))).toEqual(["a.txt", "b.txt"]);
      expect(JSON.stringify(server.requests[1]?.body)).toContain("in the pond.");

      script();
      const shown: string[] = [];
      const asked = { ...turn(agent, "2", "again"), folder, onText: (text: string) => void shown.push(text) };
      expect((await runner.run(asked, new AbortController().signal)).markdown).toBe("Here: ![A](a.txt)");
      expect(shown).toContain("Let me look.");
      expect(shown.at(-1)).toBe("Here: ![A](a.txt)");

      // And the thread with all of it is taken again, with a picture behind it.
      const said = await run("3", "and now?");
      expect(said.markdown).toBe("seen");
      expect(server.requests).toHaveLength(7);
    },
  );

  it("is told of its folder, and of no tools but these", async () => {
    const { server, run } = await setUp();
    await run("1", "hello");
    const { messages, tools } = server.requests[0]?.body ?? {};
    expect((messages as readonly Json[])[0]).toEqual({
      role: "system",
      content: expect.stringContaining("/outputs is for files that you want to send"),
    });
    const names = (tools as readonly Json[]).map((each) => (each["function"] as Json)["name"]); // of a chat request
    expect(names).toEqual(["ls", "read_file", "write_file", "edit_file", "glob", "grep", "present_files"]);
    expect(JSON.stringify(tools)).not.toMatch(/execute|large_tool_results|multimodal/);
  });

  it("is told what is wrong with a call, and goes on", async () => {
    const { use } = await setUp();
    expect(await use("read_file", {})).toMatch(/file_path/);
    expect(await use("execute", { command: "id" })).toContain('there is no tool "execute"');
  });

  it("keeps no more of a tool's result than can be sent again", async () => {
    const { use, folder } = await setUp();
    for (let at = 0; at < 40; at += 1) {
      await writeFile(join(folder, "uploads", `${at}.txt`), `needle ${"x".repeat(1500)}\n`);
    }
    const result = await use("grep", { pattern: "needle" });
    expect(result.length).toBeLessThan(20_100);
    expect(result).toContain("[… cut here; ask for less at once]");
  });

  it("is asked without tools by a model that has none, and without what is said of them", async () => {
    const { server, run } = await setUp("ollama");
    const none = "registry.ollama.ai/library/gemma3:4b does not support tools";
    server.reply(({ body }) => (body["tools"] ? { fault: "status", status: 400, message: none } : "hello"));
    expect((await run("1", "hello")).markdown).toBe("seen");
    expect(server.requests).toHaveLength(2);
    await run("2", "and now?");
    expect(server.requests).toHaveLength(3);
    expect(server.requests[2]?.body["tools"] ?? []).toEqual([]);
    expect(JSON.stringify(server.requests[2]?.body)).not.toContain("/outputs");
  });

  it("is shown pictures in the middle of its work too", async () => {
    const { server, runner, agent, blobs, folder } = await setUp("anthropic");
    const photo = await medium(blobs, { type: "image", mimeType: "image/jpeg", filename: "BAD.jpg" });
    const refuse = { fault: "status", status: 400, message: "Could not process image" } as const;
    server.reply(refuse, { toolCalls: [{ name: "ls", args: {} }] }, "done");
    const asked = { ...turn(agent, "1", [photo]), folder };
    const answer = await runner.run(asked, new AbortController().signal);
    expect(answer).toMatchObject({ markdown: "done", replayed: false, refused: ["BAD.jpg"] });
    // What was refused in its first step is not asked again in the second.
    expect(server.requests).toHaveLength(3);
  });

  it("is not the demo agent, which has no use for files", async () => {
    const { runner } = await setUp();
    const demo = definition({ files: true });
    const answer = await runner.run(turn(demo, "1", "hello"), new AbortController().signal);
    expect(answer.markdown).toContain("No model is set up yet");
  });
});
