import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ModelChoice } from "../../src/core/agent.ts";
import { loadModel, loadPackage, PACKAGES } from "../../src/agent/models.ts";
import { startAnthropic } from "../support/models/anthropic.ts";
import { startGoogle } from "../support/models/google.ts";
import { startOllama } from "../support/models/ollama.ts";
import { startOpenAi } from "../support/models/openai.ts";
import { failure, memoryBlobs } from "./set-up.ts";

const load = (choice: Partial<ModelChoice>) =>
  loadModel({ provider: "openai", name: "m", ...choice }, memoryBlobs());

describe("loading a model", () => {
  // What a developer's own shell may hold must not be sent anywhere.
  const variables = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "GOOGLE_API_KEY",
    "OLLAMA_API_KEY",
  ] as const;
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
    ["google-genai", startGoogle, "x-goog-api-key", "given"],
  ] as const)(
    "asks %s at the given address with the given key alone",
    async (provider, start, header, value) => {
      const server = await start();
      const model = await load({ provider, name: "some-model", baseUrl: server.url, apiKey: "given" });
      expect((await model.invoke("hello")).text).toBe("hello");
      expect(server.requests[0]?.headers[header]).toBe(value);
      expect(`${server.requests[0]?.path} ${String(server.requests[0]?.body["model"])}`).toContain(
        "some-model",
      );
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

  it("asks Ollama without any key", async () => {
    const server = await startOllama();
    await (await load({ provider: "ollama", baseUrl: server.url })).invoke("hello");
    expect(JSON.stringify(server.requests[0]?.headers)).not.toMatch(/from-the-environment|authorization/);
    await server.close();
  });

  it.each([
    ["openai", "OPENAI_API_KEY"],
    ["anthropic", "ANTHROPIC_API_KEY"],
    ["google-genai", "GOOGLE_API_KEY"],
  ])("says which key %s lacks", async (provider, variable) => {
    expect(await failure(load({ provider }))).toMatchObject({
      code: "model.failed",
      message: `${provider} has no API key; set ${variable}, or apiKey in the agent's model`,
    });
  });

  it("says how to install a package that is not there", async () => {
    const name = "@langchain/not-there";
    expect(await failure(loadPackage(name, () => import(name) as Promise<unknown>))).toMatchObject({
      code: "model.missing_package",
      message: `the package ${name} is not installed; run: npm install ${name}`,
    });
  });

  it("knows versions of the packages that are installed when they are needed", async () => {
    const { devDependencies } = JSON.parse(await readFile("package.json", "utf8")) as {
      readonly devDependencies: Readonly<Record<string, string>>;
    }; // our own
    for (const [name, version] of Object.entries(PACKAGES)) expect(devDependencies[name]).toBe(version);
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
