import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ChatFiles } from "../../../src/agent/files/chat-files.ts";
import { presentFilesTool } from "../../../src/agent/files/present-files.ts";
import { PRESENT, sentWords, withPresented } from "../../../src/agent/files/presented.ts";
import { withTurn } from "../../../src/agent/turn-config.ts";
import type { AgentAnswer } from "../../../src/core/agent.ts";
import { takeMedia } from "../../../src/reply/media-refs.ts";
import { parseMarkdown } from "../../../src/reply/tree.ts";
import type { Json } from "../../support/models/server.ts";
import { closeServers, served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

function presenting(...paths: readonly string[]): readonly ToolMessage[] {
  return [
    new ToolMessage({
      name: PRESENT,
      tool_call_id: "1",
      content: `${sentWords(paths)}\nThere is no file x.`,
    }),
  ];
}

/** The media that an answer is sent with. */
function mediaIn(markdown: string): readonly (readonly [path: string, alt: string])[] {
  return takeMedia(parseMarkdown(markdown)).parts.flatMap((part) =>
    part.kind === "media" ? [[part.path, part.alt] as const] : [],
  );
}

describe("what was presented", () => {
  it.each([
    "prices.csv",
    "my prices (2).csv",
    "a [draft] of it.pdf",
    "a](b).png",
    "50% & more &amp; less.png",
    "a%20b.png",
    "<angled>.png",
    String.raw`back\slash \[x\].png`,
    "*bold* _it_ `code` $x$ ~~s~~ |t| !.png",
    "Grüße 🦊 名前.jpg",
    "under/ folder/a b.txt",
    "https:x.png",
    "#1 - item.md",
  ])("is sent by a reference that reads as its very path: %s", (name) => {
    const path = `/outputs/${name}`;
    const markdown = withPresented("Here it is.", presenting(path));
    expect(mediaIn(markdown).map(([sent]) => sent)).toEqual([path]);
    expect(mediaIn(markdown)[0]?.[1]).toBe(name.split("/").at(-1));
    // And what we have written is known as named.
    expect(withPresented(markdown, presenting(path))).toBe(markdown);
  });

  it.each([
    "![Prices](prices.csv)",
    "![](/outputs/prices.csv)",
    "Here: ![a [b] c](outputs/prices.csv 'Prices') and more",
    "![x](<prices.csv>)",
    "![x](./prices.csv)",
    "![x](sandbox:/outputs/prices.csv)",
    "![x](%70rices.csv)",
  ])("is not sent twice where the answer names it: %s", (markdown) => {
    expect(withPresented(markdown, presenting("/outputs/prices.csv"))).toBe(markdown);
  });

  it.each([
    "`![x](prices.csv)`",
    "```\n![x](prices.csv)\n```",
    "[x](prices.csv)",
    "![x](other.csv)",
    "prices.csv",
  ])("is sent where the answer only speaks of it: %s", (markdown) => {
    const paths = mediaIn(withPresented(markdown, presenting("/outputs/prices.csv"))).map(([path]) => path);
    expect(paths.at(-1)).toBe("/outputs/prices.csv");
  });

  it("is an answer by itself, and comes in its order", () => {
    const both = presenting("/outputs/b.csv", "/outputs/a.csv");
    expect(mediaIn(withPresented("", both)).map(([path]) => path)).toEqual([
      "/outputs/b.csv",
      "/outputs/a.csv",
    ]);
    expect(withPresented("", [])).toBe("");
  });

  it("is believed of nobody but the tool", () => {
    const words = sentWords(["/outputs/a.csv"]);
    const others = [
      new AIMessage(words),
      new ToolMessage({ name: "search", tool_call_id: "1", content: words }),
      new ToolMessage({ name: PRESENT, tool_call_id: "2", content: words, status: "error" }),
      new ToolMessage({
        name: PRESENT,
        tool_call_id: "3",
        content: sentWords(["/etc/passwd", "/outputs/../x"]),
      }),
    ];
    expect(withPresented("done", others)).toBe("done");
  });

  it("is looked for in an answer of thousands of brackets without end in sight", () => {
    const hostile = "![".repeat(20_000) + "](".repeat(20_000) + "`".repeat(20_000) + "```\n".repeat(5_000);
    const before = process.cpuUsage();
    withPresented(hostile, presenting("/outputs/a.csv"));
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
  });
});

describe("present_files", () => {
  async function setUp() {
    const folder = join(await mkdtemp(join(tmpdir(), "perch-agent-")), "7");
    await mkdir(join(folder, "outputs", "sub"), { recursive: true });
    await writeFile(join(folder, "outputs", "prices (2).csv"), "eggs,2\n");
    await writeFile(join(folder, "secret.txt"), "secret");
    await symlink(join(folder, "..", "..", "secret"), join(folder, "outputs", "link.txt"));
    const told = await served("openai", { files: true });
    const run = (id: string, said: string): Promise<AgentAnswer> =>
      told.runner.run({ ...turn(told.agent, id, said), folder }, new AbortController().signal);
    return { ...told, run };
  }

  const present = (...paths: readonly string[]) => ({ toolCalls: [{ name: PRESENT, args: { paths } }] });

  it("has files sent with the answer of its turn and no other, also where that is given again", async () => {
    const { server, run, saver } = await setUp();
    server.reply(present("/outputs/prices (2).csv"), "Here they are.", "You are welcome.");
    const { markdown } = await run("1", "send the prices");
    expect(markdown).toBe("Here they are.\n\n![prices \\(2\\)\\.csv](</outputs/prices (2).csv>)");
    expect((await run("2", "thanks")).markdown).toBe("You are welcome.");
    expect(await run("1", "send the prices")).toMatchObject({ markdown, replayed: true });
    const { channel_values: values } =
      (await saver.getTuple({ configurable: { thread_id: "7/helper/1" } }))?.checkpoint ?? {};
    expect(values?.["artifacts"]).toEqual(["/outputs/prices (2).csv"]);
  });

  it("says in one sentence each what is not sent", async () => {
    const { server, run } = await setUp();
    server.reply(
      present(
        "/outputs/prices (2).csv",
        "/outputs/none.csv",
        "/outputs/sub",
        "/outputs/link.txt",
        "/outputs/../secret.txt",
        "/workspace/a.md",
        "outputs/",
      ),
      present("/uploads/a.txt"),
      "done",
    );
    expect((await run("1", "send")).markdown).toMatch(/^done\n\n!\[prices [^\n]*$/);
    const messages = server.requests.at(-1)?.body["messages"] as readonly Json[]; // of a chat request
    const results = messages.flatMap(({ role, content }) => (role === "tool" ? [String(content)] : []));
    expect(results[0]?.split("\n")).toEqual([
      'Sent with your answer: ["/outputs/prices (2).csv"]',
      "There is no file /outputs/none.csv.",
      "There is no file /outputs/sub.",
      "There is no file /outputs/link.txt.",
      "/outputs/../secret.txt is not under /outputs; write or copy it there first.",
      "/workspace/a.md is not under /outputs; write or copy it there first.",
      "outputs/ is not under /outputs; write or copy it there first.",
    ]);
    expect(results[1]).toBe("/uploads/a.txt is not under /outputs; write or copy it there first.");
  });

  it("sends nothing for a subagent, whose report is no answer, and says so", async () => {
    const there = presentFilesTool(async () => new ChatFiles("/nowhere"));
    const call = { type: "tool_call", id: "1", name: PRESENT, args: { paths: ["/outputs/a.csv"] } } as const;
    const told: unknown = await there.invoke(call, { configurable: withTurn({}, { folder: "/nowhere" }) });
    expect(told).toMatchObject({ status: "error", content: expect.stringContaining("Nothing was sent") });
  });

  it("is an answer even where the model says no more", async () => {
    const { server, run } = await setUp();
    server.reply(present("/outputs/prices (2).csv"), "");
    const answered = await run("1", "send").catch((error: unknown) => error);
    expect(answered).toMatchObject({ markdown: expect.stringContaining("prices") });
  });
});
