import { tool } from "@langchain/core/tools";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentDefinition, AgentTurn } from "../../../src/core/agent.ts";
import type { ApprovalDesk, WaitingCall, WishOutcome } from "../../../src/core/approvals.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { Database } from "../../../src/store/database.ts";
import { onSqlite } from "../../support/database.ts";
import { failure } from "../set-up.ts";
import { toolBench, toolWords } from "../tool-bench.ts";

const open = onSqlite();

/** An agent whose letters wait for a yes, and what it has sent and asked. */
async function setUp(fields: Partial<AgentDefinition> = { approve: { tools: ["send"], minutes: 60 } }) {
  const database: Database = await open();
  const sent: string[] = [];
  const send = tool(
    ({ to }: { to: string }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
    {
      name: "send",
      description: "Sends a letter",
      schema: z.object({ to: z.string() }),
      metadata: { server: "post" },
    },
  );
  const bench = await toolBench({ database, tools: [send], fields });
  onTestFinished(bench.close);
  const asked: WaitingCall[] = [];
  const desk = (message: string, outcome: WishOutcome = "asked"): ApprovalDesk => {
    const effects = bench.effects(message);
    return {
      async ask(call) {
        const noted = await effects.putOff(
          call.call,
          call.step,
          call.result,
          async () => outcome === "asked",
        );
        if (noted) asked.push(call);
        return outcome;
      },
    };
  };
  const run = async (id: string, said: string, more: Partial<AgentTurn> = {}): Promise<string> =>
    (await bench.run(id, said, { approvals: desk(id), ...more })).markdown;
  return { ...bench, sent, asked, desk, run };
}

const call = (to: string, id = "a") => ({ id, name: "send", args: { to } });
const APPROVED = { id: "ABCDEFGH", tool: "send", args: { to: "Ada" } };

it("a call that waits for a yes has a result for now, and the turn ends with a whole thread", async () => {
  const { server, run, sent, asked, thread } = await setUp();
  server.reply({ toolCalls: [call("Ada")] }, "It waits.");
  expect(await run("1", "write to Ada")).toBe("It waits.");
  expect(sent).toEqual([]);
  expect(asked).toMatchObject([{ tool: "send", args: { to: "Ada" }, who: undefined, minutes: 60 }]);
  expect(toolWords(server)).toMatch(/^Not run yet: this call waits/);
  expect(await thread()).toHaveLength(4);
});

it.each([
  ["all tools of its server", { approve: { tools: ["post/*"], minutes: 5, who: "anyone" } }, 0],
  ["another tool, and another server", { approve: { tools: ["sen", "pos/*"], minutes: 5 } }, 1],
] as const)("what waits may be %s", async (_what, fields, calls) => {
  const { server, run, sent } = await setUp(fields);
  server.reply({ toolCalls: [call("Ada")] }, "Well.");
  await run("1", "write to Ada");
  expect(sent).toHaveLength(calls);
});

it('a guard that says "ask" has a person decide, and is asked again before the call is made', async () => {
  const folder = await mkdtemp(join(tmpdir(), "perch-asking-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const guard = join(folder, "guard.mjs");
  await writeFile(guard, 'export default ({ args }) => (args.to === "Eve" ? false : "ask");');
  const { server, run, sent, asked } = await setUp({ guard, approve: { tools: [], minutes: 60 } });
  server.reply({ toolCalls: [call("Ada"), call("Eve", "b")] }, "One waits.", "It is sent.", "It is not.");
  await run("1", "write to both");
  expect(asked.map(({ args }) => args)).toEqual([{ to: "Ada" }]);
  await run("2", "[allowed]", { approved: APPROVED });
  await run("3", "[allowed]", { approved: { ...APPROVED, id: "BCDEFGHJ", args: { to: "Eve" } } });
  expect(sent).toEqual(["Ada"]);
});

it.each([
  ["asked before", "the very same call waits for approval already"],
  ["too many", "too many calls of this conversation wait"],
  ["nobody", "nobody owns this connection"],
] as const)("a call that is not put to people is not made: %s", async (outcome, words) => {
  const { server, run, sent, desk } = await setUp();
  server.reply({ toolCalls: [call("Ada")] }, "Well.");
  await run("1", "write to Ada", { approvals: desk("1", outcome) });
  expect(toolWords(server)).toContain(words);
  expect(sent).toEqual([]);
});

it("where nobody can be asked, as by a subagent, the call is refused", async () => {
  const { server, say, sent } = await setUp();
  server.reply({ toolCalls: [call("Ada")] }, "Well.");
  await say("1", "write to Ada");
  expect(toolWords(server)).toContain("nobody can be asked for that from here");
  expect(sent).toEqual([]);
});

it("people are asked once where the turn is run again, which goes on from there", async () => {
  const { server, run, sent, asked, restart } = await setUp();
  server.reply({ toolCalls: [call("Ada")] }, { fault: "status", status: 401 });
  await failure(run("1", "write to Ada", { thread: "7/helper/other" }));
  restart();
  server.reply("It waits.");
  expect(await run("1", "write to Ada")).toBe("It waits.");
  expect(asked).toHaveLength(1);
  expect(sent).toEqual([]);
});

it("a call that was allowed is made before the model is asked, and stands in the thread as one of its own", async () => {
  const { server, run, sent, thread } = await setUp();
  server.reply("It is sent.");
  expect(await run("2", "[allowed]", { approved: APPROVED })).toBe("It is sent.");
  expect(sent).toEqual(["Ada"]);
  expect(server.requests).toHaveLength(1);
  expect(await thread()).toEqual([
    "person: [allowed]",
    'model: send({"to":"Ada"})',
    "send: sent to Ada",
    "model: It is sent.",
  ]);
});

it("a call that was allowed is made once, though its tool says nothing of effects and its turn is run again", async () => {
  const { server, run, sent, effects, restart } = await setUp();
  const log = effects("2");
  const lost = new GatewayError("store.hold_lost", "the process is gone");
  const dying = {
    earlier: () => log.earlier(),
    begin: (key: string, step: string) => log.begin(key, step),
    async done(key: string, result: string) {
      await log.done(key, result);
      throw lost;
    },
  };
  await failure(run("2", "[allowed]", { approved: APPROVED, effects: dying, thread: "7/helper/other" }));
  restart();
  server.reply("It is sent.");
  expect(await run("2", "[allowed]", { approved: APPROVED })).toBe("It is sent.");
  expect(sent).toEqual(["Ada"]);
});

it("a yes is for one call: the model cannot take its name for another, nor make it again", async () => {
  const { server, run, sent, asked } = await setUp();
  const id = `approved-${APPROVED.id}`;
  server.reply({ toolCalls: [call("Eve", id)] }, { toolCalls: [call("Ada", id)] }, "Both wait.");
  expect(await run("2", "[allowed]", { approved: APPROVED })).toBe("Both wait.");
  expect(sent).toEqual(["Ada"]);
  expect(asked.map(({ args }) => args)).toEqual([{ to: "Eve" }, { to: "Ada" }]);
});
