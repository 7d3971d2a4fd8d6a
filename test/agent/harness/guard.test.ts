import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { guarded } from "../../../src/agent/harness/guard.ts";
import type { Calling } from "../../../src/agent/harness/stage.ts";
import { memoryLog, type LoggedLine } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";
import { onSqlite } from "../../support/database.ts";
import { toolBench, toolWords } from "../tool-bench.ts";

const open = onSqlite();

async function setUp(module: string, clock = systemClock) {
  const folder = await mkdtemp(join(tmpdir(), "perch-guard-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "guard.mjs");
  await writeFile(path, module);
  const logged: LoggedLine[] = [];
  const stage = guarded({ name: "helper", guard: path }, { clock, log: memoryLog(logged) });
  const ran: unknown[] = [];
  const call = async (
    args: Calling["call"]["args"] = { to: "Ada" },
    more: Partial<Calling> = {},
  ): Promise<string> => {
    const calling: Calling = {
      call: { id: "c", name: "send", args },
      tool: undefined,
      state: { messages: [] },
      turn: { folder, thread: "7/helper/1" },
      signal: undefined,
      ...more,
    };
    const result = await stage(calling, async (passed) => {
      ran.push(passed.call.args);
      return new ToolMessage({ content: "ran", tool_call_id: "c" });
    });
    return ToolMessage.isInstance(result) ? result.text : "";
  };
  return { path, logged, ran, call };
}

const REFUSED = "Error: this call is not allowed here.";

describe("a guard of the operator's", () => {
  it.each([
    ["true", "ran"],
    ["{ allow: true }", "ran"],
    ["Promise.resolve(true)", "ran"],
    ["Promise.resolve({ allow: true, why: 'fine' })", "ran"],
    ["false", REFUSED],
    ["{ allow: false }", REFUSED],
    ["{ allow: false, why: 'not on Sundays' }", "Error: this call is not allowed here: not on Sundays"],
    ["undefined", REFUSED],
    ["null", REFUSED],
    ["1", REFUSED],
    ["'yes'", REFUSED],
    ["{ allow: 'true' }", REFUSED],
    ["{}", REFUSED],
    ["[]", REFUSED],
    ["Promise.reject(new Error('x'))", REFUSED],
    ["(() => { throw new Error('x'); })()", REFUSED],
  ])("that gives %s", async (given, result) => {
    const { call, ran } = await setUp(`export default () => (${given});`);
    expect(await call()).toBe(result);
    expect(ran).toHaveLength(result === "ran" ? 1 : 0);
  });

  it.each([
    ["has a fault in it", "export default (;"],
    ["throws while it is loaded", "throw new Error('broken');"],
    ["exports nothing", "export const guard = () => true;"],
    ["exports no function", "export default true;"],
  ])("that %s allows nothing, and the log says so", async (_what, module) => {
    const { call, ran, logged } = await setUp(module);
    expect(await call()).toBe(REFUSED);
    expect(ran).toEqual([]);
    expect(logged.map(({ sentence }) => sentence)).toEqual([
      "the guard gave no verdict: the call is refused",
    ]);
  });

  it("that is not there allows nothing", async () => {
    const { call, path } = await setUp("export default () => true;");
    await rm(path);
    expect(await call()).toBe(REFUSED);
  });

  it("that hangs allows nothing after five seconds", async () => {
    const clock = manualClock();
    const { call, ran } = await setUp("export default () => new Promise(() => {});", clock);
    const calling = call();
    await clock.whenTimer(5_000);
    await clock.advance(5_000);
    expect(await calling).toBe(REFUSED);
    expect(ran).toEqual([]);
  });

  it("is told what is called, where and by whom, on a copy", async () => {
    const { call, ran } = await setUp(`
      export default (call) => {
        const seen = JSON.stringify(call);
        call.args.to = "Eve"; call.args.deep.x = 2;
        return { allow: call.args.ask !== true, why: seen };
      };`);
    const args = { to: "Ada", deep: { x: 1 } };
    const local = { kind: "toy", chat: "private", people: [], timeZone: "UTC", now: 0 } as const;
    expect(await call({ ...args, ask: true }, { turn: { folder: "/x", thread: "7/helper/1", local } })).toBe(
      `Error: this call is not allowed here: ${JSON.stringify({
        tool: "send",
        args: { ...args, ask: true },
        agent: "helper",
        chat: "private",
        thread: "7/helper/1",
      })}`,
    );
    expect(await call(args)).toBe("ran");
    expect(ran).toEqual([{ to: "Ada", deep: { x: 1 } }]);
  });

  it("takes it for a group where nobody is spoken with", async () => {
    const { call } = await setUp("export default ({ chat }) => ({ allow: false, why: chat });");
    expect(await call()).toBe("Error: this call is not allowed here: group");
  });

  it("holds as its file says now", async () => {
    const { call, path } = await setUp("export default () => true;");
    expect(await call()).toBe("ran");
    await writeFile(path, "export default () => false;");
    await utimes(path, 2_000_000_000, 2_000_000_000);
    expect(await call()).toBe(REFUSED);
  });

  it("gives reasons of bounded length", async () => {
    const { call } = await setUp("export default () => ({ allow: false, why: 'x'.repeat(9999) });");
    expect((await call()).length).toBe(`${REFUSED.slice(0, -1)}: `.length + 500);
  });

  it.each(["({ args }) => ({ allow: false, why: args.to })", "({ args }) => { throw new Error(args.to); }"])(
    "tells the log of a refusal without what it was about: %s",
    async (judge) => {
      const { call, logged } = await setUp(`export default ${judge};`);
      await call({ to: "the secret" });
      expect(logged).toHaveLength(1);
      expect(logged[0]?.fields).toMatchObject({ agent: "helper", tool: "send" });
      expect(JSON.stringify(logged)).not.toContain("the secret");
    },
  );

  it("stands before each tool of an agent's, and the agent is told", async () => {
    const { path } = await setUp("export default ({ tool, args }) => tool !== 'send' || args.to === 'Ada';");
    const sent: string[] = [];
    const send = tool(({ to }) => void sent.push(to), {
      name: "send",
      description: "Sends",
      schema: z.object({ to: z.string() }),
      metadata: { effects: true },
    });
    const bench = await toolBench({ database: await open(), tools: [send], fields: { guard: path } });
    onTestFinished(bench.close);
    const to = (name: string) => ({ id: name, name: "send", args: { to: name } });
    bench.server.reply({ toolCalls: [to("Ada"), to("Eve")] }, "Only to Ada.");
    expect(await bench.say("1", "write to both")).toBe("Only to Ada.");
    expect(sent).toEqual(["Ada"]);
    expect(toolWords(bench.server)).toContain("this call is not allowed here");
    expect((await bench.effects("1").earlier()).map((each) => each.call.split("/")[1])).toEqual(["Ada"]);
  });
});
