import type { BaseMessage } from "@langchain/core/messages";
import { afterEach, expect, it } from "vitest";
import { listOf } from "../../support/models/server.ts";
import { base64, medium } from "../media-blocks.ts";
import { closeServers, served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

it("stands right before the newest question, in each request of its turn, and never in the thread", async () => {
  const told = await served("openai", { choices: true });
  const run = (id: string, recalled?: string) =>
    told.runner.run(
      { ...turn(told.agent, id, `question ${id}`), ...(recalled === undefined ? {} : { recalled }) },
      new AbortController().signal,
    );
  const sent = (request = -1): readonly string[] =>
    listOf(told.server.requests.at(request)?.body["messages"])
      .filter(({ role }) => role === "user")
      .map(({ content }) => String(content));

  told.server.reply({ toolCalls: [{ name: "nothing", args: {} }] });
  await run("1", "[remembered: tea]");
  expect([sent(0), sent(1)]).toEqual([
    ["[remembered: tea]", "question 1"],
    ["[remembered: tea]", "question 1"],
  ]);
  await run("2", "[remembered: coffee]");
  expect(sent()).toEqual(["question 1", "[remembered: coffee]", "question 2"]);
  await run("3", "  ");
  expect(sent()).toEqual(["question 1", "question 2", "question 3"]);

  const stored = await told.saver.getTuple({ configurable: { thread_id: "7/helper/1" } });
  const messages = stored?.checkpoint.channel_values["messages"] as readonly BaseMessage[]; // of a thread of ours
  expect(messages.map(({ text }) => text).join("\n")).not.toContain("remembered");
});

it("takes no place of the turns whose media are shown", async () => {
  const told = await served("openai", {
    limits: { turnSeconds: 60, messages: 40, characters: 20_000, mediaTurns: 2 },
  });
  const run = async (id: string, content: Parameters<typeof turn>[2]) =>
    told.runner.run(
      { ...turn(told.agent, id, content), recalled: "[remembered: tea]" },
      new AbortController().signal,
    );
  await run("1", [await medium(told.blobs, { type: "image", mimeType: "image/jpeg" }, { bytes: "PHOTO" })]);
  await run("2", "and?");
  expect(JSON.stringify(told.server.requests.at(-1)?.body)).toContain(base64("PHOTO"));
});
