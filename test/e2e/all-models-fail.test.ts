import { expect, it, onTestFinished } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import { scaledClock } from "../../src/core/clock.ts";
import { say } from "../../src/core/sentences.ts";
import { realAgents } from "../support/agents.ts";
import { AGENT, testGateway } from "../support/gateway.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { startAnthropic } from "../support/models/anthropic.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Reply } from "../support/models/server.ts";

/** Models are asked again after seconds. */
const RATE = 20;
const BUSY: Reply = { fault: "status", status: 429 };

it(
  "complaint 71: where every model refuses for want of room one sentence says so, and the next question is answered as soon as one does not",
  { timeout: 60_000 },
  async () => {
    const clock = scaledClock(RATE, Date.now());
    let busy = true;
    const reply: Reply = () => (busy ? BUSY : "here again");
    const first = await startOpenAi({ clock, otherwise: reply });
    const second = await startAnthropic({ clock, otherwise: reply });
    const key = { name: "test", apiKey: "none" };
    const agent: AgentDefinition = {
      ...AGENT,
      model: { provider: "openai", ...key, baseUrl: first.url },
      fallbacks: [{ provider: "anthropic", ...key, baseUrl: second.url }],
    };
    const logged: LoggedLine[] = [];
    const at = await testGateway({
      clock,
      agents: [agent],
      runner: realAgents({ clock, log: memoryLog(logged) }),
    });
    onTestFinished(async () => {
      await at.close();
      await first.close();
      await second.close();
    });
    await at.platform.say("c1", "are you there?", { whole: true });
    await at.platform.until((shown) => shown.length > 0);
    expect(first.requests.length + second.requests.length).toBeGreaterThan(1);
    expect(at.platform.textsIn("c1")).toEqual([say("turn.model_rate")]);
    busy = false;
    await at.platform.say("c1", "and now?", { whole: true });
    await at.platform.until((shown) => shown.length > 1);
    expect(at.platform.textsIn("c1")).toEqual([say("turn.model_rate"), "here again"]);
    // What was not answered then is known now.
    const requests = [...first.requests, ...second.requests].map(({ body }) => JSON.stringify(body));
    expect(requests.find((body) => body.includes("and now?"))).toContain("are you there?");
  },
);
