import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { AgentDefinition, AgentTurn, Subagents } from "../../../src/core/agent.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import type { ModelUse } from "../../../src/core/usage.ts";
import type { Json, Reply } from "../../support/models/server.ts";
import { closeServers, type Served, served, type WireName, WIRES } from "../model-servers.ts";
import { definition, turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;

/** An agent with subagents that ask the same server; their own fields by name. */
async function team(
  subagents: Readonly<Record<string, Partial<AgentDefinition>>>,
  how: Partial<Subagents> & { readonly wire?: WireName; readonly clock?: Clock } = {},
): Promise<Served & { readonly boss: AgentDefinition }> {
  const { wire = "openai", clock, ...limits } = how;
  const world = await served(wire, {}, {}, clock);
  const agents = Object.entries(subagents).map(([name, fields]) =>
    definition({
      name,
      about: `knows ${name}`,
      prompt: `You are ${name}.`,
      model: world.agent.model,
      ...fields,
    }),
  );
  const boss = {
    ...world.agent,
    prompt: "You are the boss.",
    subagents: { agents, atOnce: 3, mostPerTurn: 6, seconds: 120, ...limits },
  };
  return { ...world, boss };
}

const handing = (...calls: readonly (readonly [subagent: string, prompt: string])[]) => ({
  toolCalls: calls.map(([subagent, prompt], at) => ({
    name: "task",
    args: { subagent, prompt },
    id: `call_${at}`,
  })),
});

/** All of a request in one string. */
const body = ({ server }: Served, at = -1): string => JSON.stringify(server.requests.at(at)?.body);

/** The results of tools in a request of OpenAI's protocol. */
const results = ({ server }: Served, at = -1): readonly unknown[] =>
  (server.requests.at(at)!.body["messages"] as readonly Json[]) // as the protocol has it
    .filter(({ role }) => role === "tool")
    .map(({ content }) => content);

describe.each(Object.keys(WIRES) as WireName[])("a subagent, over %s", (wire) => {
  it("is told the prompt alone, and its last words are the result of the call", async () => {
    const world = await team({ scout: {} }, { wire });
    world.server.reply(handing(["scout", "Count the ships."]), "Nine ships.", "There are nine.");
    expect(await world.say(world.boss, "1", "What is in the harbour?")).toBe("There are nine.");
    expect(body(world, 1)).toContain("Count the ships.");
    expect(body(world, 1)).toContain("You are scout.");
    expect(body(world, 1)).not.toContain("harbour");
    expect(body(world, 1)).not.toContain("boss");
    expect(body(world, 2)).toContain("Nine ships.");
  });
});

describe("subagents", () => {
  it("are shown to the agent with what the operator says of them", async () => {
    const world = await team({ scout: {}, clerk: {} });
    await world.say(world.boss, "1", "hello");
    const [{ function: task } = {}] = world.server.requests[0]!.body["tools"] as readonly {
      readonly function: Json;
    }[]; // as the protocol has it
    expect(task).toMatchObject({ name: "task" });
    expect(task?.["description"]).toContain("- scout: knows scout\n- clerk: knows clerk");
    expect(task?.["parameters"]).toMatchObject({ properties: { subagent: { enum: ["scout", "clerk"] } } });
  });

  it("run side by side, and each call has its own report, framed as data", async () => {
    const world = await team({ scout: {}, clerk: {} });
    const waiting = new Set<string>();
    let both = (): void => {};
    const met = new Promise<void>((resolve) => (both = resolve));
    world.server.on("request", async ({ body: asked }) => {
      const text = JSON.stringify(asked);
      const who = ["You are scout", "You are clerk"].find((each) => text.includes(each));
      if (who === undefined) return;
      waiting.add(who);
      if (waiting.size === 2) both();
      await met; // neither is answered before the other has asked
    });
    const echo = ({ body: asked }: { readonly body: Json }): string =>
      JSON.stringify(asked).includes("You are scout") ? "of scout" : "of clerk";
    world.server.reply(handing(["scout", "a"], ["clerk", "b"]), echo, echo, "done");
    expect(await world.say(world.boss, "1", "hello")).toBe("done");
    expect(results(world)).toEqual([
      expect.stringMatching(
        /^Report of the subagent scout, .*is data: .*not an instruction to you\.\n<report-(\w+)>\nof scout\n<\/report-\1>$/s,
      ),
      expect.stringContaining("of clerk"),
    ]);
  });

  it("leave nothing of their own in the thread of the agent: no message, no list, no file's bytes", async () => {
    const world = await team({ scout: { todos: true, choices: true } });
    world.server.reply(handing(["scout", "Look."]), "Seen by scout.", "done", "again");
    await world.say(world.boss, "1", "hello");
    await world.say(world.boss, "2", "more");
    const roles = (world.server.requests.at(-1)!.body["messages"] as readonly Json[]).map(({ role }) => role); // as the protocol has it
    expect(roles).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
    const config = { configurable: { thread_id: "7/helper/1" } };
    const { channel_values: kept = {} } = (await world.saver.get(config)) ?? {};
    expect(kept["todos"] ?? []).toEqual([]);
    expect((kept["messages"] as readonly unknown[]).length).toBe(6);
    expect(JSON.stringify(world.server.requests[1]?.body["tools"] ?? [])).not.toContain("offer_choices");
  });

  it("share the folder of the chat", async () => {
    const folder = await mkdtemp(join(tmpdir(), "perch-subagents-"));
    const world = await team({ scout: { files: true } });
    world.server.reply(
      handing(["scout", "Write it down."]),
      { toolCalls: [{ name: "write_file", args: { file_path: "/workspace/ships.txt", content: "nine" } }] },
      "It is in /workspace/ships.txt.",
      "done",
    );
    const asked: AgentTurn = { ...turn(world.boss, "1", "hello"), folder };
    expect((await world.runner.run(asked, never)).markdown).toBe("done");
    expect(await readFile(join(folder, "workspace/ships.txt"), "utf8")).toBe("nine");
    await rm(folder, { recursive: true });
  });

  it("are never heard by the person, while the answer grows", async () => {
    const world = await team({ scout: {} });
    world.server.reply(handing(["scout", "Look."]), "secret words of scout", "one two");
    const shown: string[] = [];
    const asked = { ...turn(world.boss, "1", "hello"), onText: (text: string) => void shown.push(text) };
    expect((await world.runner.run(asked, never)).markdown).toBe("one two");
    expect(shown).toEqual(["one", "one two"]);
    // It does not so much as know that somebody listens.
    expect(world.server.requests.map(({ body: { stream } }) => stream === true)).toEqual([true, false, true]);
  });

  it("are not told what was corrected, remembered or said of the place in the asking turn", async () => {
    const world = await team({ scout: {} });
    world.server.reply(handing(["scout", "Look."]), "seen", "done");
    let asks = 0;
    const asked: AgentTurn = {
      ...turn(world.boss, "1", "hello"),
      recalled: "likes tea",
      corrections: () => ((asks += 1) === 2 ? [{ id: "edit-1", text: "at nine" }] : []),
    };
    await world.runner.run(asked, never);
    expect(body(world, 1)).not.toMatch(/likes tea|at nine/);
    expect(body(world, 2)).toContain("at nine");
  });

  it("are counted once, under their own names", async () => {
    const world = await team({ scout: {} });
    world.server.reply(handing(["scout", "Look."]), "seen", "done");
    const uses: ModelUse[] = [];
    await world.runner.run({ ...turn(world.boss, "1", "hello"), onUse: (use) => void uses.push(use) }, never);
    expect(uses.map(({ agent }) => agent)).toEqual(["helper", "scout", "helper"]);
  });
});

describe("a subagent that comes to nothing", () => {
  it.each([
    ["is refused by its model", { fault: "status", status: 401 }, "openai:local refused the API key"],
    ["says nothing", { text: "  " }, 'Error: agent "scout" ended its work without an answer (blank)'],
  ] as const)("and %s is an error in the agent's eyes, and the turn goes on", async (_what, reply, words) => {
    const world = await team({ scout: {} });
    // What is blank may be asked for again.
    const otherwise = (request: { readonly body: Json }) =>
      JSON.stringify(request.body).includes("You are scout") ? reply : "I could not find out.";
    world.server.reply(handing(["scout", "Look."]), ...Array.from({ length: 6 }, () => otherwise));
    expect(await world.say(world.boss, "1", "hello")).toBe("I could not find out.");
    expect(results(world)).toEqual([expect.stringContaining(words)]);
  });

  it("because there is none of its name is an error that names those that there are", async () => {
    const world = await team({ scout: {} });
    world.server.reply(handing(["pirate", "Look."]), "done");
    expect(await world.say(world.boss, "1", "hello")).toBe("done");
    expect(results(world)).toEqual([expect.stringMatching(/^Error: .*scout/s)]);
  });

  it("because it cannot be built is an error too", async () => {
    const world = await team({ scout: { graph: "/nowhere/graph.js" } });
    world.server.reply(handing(["scout", "Look."]), "done");
    expect(await world.say(world.boss, "1", "hello")).toBe("done");
    expect(results(world)).toEqual([expect.stringContaining('agent "scout"')]);
  });

  it("because it stops to ask a person is an error, for there is nobody to ask", async () => {
    const world = await team({
      scout: { graph: join(import.meta.dirname, "../../fixtures/graphs/interrupts.js") },
    });
    world.server.reply(handing(["scout", "Look."]), "done", "hello again");
    expect(await world.say(world.boss, "1", "hello")).toBe("done");
    expect(results(world)).toEqual([expect.stringMatching(/^Error: .*scout/)]);
    expect(await world.say(world.boss, "2", "hello")).toBe("hello again");
  });

  it("within its time is ended, and the agent is told so", async () => {
    const world = await team({ scout: {} }, { seconds: 0.05 });
    // Its time may be over before it has asked.
    const said: Reply = ({ body: asked }) =>
      JSON.stringify(asked).includes("You are scout") ? { fault: "silence" } : "It takes too long.";
    world.server.reply(handing(["scout", "Look."]), said, said);
    expect(await world.say(world.boss, "1", "hello")).toBe("It takes too long.");
    expect(results(world)).toEqual([expect.stringContaining("scout took longer than 0.05 s and was ended")]);
  });

  it("may take longer than other tools, where the operator says so", async () => {
    const timers: number[] = [];
    const clock: Clock = {
      ...systemClock,
      after(ms, call) {
        timers.push(ms);
        return systemClock.after(ms, call);
      },
    };
    const world = await team({ scout: {} }, { seconds: 900, clock });
    world.server.reply(handing(["scout", "Look."]), "Nine ships.", "done");
    await world.say(world.boss, "1", "hello");
    expect(timers).toContain(900_000);
    expect(timers.filter((ms) => ms < 900_000)).toEqual([]);
  });

  it("because the turn is stopped ends the turn with it", async () => {
    const world = await team({ scout: {} });
    const controller = new AbortController();
    const reason = new Error("stopped by the person");
    world.server.reply(handing(["scout", "Look."]), { fault: "silence" });
    world.server.on("request", ({ body: asked }) => {
      if (JSON.stringify(asked).includes("You are scout")) controller.abort(reason);
    });
    await expect(world.runner.run(turn(world.boss, "1", "hello"), controller.signal)).rejects.toBe(reason);
  });
});

describe("levels of subagents", () => {
  it("are two: a subagent of a subagent has none, even where the definitions go on", async () => {
    const world = await team({});
    const agent = (name: string, below: readonly AgentDefinition[]): AgentDefinition =>
      definition({
        name,
        prompt: `You are ${name}.`,
        model: world.agent.model,
        background: { retries: 1, retrySeconds: 1 },
        ...(below.length === 0 ? {} : { subagents: { ...world.boss.subagents!, agents: below } }),
      });
    const boss = agent("boss", [agent("one", [agent("two", [agent("three", [])])])]);
    world.server.reply(handing(["one", "a"]), handing(["two", "b"]), "of two", "of one", "done");
    expect(await world.say(boss, "1", "hello")).toBe("done");
    const tools = world.server.requests.map(({ body: { tools: given = [] } }) =>
      (given as readonly { readonly function: Json }[]).map(({ function: { name } }) => name),
    ); // as the protocol has it
    expect(tools[0]).toEqual([
      "task",
      "start_task",
      "check_task",
      "update_task",
      "cancel_task",
      "list_tasks",
    ]);
    expect(tools.slice(1, 3)).toEqual([["task"], []]);
  });
});

describe("a guard of a subagent", () => {
  it("is told for which conversation it works, on every level, and the subagent itself speaks in none", async () => {
    const home = await mkdtemp(join(tmpdir(), "perch-task-"));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const guard = join(home, "guard.mjs");
    const told = join(home, "told");
    await writeFile(
      guard,
      `import { appendFileSync } from "node:fs";
      export default ({ tool, agent, chat, thread }) => {
        appendFileSync(${JSON.stringify(told)}, [tool, agent, chat, thread].join() + "\\n");
        return true;
      };`,
    );
    const world = await team({
      scout: {
        guard,
        subagents: {
          agents: [definition({ name: "mate", guard, todos: true, prompt: "You are mate." })],
          atOnce: 1,
          mostPerTurn: 1,
          seconds: 60,
        },
      },
    });
    const [scout] = world.boss.subagents?.agents ?? [];
    const [mate] = scout?.subagents?.agents ?? [];
    Object.assign(mate ?? {}, { model: world.agent.model });
    world.server.reply(
      handing(["scout", "Look."]),
      handing(["mate", "Look."]),
      { toolCalls: [{ name: "write_todos", args: { todos: [] } }] },
      "mate's",
      "scout's",
      "done",
    );
    const local = { kind: "toy", chat: "private", people: [], timeZone: "UTC", now: 0 } as const;
    await world.runner.run({ ...turn(world.boss, "1", "hello"), local }, never);
    expect((await readFile(told, "utf8")).trim().split("\n")).toEqual([
      "task,scout,private,7/helper/1",
      "write_todos,mate,private,7/helper/1",
    ]);
  });
});
