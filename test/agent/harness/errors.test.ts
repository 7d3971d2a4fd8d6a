import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { afterEach, describe, expect, it } from "vitest";
import {
  isBurst,
  mayPass,
  modelFailure,
  picturesTaken,
  reasonOf,
  refusesContent,
  retryAfterMs,
} from "../../../src/agent/harness/errors.ts";
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

describe.each(["openai", "anthropic"] as const)("why a call to %s failed", (provider) => {
  it.each([
    [400, "messages: at least one is required", "invalid", false],
    [400, "prompt is too long: 250000 tokens > 200000 maximum", "overflow", false],
    [400, "Your credit balance is too low to access the API", "quota", false],
    [400, "Output blocked by content filtering policy", "refused", false],
    [401, "Incorrect API key provided", "key", false],
    [402, "Insufficient credits", "quota", false],
    [403, "Your input was flagged by moderation", "refused", false],
    [403, "Forbidden", "key", false],
    [404, "The model does not exist", "not_found", false],
    [408, "Request timeout", "busy", true],
    [409, "Conflict", "busy", true],
    [413, "Request too large", "overflow", false],
    [425, "Too early", "busy", true],
    [429, "Rate limit reached for requests per minute", "rate", true],
    [429, "You exceeded your current quota, please check your plan and billing details.", "quota", false],
    [429, "You exceeded your current quota. Please retry in 20s.", "rate", true],
    [429, "Quota exceeded for GenerateRequestsPerDay, please retry in 20s", "quota", false],
    [500, "Internal server error", "busy", true],
    [501, "Not implemented", "busy", false],
    [502, "Bad gateway", "busy", true],
    [503, "Service unavailable", "busy", true],
    [504, "Gateway timeout", "busy", true],
    [529, "Overloaded", "busy", true],
  ] as const)("of status %i, “%s”: %s, to be tried again: %s", async (status, message, reason, again) => {
    const thrown = await thrownBy(provider, { fault: "status", status, message });
    expect({ reason: reasonOf(thrown), again: mayPass(thrown) }).toEqual({ reason, again });
    expect(modelFailure(thrown, { provider, name: "m" })).toMatchObject({ code: "model.failed", reason });
  });

  it.each([
    ["reset", { fault: "reset" } as const],
    ["broken off", { fault: "reset-mid-stream", text: "one two", words: 1 } as const],
  ])("of a connection that was %s: broken, to be tried again", async (_what, reply) => {
    const thrown = await thrownBy(provider, reply);
    expect({ reason: reasonOf(thrown), again: mayPass(thrown) }).toEqual({ reason: "broken", again: true });
  });

  it("reads how long to wait as seconds and as a date", async () => {
    const seconds = await thrownBy(provider, { fault: "status", status: 503, retryAfterSeconds: 7 });
    expect(retryAfterMs(seconds)).toBe(7_000);
    const retryAfterDate = "Wed, 21 Oct 2026 07:28:00 GMT";
    const dated = await thrownBy(provider, { fault: "status", status: 503, retryAfterDate });
    expect(retryAfterMs(dated, Date.parse("2026-10-21T07:27:30Z"))).toBe(30_000);
    expect(retryAfterMs(dated, Date.parse("2026-10-21T08:00:00Z"))).toBe(0);
    expect(retryAfterMs(dated)).toBeUndefined();
  });

  it("tells too many at once from too many in a minute", async () => {
    const refused = async (message: string) =>
      isBurst(await thrownBy(provider, { fault: "status", status: 429, message }));
    expect(await refused("Request rate increased too quickly")).toBe(true);
    expect(await refused("Rate limit reached for requests per minute")).toBe(false);
  });

  it("reads how many pictures a request may hold", async () => {
    const taken = async (message: string) =>
      picturesTaken(await thrownBy(provider, { fault: "status", status: 400, message }), 30);
    expect(await taken("At most 4 image(s) may be provided in one request.")).toBe(4);
    expect(await taken("image dimensions exceed max allowed size for many-image requests: 2000 pixels")).toBe(
      15,
    );
    expect(await taken("At most 0 image(s) may be provided in one request.")).toBeUndefined();
    expect(await taken("Could not process image")).toBeUndefined();
  });
});

describe("a failure whose status was well before it", () => {
  const streamed = (type: string, message: string): Error =>
    Object.assign(new Error(message), { error: { type: "error", error: { type, message } } });

  it.each([
    ["overloaded_error", "Overloaded", "busy"],
    ["api_error", "Internal server error", "busy"],
    ["rate_limit_error", "Too many", "rate"],
  ] as const)("is known by its words: %s", (type, message, reason) => {
    expect(reasonOf(streamed(type, message))).toBe(reason);
    expect(mayPass(streamed(type, message))).toBe(true);
  });
});

it("reads how long Google asks to wait, whose client keeps no headers", () => {
  const errorDetails = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "20s" }];
  expect(retryAfterMs(Object.assign(new Error("429"), { status: 429, errorDetails }))).toBe(20_000);
});

it("does not call a fault in a client a fault of the network", () => {
  const failure = modelFailure(new TypeError("x is not a function"), { provider: "openai", name: "m" });
  expect(failure.message).toBe("openai:m failed before it answered; the cause is in the log");
});

it("passes an error of ours as it is", () => {
  const ours = new GatewayError("store.hold_lost", "held by another");
  expect(modelFailure(ours, { provider: "openai", name: "m" })).toBe(ours);
});
