import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { loadModel } from "../../src/agent/models.ts";
import { startAnthropic } from "../support/models/anthropic.ts";
import { startOpenAi } from "../support/models/openai.ts";
import { memoryBlobs } from "./set-up.ts";

const PROVIDERS = [
  ["openai", startOpenAi],
  ["anthropic", startAnthropic],
] as const;

it.each(PROVIDERS)("%s leaves nothing on the signal of a call", async (provider, start) => {
  const server = await start();
  const model = await loadModel(
    { provider, name: "test", baseUrl: server.url, apiKey: "given" },
    memoryBlobs(),
  );
  const { signal } = new AbortController();
  expect((await model.invoke("hello", { signal })).text).toBe("hello");
  // As an agent asks: with tools, and word by word.
  const bound = model.bindTools?.([]) ?? model;
  let streamed = "";
  for await (const { text } of await bound.stream("hello", { signal })) streamed += text;
  expect(streamed).toBe("hello");
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await server.close();
});

it.each(PROVIDERS)("%s ends a call when its signal says so", async (provider, start) => {
  const server = await start();
  server.reply({ fault: "silence" });
  const model = await loadModel(
    { provider, name: "test", baseUrl: server.url, apiKey: "given" },
    memoryBlobs(),
  );
  const stop = new AbortController();
  server.on("request", () => stop.abort(new Error("stopped by the test")));
  await expect(model.invoke("hello", { signal: stop.signal })).rejects.toThrow(/abort|stopped by the test/i);
  expect(server.requests).toHaveLength(1);
  await server.close();
});
