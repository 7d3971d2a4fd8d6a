import type { BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { say } from "../../../src/core/sentences.ts";
import type { Answer } from "../../support/models/server.ts";
import { closeServers, served, type Served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;
const UNREADABLE = "could not be read, so it was not made";
const broken: Answer = {
  text: "Let me ask.",
  toolCalls: [{ name: "offer_choices", args: {}, written: "choices = Tea" }],
};

const world = () => served("openai", { choices: true });

const ask = async (told: Served, id: string, shown: string[] = []) =>
  (
    await told.runner.run(
      { ...turn(told.agent, id, `question ${id}`), onText: (text) => shown.push(text) },
      never,
    )
  ).markdown;

const bodies = ({ server }: Served): readonly string[] =>
  server.requests.map(({ body }) => JSON.stringify(body));

describe("a call whose arguments nobody can read", () => {
  it("is told of as its result, and the model goes on", async () => {
    const told = await world();
    const shown: string[] = [];
    told.server.reply(broken, "Tea or coffee?");
    expect(await ask(told, "1", shown)).toBe("Tea or coffee?");
    expect(shown.at(-1)).toBe("Tea or coffee?");
    const [, second = ""] = bodies(told);
    expect(second).toContain(UNREADABLE);
    expect(second).not.toContain("Tea");
  });

  it("stands in the thread as such, and later requests are taken", async () => {
    const told = await world();
    told.server.reply(broken, "Tea or coffee?", "Well.");
    await ask(told, "1");
    expect(await ask(told, "2")).toBe("Well.");
    expect(bodies(told)[2]).toContain(UNREADABLE);
    const stored = await told.saver.getTuple({ configurable: { thread_id: "7/helper/1" } });
    const messages = stored?.checkpoint.channel_values["messages"] as readonly BaseMessage[]; // of a thread of ours
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai", "human", "ai"]);
  });

  it("beside one that can be read is told of with that one's result", async () => {
    const told = await world();
    told.server.reply(
      {
        toolCalls: [
          { name: "offer_choices", args: { choices: ["Tea", "Milk"] } },
          ...(broken.toolCalls ?? []),
        ],
      },
      "Tea or milk?",
    );
    expect(await ask(told, "1")).toBe("Tea or milk?");
    expect(bodies(told)[1]).toContain(UNREADABLE);
  });

  it("ends the turn with a sentence where the model writes nothing else, and the next question is answered", async () => {
    const told = await world();
    const silent: Answer = { toolCalls: broken.toolCalls ?? [] };
    told.server.reply(silent, silent, silent);
    expect(await ask(told, "1")).toBe(say("answer.blank"));
    expect(told.server.requests).toHaveLength(3);
    told.server.reply("here again");
    expect(await ask(told, "2")).toBe("here again");
  });

  it.each(["null", "[1]", '"Tea"', "5", '{"choices":["Tea","Mi', '{"choices":["Tea","Milk"]}{"choices":[]}'])(
    "is one with %s for arguments too, streamed and whole",
    async (written) => {
      const told = await world();
      const badly: Answer = { toolCalls: [{ name: "offer_choices", args: {}, written }] };
      told.server.reply(badly, "Tea or coffee?", badly, "Coffee or tea?");
      expect(await ask(told, "1")).toBe("Tea or coffee?");
      const whole = await told.runner.run(turn(told.agent, "2", "again"), never);
      expect(whole).toMatchObject({ markdown: "Coffee or tea?" });
      expect(whole).not.toHaveProperty("choices");
      for (const at of [1, 3]) expect(bodies(told)[at]).toContain(UNREADABLE);
    },
  );
});
