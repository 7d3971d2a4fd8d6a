import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { afterEach, describe, expect, it } from "vitest";
import { modelFailure, refusesContent } from "../../../src/agent/harness/errors.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { startAnthropic } from "../../support/models/anthropic.ts";
import { startOpenAi } from "../../support/models/openai.ts";
import type { ModelServer, Reply } from "../../support/models/server.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** What the real client throws when the server says this. */
async function thrownBy(provider: "openai" | "anthropic", reply: Reply): Promise<unknown> {
  const server = await (provider === "openai" ? startOpenAi() : startAnthropic());
  servers.push(server);
  server.reply(reply);
  const model =
    provider === "openai"
      ? new ChatOpenAI({ model: "m", apiKey: "k", maxRetries: 0, configuration: { baseURL: server.url } })
      : new ChatAnthropic({ model: "m", apiKey: "k", maxRetries: 0, anthropicApiUrl: server.url });
  try {
    const stream = await model.stream("hello");
    for await (const { text } of stream) expect(text).not.toContain("two");
    return undefined;
  } catch (error) {
    return error;
  }
}

describe.each(["openai", "anthropic"] as const)("what a failed call to %s means", (provider) => {
  const choice = { provider, name: "m" };

  it.each([
    [400, "refused the request as not valid (status 400)"],
    [401, "refused the API key (status 401); check the key"],
    [404, "is not known there (status 404); check the model's name and address"],
    [500, "failed on its own side (status 500); try again later"],
  ])("says what status %i means, without the provider's words", async (status, words) => {
    const cause = await thrownBy(provider, { fault: "status", status });
    const failure = modelFailure(cause, choice);
    expect(failure).toMatchObject({ code: "model.failed", message: `${provider}:m ${words}`, cause });
    expect(refusesContent(cause)).toBe(status === 400);
  });

  it("keeps how long the provider asks to wait", async () => {
    const cause = await thrownBy(provider, { fault: "status", status: 429, retryAfterSeconds: 20 });
    expect(modelFailure(cause, choice)).toMatchObject({ code: "model.failed", retryAfterMs: 20_000 });
  });

  it.each([
    ["was reset", { fault: "reset" } as const],
    ["broke off", { fault: "reset-mid-stream", text: "one two", words: 1 } as const],
  ])("says when the connection %s", async (_what, reply) => {
    const failure = modelFailure(await thrownBy(provider, reply), choice);
    expect(failure.message).toBe(
      `${provider}:m could not be reached, or broke off; check its address and try again`,
    );
  });
});

it("does not call a fault in a client a fault of the network", () => {
  const failure = modelFailure(new TypeError("x is not a function"), { provider: "openai", name: "m" });
  expect(failure.message).toBe("openai:m failed before it answered; the cause is in the log");
});

it("passes an error of ours as it is", () => {
  const ours = new GatewayError("store.hold_lost", "held by another");
  expect(modelFailure(ours, { provider: "openai", name: "m" })).toBe(ours);
});
