import { isBaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { Breakers } from "../../../src/agent/harness/breakers.ts";
import { aroundModel, aroundTool } from "../../../src/agent/harness/stages.ts";
import { createAgentRunner } from "../../../src/agent/runner.ts";
import type { ModelUse } from "../../../src/core/usage.ts";
import { memoryLog } from "../../support/channel-host.ts";
import type { Answer, ModelServer } from "../../support/models/server.ts";
import { closeServers, served } from "../model-servers.ts";
import { definition, hurried, memoryBlobs, turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;

describe("the stages of the harness", () => {
  const parts = {
    blobs: memoryBlobs(),
    senses: { images: true, pdf: true, audio: true },
    files: true,
    clock: hurried,
    log: memoryLog([]),
    breakers: new Breakers(hurried),
  };

  it("stand around the model in this order, the outermost first", () => {
    expect(aroundModel(definition(), parts).map(([name]) => name)).toEqual([
      "approved call",
      // What the thread is, and what of it is sent.
      "what came meanwhile",
      "what was given",
      "window",
      "local context",
      "recalled",
      "repair",
      "viewed files",
      "deferred tools",
      // What the model says, from the outcome back to its words.
      "rubric",
      "todos",
      "loops",
      "safety",
      "readable calls",
      "no thoughts",
      // Whether it answers at all.
      "failures",
      "fallbacks",
      "breaker",
      "retries",
      // One request.
      "followed",
      "no foreign blocks",
      "accounting",
      "media",
      "tools if taken",
      "known files",
      "prompt cache",
      // Each request that is really sent.
      "allowance",
    ]);
  });

  it("stand around a tool in this order, the outermost first", () => {
    expect(aroundTool(definition(), parts).map(([name]) => name)).toEqual([
      "deferred block",
      "known tools",
      "guard",
      "approvals",
      "subagent limit",
      "effects",
      "followed",
      "folder turns",
      "output budget",
      "plain results",
    ]);
  });

  it("work on one turn from the inside out, and leave the thread what people and agent said", async () => {
    const { server: grader, agent: other } = await served("anthropic");
    const { server, agent, saver, blobs } = await served("openai", {
      todos: true,
      rubric: { criteria: "It is final.", rounds: 3, model: other.model },
    });
    const runner = createAgentRunner({ saver: async () => saver, blobs, clock: hurried, log: memoryLog([]) });
    server.reply(
      { fault: "status", status: 500 },
      { text: "" },
      list("pending"),
      "A draft.",
      list("completed"),
      "A second draft.",
      "The answer.",
    );
    grader.reply(grade("needs_revision", "It is not final."), grade("satisfied"));
    const uses: ModelUse[] = [];
    const corrections = [{ id: "c", text: "today, not tomorrow" }];
    const { markdown } = await runner.run(
      {
        ...turn(agent, "1", "book it"),
        onUse: (use) => void uses.push(use),
        corrections: () => corrections.splice(0),
      },
      never,
    );

    expect(markdown).toBe("The answer.");
    // Corrections stand outermost: each request after the first holds them too, whoever asked for it.
    expect(notesIn(server, ["today, not tomorrow"])).toEqual(Array(7).fill("today, not tomorrow"));
    // Retries ask the same, safety asks within the list, the list within the rubric.
    expect(
      notesIn(server, ["your last message was empty", "items of your list are open", "It is not final."]),
    ).toEqual([
      "",
      "",
      "your last message was empty",
      "",
      "items of your list are open",
      "",
      "It is not final.",
    ]);
    // Only what stood through safety and list is graded.
    expect(notesIn(grader, ["A draft.", "A second draft.", "The answer."])).toEqual([
      "A second draft.",
      "The answer.",
    ]);
    // Each answer is counted once, the one that never came is not.
    expect(uses.map(({ model }) => model.split(":")[0])).toEqual([
      ...Array<string>(5).fill("openai"),
      "anthropic",
      "openai",
      "anthropic",
    ]);
    const kept = await saver.getTuple({ configurable: { thread_id: "7/helper/1" } });
    const messages = kept?.checkpoint.channel_values["messages"];
    expect(
      Array.isArray(messages) && messages.filter(isBaseMessage).map(({ type, text }) => `${type}: ${text}`),
    ).toEqual([
      "human: book it",
      "human: today, not tomorrow",
      "ai: ",
      "tool: The list is now:\n- pending: Book",
      "ai: ",
      "tool: The list is now:\n- completed: Book",
      "ai: The answer.",
    ]);
  });
});

function list(status: string): Answer {
  return { toolCalls: [{ name: "write_todos", args: { todos: [{ content: "Book", status }] } }] };
}

function grade(verdict: string, feedback = ""): string {
  return JSON.stringify({ verdict, feedback });
}

/** Which of these each request ends with or holds, the last of them where there are several. */
function notesIn({ requests }: ModelServer, notes: readonly string[]): readonly string[] {
  return requests.map(({ body }) => notes.findLast((note) => JSON.stringify(body).includes(note)) ?? "");
}
