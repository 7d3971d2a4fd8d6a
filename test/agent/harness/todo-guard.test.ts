import { afterEach, describe, expect, it } from "vitest";
import type { Answer } from "../../support/models/server.ts";
import { closeServers, served, type Served, type WireName } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;

type Status = "pending" | "in_progress" | "completed";
const list = (...items: readonly (readonly [content: string, status: Status])[]): Answer => ({
  toolCalls: [
    { name: "write_todos", args: { todos: items.map(([content, status]) => ({ content, status })) } },
  ],
});

async function ask(world: Served, id: string, said: string): Promise<string> {
  return (await world.runner.run(turn(world.agent, id, said), never)).markdown;
}

const bodies = ({ server }: Served): readonly string[] =>
  server.requests.map((request) => JSON.stringify(request.body));

const SENT_BACK = "items of your list are open";
const OUT_OF_VIEW = "no longer in view";

describe.each(["openai", "anthropic"] as const satisfies readonly WireName[])(
  "an answer that leaves items of the list open, over %s",
  (wire) => {
    it("is sent back, is not kept, and the model goes on", async () => {
      const world = await served(wire, { todos: true });
      world.server.reply(
        list(["Find flights", "completed"], ["Book hotel", "pending"]),
        "Here you are.",
        list(["Find flights", "completed"], ["Book hotel", "completed"]),
        "All is booked.",
        "You are welcome.",
      );
      expect(await ask(world, "1", "plan my trip")).toBe("All is booked.");
      expect(bodies(world).map((body) => body.includes(SENT_BACK))).toEqual([false, false, true, false]);
      await ask(world, "2", "thanks");
      const last = bodies(world).at(-1) ?? "";
      expect([last.includes("Here you are"), last.includes(SENT_BACK)]).toEqual([false, false]);
    });

    it("is let through after it was sent back twice in the turn", async () => {
      const world = await served(wire, { todos: true });
      world.server.reply(list(["Book hotel", "pending"]), "One.", "Two.", "Three.", "Bye.");
      expect(await ask(world, "1", "plan my trip")).toBe("Three.");
      expect(world.server.requests).toHaveLength(4);
      // The next turn is not about that list.
      expect(await ask(world, "2", "bye")).toBe("Bye.");
    });
  },
);

describe("a list of what is to be done", () => {
  it.each([
    ["speaks of what is open", "The flights are found, but I could not book the hotel."],
    ["asks something", "Shall I go on?"],
  ])("lets an answer through that %s", async (_name, answer) => {
    const world = await served("openai", { todos: true });
    world.server.reply(list(["Book the hotel", "in_progress"]), answer);
    expect(await ask(world, "1", "plan my trip")).toBe(answer);
    expect(world.server.requests).toHaveLength(2);
  });

  it("is shown again once it has left the window", async () => {
    const world = await served("openai", {
      todos: true,
      limits: { turnSeconds: 60, messages: 3, characters: 20_000, mediaTurns: 2 },
    });
    world.server.reply(list(["Book the hotel", "in_progress"]), "Shall I go on?");
    await ask(world, "1", "plan my trip");
    expect(bodies(world).filter((body) => body.includes(OUT_OF_VIEW))).toEqual([]);
    await ask(world, "2", "not yet");
    await ask(world, "3", "hm");
    const reminded = bodies(world).filter((body) => body.includes(OUT_OF_VIEW));
    expect(reminded.length).toBeGreaterThan(0);
    expect(reminded.every((body) => body.includes("in_progress: Book the hotel"))).toBe(true);
  });

  it("holds what was written last where it is written twice at once, and the turn ends with an answer", async () => {
    const world = await served("openai", { todos: true });
    const [first, second] = [list(["One", "completed"]), list(["Two", "completed"])];
    const twice = { toolCalls: [...(first.toolCalls ?? []), ...(second.toolCalls ?? [])] };
    world.server.reply(twice, "both", twice, "again");
    expect(await ask(world, "1", "write")).toBe("both");
    expect(await ask(world, "2", "once more")).toBe("again");
    const kept = await world.saver.getTuple({ configurable: { thread_id: "7/helper/1" } });
    expect(kept?.checkpoint.channel_values["todos"]).toEqual([{ content: "Two", status: "completed" }]);
  });

  it("keeps the answer where the model fails when it is asked again", async () => {
    const world = await served("openai", { todos: true });
    world.server.reply(list(["Book hotel", "pending"]), "Here you are.", { fault: "status", status: 400 });
    expect(await ask(world, "1", "plan my trip")).toBe("Here you are.");
  });
});
