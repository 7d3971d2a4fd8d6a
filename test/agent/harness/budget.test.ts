import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { expect, describe, it, onTestFinished } from "vitest";
import { budgeted } from "../../../src/agent/harness/budget.ts";
import type { Called, Calling } from "../../../src/agent/harness/stage.ts";

async function setUp(files = true) {
  const folder = await mkdtemp(join(tmpdir(), "perch-budget-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const stage = budgeted({ files });
  const through = async (
    content: string,
    call: Partial<Calling["call"]> = {},
    called?: Called,
  ): Promise<Called> => {
    const made = { id: "call-1", name: "fetch", args: {}, ...call };
    const calling: Calling = {
      call: made,
      tool: undefined,
      state: { messages: [] },
      turn: { folder },
      signal: undefined,
    };
    const result = new ToolMessage({ content, tool_call_id: made.id, name: made.name });
    return await stage(calling, async () => called ?? result);
  };
  const say = async (content: string, call: Partial<Calling["call"]> = {}): Promise<string> => {
    const result = await through(content, call);
    return ToolMessage.isInstance(result) ? result.text : "no message";
  };
  const results = join(folder, "workspace", "results");
  return { folder, results, say, through };
}

const LONG = `BEGIN ${"a line of words\n".repeat(2_000)} END`;

describe("a result", () => {
  it("of up to 12,000 characters is given whole", async () => {
    const { say, folder } = await setUp();
    expect(await say("x".repeat(12_000))).toBe("x".repeat(12_000));
    expect(await readdir(folder)).toEqual([]);
  });

  it("that is longer is a file of the agent's, of which it sees the beginning and the end", async () => {
    const { say, results } = await setUp();
    const shown = await say(LONG);
    expect(shown.length).toBeLessThan(3_400);
    expect(shown).toContain(
      "[The result has 32,010 characters. All of it is in /workspace/results/fetch-call-1.txt: read it",
    );
    expect(shown).toContain("BEGIN a line");
    expect(shown).toContain("[… 29,010 characters are left out here …]");
    expect(shown.endsWith(" END")).toBe(true);
    expect(await readFile(join(results, "fetch-call-1.txt"), "utf8")).toBe(LONG);
    expect((await lstat(results)).mode & 0o777).toBe(0o700);
    expect((await lstat(join(results, "fetch-call-1.txt"))).mode & 0o777).toBe(0o600);
  });

  it("of 5 MB costs the thread no more", async () => {
    const { say, results } = await setUp();
    const huge = "0123456789".repeat(500_000);
    expect((await say(huge)).length).toBeLessThan(3_400);
    expect((await lstat(join(results, "fetch-call-1.txt"))).size).toBe(5_000_000);
  });

  it("that is cut in the middle of a sign is still text", async () => {
    const { say } = await setUp();
    expect((await say(`x${"😀".repeat(10_000)}`)).isWellFormed()).toBe(true);
  });

  it("has a name that leads nowhere else, whatever the tool and the call are called", async () => {
    const { say, results } = await setUp();
    await say(LONG, { name: "../../../etc/x", id: "../../y\0z" });
    await say(LONG, { name: "", id: "" });
    expect((await readdir(results)).toSorted()).toEqual(["_________etc_x-______y_z.txt", "call-call.txt"]);
  });

  it("takes no other's place where a server counts its calls anew", async () => {
    const { say, results } = await setUp();
    await say(`first ${LONG}`);
    const second = await say(`second ${LONG}`);
    const names = await readdir(results);
    expect(names).toHaveLength(2);
    expect(await readFile(join(results, "fetch-call-1.txt"), "utf8")).toMatch(/^first/);
    const named = /\/workspace\/results\/(\S+\.txt)/.exec(second)?.[1] ?? "";
    expect(await readFile(join(results, named), "utf8")).toMatch(/^second/);
  });

  it("in a Command is shortened too, and the rest of that stays", async () => {
    const { through, results } = await setUp();
    const message = new ToolMessage({
      content: LONG,
      tool_call_id: "call-1",
      name: "fetch",
      status: "error",
    });
    const called = await through(
      "",
      {},
      new Command({ update: { artifacts: ["/outputs/a"], messages: [message] } }),
    );
    const { artifacts, messages } = (called as Command).update as {
      artifacts: unknown;
      messages: ToolMessage[];
    };
    expect(artifacts).toEqual(["/outputs/a"]);
    expect(messages[0]?.text.length).toBeLessThan(3_400);
    expect(messages[0]).toMatchObject({ tool_call_id: "call-1", name: "fetch", status: "error" });
    expect(await readdir(results)).toEqual(["fetch-call-1.txt"]);
  });

  it.each(["read_file", "grep", "ls", "glob"])(
    "of %s is no file anew, only cut where it is very long",
    async (name) => {
      const { say, folder } = await setUp();
      expect(await say("x".repeat(16_000), { name })).toBe("x".repeat(16_000));
      const cut = await say("x".repeat(400_000), { name });
      expect(cut.length).toBeLessThan(20_100);
      expect(cut).toContain("[… cut here; ask for less at once]");
      expect(await readdir(folder)).toEqual([]);
    },
  );

  it("of an agent without files has a beginning, an end and its size", async () => {
    const { say, folder } = await setUp(false);
    const shown = await say(LONG);
    expect(shown).toContain(
      "[The result has 32,010 characters, too many to be shown. Ask for less at once. Its beginning",
    );
    expect(shown).not.toContain("read_file");
    expect(shown.length).toBeLessThan(3_400);
    expect(await readdir(folder)).toEqual([]);
  });

  it("that cannot be kept, as on a full disk, is shown with more of it", async () => {
    const { say, folder } = await setUp();
    await writeFile(join(folder, "workspace"), "no folder");
    const shown = await say(LONG);
    expect(shown).toContain("It could not be kept as a file.");
    expect(shown.length).toBeGreaterThan(11_000);
    expect(shown.length).toBeLessThan(11_400);
  });

  it("is written through no link", async () => {
    const { say, folder } = await setUp();
    const outside = await mkdtemp(join(tmpdir(), "perch-outside-"));
    onTestFinished(() => rm(outside, { recursive: true, force: true }));
    await mkdir(join(folder, "workspace"));
    await symlink(outside, join(folder, "workspace", "results"));
    expect(await say(LONG)).toContain("could not be kept");
    expect(await readdir(outside)).toEqual([]);
  });
});
