import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { realAgents } from "../support/agents.ts";
import { AGENT, testGateway, type TestGateway } from "../support/gateway.ts";
import { ToyPlatform } from "../support/toy-channel.ts";

const GRAPH = fileURLToPath(new URL("../fixtures/graphs/interrupts.js", import.meta.url));
const left: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of left.splice(0)) await end();
});

/** Perch with an operator's graph that asks, and what a person sees of it; `restarted` goes on with a new process's parts. */
async function setUp() {
  const platform = new ToyPlatform({ choices: 3 });
  const open = async (folder?: string): Promise<TestGateway> =>
    await testGateway({
      clock: systemClock,
      platform,
      ...(folder === undefined ? {} : { folder }),
      agents: [{ ...AGENT, graph: GRAPH }],
      runner: realAgents(),
    });
  const first = await open();
  let gateway = first;
  left.push(async () => {
    await gateway.close();
    await rm(first.folder, { recursive: true, force: true });
  });
  return {
    platform,
    gateway: () => gateway,
    async restarted() {
      await gateway.gateway.stop(0);
      await gateway.database.close();
      gateway = await open(first.folder);
    },
    /** What is answered to this. */
    async said(text: string): Promise<string> {
      const before = platform.shown.length;
      await platform.say("c1", text, { whole: true });
      const shown = await platform.until((all) => all.length > before);
      return shown.at(-1)?.text ?? "";
    },
  };
}

describe("a question of a graph's, in a chat", () => {
  it("is answered by the next message, after a restart too", async () => {
    const { said, restarted } = await setUp();
    expect(await said("birds")).toBe("About birds: are you sure?");
    await restarted();
    expect(await said("quite")).toBe("birds | one heard quite");
    expect(await said("plain")).toMatch(/plain of 4$/);
  });

  it("has its choices as buttons, and a press answers it", async () => {
    const { platform, said, gateway } = await setUp();
    expect(await said("buttons")).toBe("Which colour?");
    expect(platform.shown.at(-1)).toMatchObject({ choices: ["Red", "Blue"] });
    const { key } = await gateway()
      .database.db.selectFrom("choice")
      .select("key")
      .where("label", "=", "Blue")
      .executeTakeFirstOrThrow();
    await platform.deliver([
      {
        type: "choice",
        id: "p1",
        place: { chat: "c1", kind: "private" },
        from: { id: "ada", name: "Ada" },
        key,
        ref: platform.refOf("Which colour?"),
        sentAt: "",
      },
    ]);
    await platform.until((all) => all.some(({ text }) => text === "buttons | one heard Blue"));
  });

  it("is left behind by /new", async () => {
    const { said } = await setUp();
    expect(await said("birds")).toBe("About birds: are you sure?");
    expect(await said("/new")).toContain("A fresh start");
    expect(await said("plain")).toMatch(/plain of 1$/);
  });
});
