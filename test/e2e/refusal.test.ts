import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import { systemClock } from "../../src/core/clock.ts";
import { realAgents } from "../support/agents.ts";
import { AGENT, testGateway, type TestGateway } from "../support/gateway.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Reply } from "../support/models/server.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

it("tells the person of a picture that the model refuses, answers without it, and sends it to the model never again, also after a restart", async () => {
  const model = await startOpenAi({ otherwise: "answered" });
  const folder = await mkdtemp(join(tmpdir(), "perch-refusal-"));
  cleanups.push(
    () => model.close(),
    () => rm(folder, { recursive: true }),
  );
  const agent: AgentDefinition = {
    ...AGENT,
    model: { provider: "openai", name: "test", baseUrl: model.url, apiKey: "none" },
  };
  const start = async (earlier?: TestGateway): Promise<TestGateway> => {
    const gateway = await testGateway({
      folder,
      ...(earlier && { platform: earlier.platform }),
      clock: systemClock,
      agents: [agent],
      runner: realAgents(),
    });
    cleanups.push(gateway.close);
    return gateway;
  };
  const photo = await readFile(new URL("../fixtures/media/photo.jpg", import.meta.url));
  const refuse: Reply = ({ body }) =>
    JSON.stringify(body).includes("image_url")
      ? { fault: "status", status: 400, message: "Invalid image data" }
      : "answered";
  const pictures = (): readonly boolean[] =>
    model.requests.map(({ body }) => JSON.stringify(body).includes("image_url"));

  const first = await start();
  model.reply(refuse, refuse);
  await first.platform.sendFile("c1", photo, "cat.jpg");
  await first.platform.until((shown) => shown.length >= 2);
  expect(first.platform.textsIn("c1")).toEqual([
    "The model did not take cat.jpg, so I answered without it.",
    "answered",
  ]);
  expect(pictures()).toEqual([true, false]);

  await first.gateway.stop(0);
  const second = await start(first);
  await second.platform.say("c1", "and now?");
  await second.platform.until((shown) => shown.length >= 3);
  expect(pictures()).toEqual([true, false, false]);
});
