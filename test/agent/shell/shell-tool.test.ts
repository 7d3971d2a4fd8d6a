import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { createAgentRunner } from "../../../src/agent/runner.ts";
import { shellTool } from "../../../src/agent/shell/shell-tool.ts";
import { type LoggedLine, memoryLog } from "../../support/channel-host.ts";
import { onSqlite } from "../../support/database.ts";
import { NO_SANDBOX, SANDBOX } from "../../support/sandbox.ts";
import { closeServers, served } from "../model-servers.ts";
import { turn } from "../set-up.ts";
import { toolBench, type ToolBench, toolWords } from "../tool-bench.ts";

const open = onSqlite();

async function setUp(): Promise<ToolBench & { readonly lines: readonly LoggedLine[] }> {
  const lines: LoggedLine[] = [];
  const shell = shellTool(SANDBOX, { agent: "helper", clock: systemClock, log: memoryLog(lines) });
  const bench = await toolBench({ database: await open(), tools: [shell as never], fields: { files: true } });
  onTestFinished(bench.close);
  return { ...bench, lines };
}

const call = (command: string, id = "a") => ({ id, name: "shell", args: { command } });

describe.skipIf(NO_SANDBOX)("a shell", () => {
  it("works on the files of its chat", async () => {
    const { server, say, folder } = await setUp();
    await mkdir(join(folder, "uploads"), { recursive: true });
    await writeFile(join(folder, "uploads", "prices.csv"), "tea,3\ncake,4\n");
    server.reply({
      toolCalls: [
        call("cut -d, -f2 /chat/uploads/prices.csv | paste -sd+ > /chat/outputs/sum; cat /chat/outputs/sum"),
      ],
    });
    server.reply("It is 7.");
    expect(await say("1", "what is the sum?")).toBe("It is 7.");
    expect(toolWords(server)).toBe("3+4");
    expect(await readFile(join(folder, "outputs", "sum"), "utf8")).toBe("3+4\n");
  });

  it.each([
    ["true", "[it said nothing, and went well]"],
    ["echo a; echo b >&2; exit 3", "a\nb\n[exit code 3]"],
    ["exit 4", "[exit code 4]"],
    ["chmod 777 .; echo x", "[chmod 777 lets everybody write]\nx"],
    ["rm -rf /", "Error: the command was not run: it deletes everything"],
  ])("tells what became of %s", async (command, told) => {
    const { server, say } = await setUp();
    server.reply({ toolCalls: [call(command)] });
    await say("1", "go");
    expect(toolWords(server)).toBe(told);
  });

  it("puts what is too long into a file", async () => {
    const { server, say, folder } = await setUp();
    server.reply({ toolCalls: [call("seq 1 4000")] });
    await say("1", "count");
    expect(toolWords(server)).toContain("All of it is in /workspace/results/shell-a.txt");
    expect((await readFile(join(folder, "workspace/results/shell-a.txt"), "utf8")).split("\n")).toHaveLength(
      4_000,
    );
  });

  it("keeps a line of the log about each command, and not the command", async () => {
    const { server, say, lines } = await setUp();
    server.reply({
      toolCalls: [call("echo the-secret; exit 3", "a"), call("cat /etc/shadow; echo the-secret", "b")],
    });
    await say("1", "go");
    expect(JSON.stringify(lines)).not.toContain("the-secret");
    const told = lines.map(
      ({ sentence, fields }) => `${sentence} ${String(fields["length"])} ${String(fields["exit"])}`,
    );
    expect(told.toSorted()).toEqual(["a command was not run 32 undefined", "a command was run 23 3"]);
    expect(lines.every(({ fields }) => /^[0-9a-f]{12}$/.test(String(fields["command"])))).toBe(true);
  });

  it("belongs to one chat: what a thread has of another's is refused", async () => {
    const { server, run, folder } = await setUp();
    server.reply({ toolCalls: [call("echo mine > mine")] });
    await run("1", "go");
    const other = `${folder}-other`;
    server.reply({ toolCalls: [call("echo stolen > stolen")] });
    await run("2", "go on", { folder: other });
    expect(toolWords(server)).toContain(
      "this conversation belongs to another sandbox; commands cannot be run in it",
    );
    await expect(readFile(join(other, "workspace", "stolen"))).rejects.toThrow("ENOENT");
  });

  it("runs two commands at once in one sandbox", async () => {
    const { server, say } = await setUp();
    server.reply({ toolCalls: [call("echo one", "a"), call("echo two", "b")] });
    await say("1", "go");
    expect(toolWords(server)).toBe("one\ntwo");
  });

  it("does nothing twice, whatever comes upon its turn", async () => {
    const { server, say, run, folder } = await setUp();
    server.reply({ toolCalls: [call("echo x >> log")] }, { fault: "status", status: 401 });
    await expect(run("1", "go", { thread: "7/helper/other" })).rejects.toMatchObject({
      code: "model.failed",
    });
    server.reply("Done.");
    expect(await say("1", "go")).toBe("Done.");
    expect(await readFile(join(folder, "workspace", "log"), "utf8")).toBe("x\n");
  });
});

describe.skipIf(NO_SANDBOX)("an agent with a shell", () => {
  it.each([
    ["has it where there is bubblewrap", process.env["PATH"] ?? "", ["shell"], 0],
    ["has none where there is no bubblewrap, and the log says so", "/nowhere", [], 1],
  ])("%s", async (_what, path, names, warnings) => {
    const { server, agent, saver, blobs } = await served("openai", { shell: true });
    onTestFinished(closeServers);
    const logged: LoggedLine[] = [];
    const runner = createAgentRunner({
      saver: async () => saver,
      blobs,
      clock: systemClock,
      log: memoryLog(logged),
      path,
    });
    const local = { kind: "toy", chat: "private", people: ["Ada"], timeZone: "UTC", now: 0 } as const;
    await runner.run({ ...turn(agent, "1", "hello"), local }, new AbortController().signal);
    const { tools = [], messages } = (server.requests[0]?.body ?? {}) as {
      tools?: readonly { function: { name: string } }[];
      messages?: unknown;
    };
    expect(tools.map((each) => each.function.name)).toEqual(names);
    expect(logged.filter(({ level }) => level === "warn")).toHaveLength(warnings);
    expect(/failed to load and cannot be used now: .{0,4}shell/.test(JSON.stringify(messages))).toBe(
      warnings === 1,
    );
  });
});
