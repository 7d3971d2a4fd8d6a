import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ModelChoice } from "../../src/core/agent.ts";
import { loadModel } from "../../src/agent/models.ts";
import { startAnthropic } from "../support/models/anthropic.ts";
import { startOpenAi } from "../support/models/openai.ts";
import { failure, memoryBlobs } from "./set-up.ts";

const load = (choice: Partial<ModelChoice>) =>
  loadModel({ provider: "openai", name: "m", ...choice }, memoryBlobs());

describe("loading a model", () => {
  // What a developer's own shell may hold must not be sent anywhere.
  const variables = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"] as const;
  const before = variables.map((name) => process.env[name]);
  beforeEach(() => {
    for (const name of variables) process.env[name] = "from-the-environment";
  });
  afterEach(() => {
    for (const [at, name] of variables.entries()) {
      const value = before[at];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  it.each([
    ["openai", startOpenAi, "authorization", "Bearer given"],
    ["anthropic", startAnthropic, "x-api-key", "given"],
  ] as const)(
    "asks %s at the given address with the given key alone",
    async (provider, start, header, value) => {
      const server = await start();
      const model = await load({ provider, name: "some-model", baseUrl: server.url, apiKey: "given" });
      expect((await model.invoke("hello")).text).toBe("hello");
      expect(server.requests[0]?.headers[header]).toBe(value);
      expect(server.requests[0]?.body["model"]).toBe("some-model");
      expect(JSON.stringify(server.requests[0]?.headers)).not.toContain("from-the-environment");
      await server.close();
    },
  );

  it("asks a compatible server without a key where none is given", async () => {
    const server = await startOpenAi();
    await (await load({ baseUrl: server.url })).invoke("hello");
    expect(server.requests[0]?.headers["authorization"]).toBe("Bearer none");
    await server.close();
  });

  it.each([
    ["openai", "OPENAI_API_KEY"],
    ["anthropic", "ANTHROPIC_API_KEY"],
  ])("says which key %s lacks", async (provider, variable) => {
    expect(await failure(load({ provider }))).toMatchObject({
      code: "model.failed",
      message: `${provider} has no API key; set ${variable}, or apiKey in the agent's model`,
    });
  });

  it.each([
    ["google-genai", "2.3.2"],
    ["ollama", "1.3.0"],
  ])("says how to install the package of %s", async (provider, version) => {
    const name = `@langchain/${provider}`;
    expect(await failure(load({ provider, apiKey: "k" }))).toMatchObject({
      code: "model.missing_package",
      message: `the package ${name} is not installed; run: npm install ${name}@${version}`,
    });
  });

  it.each([
    ["opnai", 'no model provider is called "opnai"; did you mean "openai"? '],
    ["Anthropic", 'no model provider is called "Anthropic"; did you mean "anthropic"? '],
    ["toString", 'no model provider is called "toString" '],
  ])("knows no provider %s and says which it knows", async (provider, words) => {
    expect(await failure(load({ provider }))).toMatchObject({
      code: "model.unknown",
      message: `${words}Known are: openai, anthropic, google-genai, ollama, demo`,
    });
  });
});
