import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { humanMessage } from "../../../src/agent/messages.ts";
import { entryText, readEntries } from "../../../src/agent/window/history-format.ts";
import { appendHistory, historyFile, readHistory } from "../../../src/agent/window/history.ts";
import { memoryBlobs } from "../set-up.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), "perch-history-"));
  folders.push(folder);
  const blobs = memoryBlobs();
  const thread = "7/helper/1";
  const file = join(folder, "history", "helper-1.md");
  return {
    folder,
    blobs,
    thread,
    file,
    append: async (...messages: readonly BaseMessage[]) =>
      await appendHistory({ folder, thread, blobs }, messages),
    text: async () => await readFile(file, "utf8"),
    read: async (after = "") => await readHistory(folder, thread, after),
  };
}

const said = (id: string, text: string): BaseMessage =>
  humanMessage(id, { content: [{ type: "text", text }], sentAt: "2026-03-01T12:00:00Z" }, false);
const answer = (id: string, text: string): BaseMessage => new AIMessage({ id, content: text });

describe("how an entry is written", () => {
  it.each([
    "Hello",
    "",
    "two\nlines\n",
    "<!-- /a -->\n<!-- b -->",
    "\\<!-- a -->\n\\\\<!-- /a -->",
    "## Person, now\n\n<!-- a -->",
    "$& $' $1 \r\n end ",
  ])("gives %j back as it was", (text) => {
    for (const id of ["a", "intent-12/again", "lc_run--1 -->", "é"]) {
      const entry = { id, role: "person", text, sentAt: "2026-03-01T12:00:00Z" } as const;
      const other = { id: "b", role: "tool", text: "x", sentAt: "" } as const;
      expect(readEntries(`# Head\n\n${entryText(entry)}${entryText(other)}`)).toEqual([entry, other]);
    }
  });

  it("is readable", () => {
    const entry = { id: "intent-12", role: "person", text: "Hi", sentAt: "2026-03-01T12:00:00Z" } as const;
    expect(entryText(entry)).toBe(
      "<!-- intent-12 -->\n## Person, 2026-03-01T12:00:00Z\n\nHi\n\n<!-- /intent-12 -->\n\n",
    );
  });
});

describe("the history of a thread", () => {
  it("tells people's, the agent's and the tools' words in their order, from any message on", async () => {
    const { append, read } = await setUp();
    const calls = new AIMessage({
      id: "a1",
      content: "I look.",
      tool_calls: [{ id: "c", name: "look", args: { at: "sky" } }],
    });
    const path = await append(said("intent-1", "What is up?"), calls);
    expect(path).toBe("/history/helper-1.md");
    await append(
      new ToolMessage({ id: "t1", name: "look", tool_call_id: "c", content: "A bird." }),
      answer("a2", "A bird."),
    );
    expect(await read()).toEqual([
      { id: "intent-1", role: "person", text: "What is up?", sentAt: "2026-03-01T12:00:00Z" },
      { id: "a1", role: "agent", text: 'I look.\n[calls look with {"at":"sky"}]', sentAt: "" },
      { id: "t1", role: "tool", text: "[result of look]\nA bird.", sentAt: "" },
      { id: "a2", role: "agent", text: "A bird.", sentAt: "" },
    ]);
    expect((await read("a1")).map(({ id }) => id)).toEqual(["t1", "a2"]);
    expect((await read("elsewhere")).length).toBe(4);
  });

  it("has nothing before the first message has left", async () => {
    const { read } = await setUp();
    expect(await read()).toEqual([]);
  });

  it("is not doubled by a run that comes again, at whatever byte the first one ended", async () => {
    const { append, file, text } = await setUp();
    await append(said("intent-1", "One"));
    const first = (await stat(file)).size;
    await append(answer("a1", "Two ünï"), said("intent-2", "Three"));
    const whole = await text();
    for (let size = first; size < Buffer.byteLength(whole); size += 1) {
      await truncate(file, size);
      await append(answer("a1", "Two ünï"), said("intent-2", "Three"));
      expect(await text()).toBe(whole);
    }
    await truncate(file, 30);
    await append(said("intent-1", "One"), answer("a1", "Two ünï"), said("intent-2", "Three"));
    expect(await text()).toBe(whole);
  });

  it("takes no text for a marker of its own", async () => {
    const { append, read } = await setUp();
    await append(said("intent-1", "<!-- /intent-1 -->\n<!-- /intent-2 -->"));
    await append(said("intent-2", "Still told"));
    expect((await read()).map(({ text }) => text)).toEqual([
      "<!-- /intent-1 -->\n<!-- /intent-2 -->",
      "Still told",
    ]);
  });

  it("keeps media beside it by what they are, once, and the words of a voice note in it", async () => {
    const { append, blobs, folder, text } = await setUp();
    const photo = await blobs.put(Buffer.from("picture"));
    const voice = await blobs.put(Buffer.from("sound"));
    const spoken = await blobs.put(Buffer.from("We meet\nat nine."));
    const content = [
      {
        type: "image",
        mimeType: "image/jpeg",
        blob: photo,
        bytes: 7,
        filename: "sea.jpg",
        caption: "The sea",
      },
      {
        type: "audio",
        mimeType: "audio/ogg",
        blob: voice,
        bytes: 5,
        extract: { as: "transcript", blob: spoken, bytes: 16 },
      },
      { type: "file", mimeType: "application/pdf", blob: "sha256:gone", bytes: 5, filename: "old.pdf" },
    ] as const;
    await append(humanMessage("intent-1", { content, sentAt: "" }, false));
    await append(humanMessage("intent-2", { content: content.slice(0, 1), sentAt: "" }, false));
    const names = [`${photo.slice(7)}.jpg`, `${voice.slice(7)}.ogg`];
    expect((await readdir(join(folder, "history", "media"))).toSorted()).toEqual(names.toSorted());
    expect(await readFile(join(folder, "history", "media", names[0] ?? ""), "utf8")).toBe("picture");
    const told = await text();
    expect(told).toContain(`- [sea.jpg](media/${names[0]})`);
    expect(told).toContain("The sea");
    expect(told).toContain("What was said in the audio:\n> We meet\n> at nine.");
    expect(told).toContain("- old.pdf (no longer available)");
  });

  it("holds no bytes of what messages carry", async () => {
    const { append, text } = await setUp();
    const bytes = "QUJD".repeat(2_000);
    await append(
      new HumanMessage({
        id: "h",
        content: [
          { type: "text", text: `see data:image/png;base64,${bytes}` },
          { type: "image_url", image_url: { url: `data:image/png;base64,${bytes}` } },
        ],
      }),
    );
    expect(await text()).toContain("see [bytes]\n[image]");
    expect(await text()).not.toContain("QUJDQUJD");
  });

  it("is not written through a link", async () => {
    const { append, folder } = await setUp();
    const elsewhere = await mkdtemp(join(tmpdir(), "perch-elsewhere-"));
    folders.push(elsewhere);
    await symlink(elsewhere, join(folder, "history"));
    await expect(append(said("intent-1", "One"))).rejects.toThrow("no folder of the chat");
    expect(await readdir(elsewhere)).toEqual([]);
  });

  it("is not written through a link in the place of the file", async () => {
    const { append, folder, file } = await setUp();
    const elsewhere = join(folder, "elsewhere.md");
    await writeFile(elsewhere, "mine");
    await mkdir(join(folder, "history"));
    await symlink(elsewhere, file);
    await expect(append(said("intent-1", "One"))).rejects.toThrow("ELOOP");
    expect(await readFile(elsewhere, "utf8")).toBe("mine");
  });

  it("leaves what follows a damaged end readable", async () => {
    const { append, file, read, text } = await setUp();
    await append(said("intent-1", "One"));
    await appendFile(file, `<!-- intent-2 -->\n## Person\n\n${"half ".repeat(1_000)}`);
    await append(said("intent-3", "Three"));
    expect(await text()).not.toContain("half");
    expect((await read()).map(({ id }) => id)).toEqual(["intent-1", "intent-3"]);
  });

  it("is written by two at once without harm", async () => {
    const { append, read } = await setUp();
    await Promise.all([
      append(said("1", "One"), said("2", "Two")),
      append(said("2", "Two"), said("3", "Three")),
    ]);
    expect((await read()).map(({ id }) => id)).toEqual(["1", "2", "3"]);
  });
});

describe("the file of a thread", () => {
  it.each([
    ["7/helper/1", "helper-1.md"],
    ["7/a-1/2", "a-1-2.md"],
    ["7/a/12", "a-12.md"],
    ["7/../1", "..-1.md"],
    ["odd/thread", "odd%2Fthread.md"],
  ])("of %s is %s", (thread, file) => {
    expect(historyFile(thread)).toBe(file);
  });
});
