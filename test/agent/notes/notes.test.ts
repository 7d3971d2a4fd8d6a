import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { withoutComments } from "../../../src/agent/notes/comments.ts";
import { Notes } from "../../../src/agent/notes/notes.ts";
import { type LoggedLine, memoryLog } from "../../support/channel-host.ts";
import type { Json } from "../../support/models/server.ts";
import { closeServers, served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

describe("comments", () => {
  it.each([
    ["a <!-- b --> c", "a  c"],
    ["<!-- a\nb -->\nc", "c"],
    ["a\n<!-- b -->\nc\n", "a\nc\n"],
    ["a <!-- no end", "a <!-- no end"],
    ["```\n<!-- shown -->\n```\n<!-- gone -->\nx", "```\n<!-- shown -->\n```\nx"],
    ["<!-- a\n```\nb -->\nc", "c"],
    ["<!-- perch:begin a -->\nkept\n<!-- perch:end a -->", "kept\n"],
    ["<!--><!-- a -->b", "b"],
    ["costs $& and $1 <!-- $` -->", "costs $& and $1 "],
  ])("of %j are left out", (text, rest) => {
    expect(withoutComments(text)).toBe(rest);
  });

  it("are looked for in time that grows with the text alone", () => {
    const before = process.cpuUsage();
    withoutComments(`${"<!-- ".repeat(6_000)}\n`.repeat(3) + "```\n".repeat(5_000));
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
  });
});

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), "perch-notes-"));
  const logged: LoggedLine[] = [];
  const files = [join(folder, "AGENTS.md"), join(folder, "house.md")];
  const notes = new Notes(
    { files: true, memory: { files, facts: false, quietSeconds: 30, mostSeconds: 300, mostFacts: 10 } },
    memoryLog(logged),
  );
  const chat = join(folder, "7");
  await mkdir(join(chat, "workspace"), { recursive: true });
  return {
    folder,
    files,
    notes,
    chat,
    logged,
    put: (name: string, text: string) => writeFile(join(folder, name), text),
  };
}

describe("memory files", () => {
  it("are told in their order, framed, and read again when they change", async () => {
    const { notes, put, files } = await setUp();
    await put("AGENTS.md", "Speak of herons. <!-- for us -->$&");
    await put("house.md", "The door is green.");
    const first = await notes.operators();
    expect(first).toMatch(
      /^For reference, from "AGENTS\.md", which your operator keeps, between two marks:\n<reference-([0-9a-f]{32})>\nSpeak of herons\. \$&\n<\/reference-\1>\n\nFor reference, from "house\.md"/,
    );
    expect(await notes.operators()).toBe(first);
    await put("AGENTS.md", "Speak of crows.");
    expect(await notes.operators()).toContain("crows");
    // Another file in its place, as editors write.
    await put("new.md", "Speak of swans!");
    await rename(join(files[0] ?? "", "..", "new.md"), files[0] ?? "");
    expect(await notes.operators()).toContain("swans");
  });

  it("that are missing are named in the log, once, and are there as soon as they are", async () => {
    const { notes, put, logged, files, folder } = await setUp();
    await put("house.md", "The door is green.");
    for (let times = 0; times < 3; times += 1) expect(await notes.operators()).toContain("green");
    expect(notes.broken).toEqual(['the memory file "AGENTS.md" cannot be read']);
    expect(logged.filter(({ sentence }) => sentence.includes("memory files"))).toHaveLength(1);
    expect(JSON.stringify(logged)).not.toContain(folder);
    await put("AGENTS.md", "Speak of herons.");
    expect(await notes.operators()).toContain("herons");
    expect(notes.broken).toEqual([]);
    await rm(files[1] ?? "");
    expect(await notes.operators()).not.toContain("green");
  });

  it("are bounded with a sentence, and a pipe is not waited for", async () => {
    const { notes, put, files } = await setUp();
    await put("AGENTS.md", `begin ${"ü".repeat(1_000_000)} end`);
    execFileSync("mkfifo", [files[1] ?? ""]);
    const told = await notes.operators();
    expect(told.length).toBeLessThan(33_000);
    expect(told).toContain("[… of 2 MB only the first 32 KB are shown; it should be shorter …]");
    expect(told).not.toContain("\ufffd");
  });
});

describe("an agent's own notes on a chat", () => {
  it("are told as its own, of this chat alone, and not where links lead", async () => {
    const { notes, chat, folder, put } = await setUp();
    expect(await notes.own(chat)).toBe("");
    await put("7/workspace/AGENTS.md", "Ada likes herons.");
    expect(await notes.own(chat)).toMatch(
      /^Your own notes on this chat, from \/workspace\/AGENTS\.md.*\n<notes-/s,
    );
    expect(await notes.own(join(folder, "8"))).toBe("");
    await put("secret.md", "SECRET");
    await rm(join(chat, "workspace", "AGENTS.md"));
    await symlink(join(folder, "secret.md"), join(chat, "workspace", "AGENTS.md"));
    expect(await notes.own(chat)).toBe("");
    await rm(join(chat, "workspace"), { recursive: true });
    await put("AGENTS.md", "SECRET");
    await symlink(folder, join(chat, "workspace"));
    expect(await notes.own(chat)).toBe("");
  });

  it("are shown with the next message after it has written them, and the prompt stays the same meanwhile", async () => {
    const folder = join(await mkdtemp(join(tmpdir(), "perch-agent-")), "7");
    const memory = {
      facts: false,
      quietSeconds: 30,
      mostSeconds: 300,
      mostFacts: 10,
      files: [join(folder, "..", "AGENTS.md")],
    };
    await writeFile(memory.files[0] ?? "", "Speak of herons.");
    const { server, runner, agent } = await served("openai", { files: true, prompt: "You help.", memory });
    const run = (id: string, said: string) =>
      runner.run({ ...turn(agent, id, said), folder }, new AbortController().signal);
    const note = { file_path: "/workspace/AGENTS.md", content: "Ada likes swans. <!-- $& -->" };
    server.reply({ toolCalls: [{ name: "write_file", args: note }] }, "noted", "hello", "hi");
    await run("1", "remember");
    await run("2", "hello");
    await run("3", "hello");
    const systems = server.requests.map(
      ({ body }) => (body["messages"] as readonly Json[])[0]?.["content"] as string, // of a chat request
    );
    expect(systems[0]).toContain("You help.");
    expect(systems[0]).toContain("Speak of herons.");
    expect(systems[1]).toBe(systems[0]);
    expect(systems[2]?.startsWith(systems[0] ?? "?")).toBe(true);
    expect(systems[2]).toContain("Ada likes swans.");
    expect(systems[3]).toBe(systems[2]);
  });

  it("leave what stands before them in Anthropic's cache when they change", async () => {
    const folder = join(await mkdtemp(join(tmpdir(), "perch-agent-")), "7");
    await mkdir(join(folder, "workspace"), { recursive: true });
    await writeFile(join(folder, "workspace", "AGENTS.md"), "Ada likes swans.");
    const { server, runner, agent } = await served("anthropic", { files: true, prompt: "You help." });
    await runner.run({ ...turn(agent, "1", "hello"), folder }, new AbortController().signal);
    expect(server.requests[0]?.body["system"]).toEqual([
      { type: "text", text: expect.stringContaining("You help."), cache_control: { type: "ephemeral" } },
      { type: "text", text: expect.stringContaining("swans"), cache_control: { type: "ephemeral" } },
    ]);
  });
});
