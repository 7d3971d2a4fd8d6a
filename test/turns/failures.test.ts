import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { type ErrorCode, GatewayError, type ModelReason } from "../../src/core/errors.ts";
import { say, type SentenceKey } from "../../src/core/sentences.ts";
import { failureWords } from "../../src/turns/failures.ts";
import { realAgents } from "../support/agents.ts";
import { manualClock } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway } from "../support/gateway.ts";
import { startOpenAi } from "../support/models/openai.ts";
import { ToyPlatform } from "../support/toy-channel.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

describe("what a person is told of a failed turn", () => {
  it.each<[ErrorCode | "unexpected", ModelReason | undefined, SentenceKey]>([
    ["model.failed", "refused", "turn.model_refused"],
    ["model.failed", "overflow", "turn.model_overflow"],
    ["model.failed", "key", "turn.model_key"],
    ["model.failed", "quota", "turn.model_quota"],
    ["model.failed", "rate", "turn.model_rate"],
    ["model.failed", "busy", "turn.model_busy"],
    ["model.failed", "broken", "turn.model_broken"],
    ["model.failed", "not_found", "turn.model_unknown"],
    ["model.failed", "invalid", "turn.model_failed"],
    ["model.failed", undefined, "turn.model_failed"],
    ["model.unknown", undefined, "turn.model_unknown"],
    ["model.missing_package", undefined, "turn.model_unknown"],
    ["agent.invalid", undefined, "turn.failed"],
    ["unexpected", undefined, "turn.failed"],
  ])("for %s (%s) is %s, in their language", (code, reason, key) => {
    expect(failureWords({ code, reason }, AGENT, "en")).toBe(say(key, "en"));
    expect(failureWords({ code, reason }, AGENT, "de")).toBe(say(key, "de"));
  });

  it("names the minutes of a turn that took too long", () => {
    const agent = { ...AGENT, limits: { ...AGENT.limits, turnSeconds: 180 } };
    expect(failureWords({ code: "turn.timed_out" }, agent, "de")).toContain("länger als 3 min");
  });

  it.each([
    ["Kannst du mir bitte helfen?", "de"],
    ["Can you help me?", "en"],
    ["?", "en"],
  ] as const)("is in the language of %j", async (text, language) => {
    const clock = manualClock();
    const gateway: TestGateway = await testGateway({
      clock,
      answer: () => {
        throw new GatewayError("model.failed", "openai:m is down", { reason: "busy" });
      },
    });
    ends.push(() => gateway.close());
    await gateway.platform.say("ada", text);
    await clock.advance(300);
    expect(gateway.platform.textsIn("ada")).toEqual([say("turn.model_busy", language)]);
    // The log has the reason, and not the words.
    const line = gateway.logged.find(({ sentence }) => sentence === "the model did not answer");
    expect(line?.fields["reason"]).toBe("busy");
    expect(JSON.stringify(gateway.logged)).not.toContain("helfen");
  });

  it("holds nothing of what the provider has said", async () => {
    const server = await startOpenAi();
    ends.push(() => server.close());
    const platform = new ToyPlatform();
    const gateway = await testGateway({
      clock: systemClock,
      platform,
      agents: [
        { ...AGENT, model: { provider: "openai", name: "m", baseUrl: server.url, apiKey: "sk-secret" } },
      ],
      runner: realAgents(),
    });
    ends.push(() => gateway.close());
    server.reply({ fault: "status", status: 401, message: "Incorrect API key provided: sk-secret" });
    const sentAt = new Date(systemClock.now()).toISOString();
    await platform.say("ada", "Was ist das hier?", { whole: true, sentAt });
    const shown = await platform.until(({ length }) => length > 0);
    expect(shown.map(({ text }) => text)).toEqual([say("turn.model_key", "de")]);
  });
});
