import { afterEach, describe, expect, it } from "vitest";
import type { Step } from "../../../src/core/agent.ts";
import { closeServers, served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;
const todos = {
  toolCalls: [{ name: "write_todos", args: { todos: [{ content: "a", status: "completed" }] } }],
};

describe("the steps of a turn", () => {
  it("are told of to whoever follows: each request with the tries that failed, and each call of a tool", async () => {
    const world = await served("openai", { todos: true });
    world.server.reply({ fault: "status", status: 500, retryAfterSeconds: 0 }, todos, "done");
    const steps: Step[] = [];
    await world.runner.run(
      { ...turn(world.agent, "1", "go"), onStep: (step) => void steps.push(step) },
      never,
    );
    const model = `${world.agent.model.provider}:${world.agent.model.name}`;
    expect(steps.map(({ kind, name, failed }) => [kind, name, failed])).toEqual([
      ["model", model, true],
      ["model", model, false],
      ["tool", "write_todos", false],
      ["model", model, false],
    ]);
    expect(steps.every(({ from, until }) => from <= until)).toBe(true);
  });
});
