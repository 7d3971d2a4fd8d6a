import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { Place, Sender } from "../../src/core/events.ts";
import { realAgents } from "../support/agents.ts";
import { manualClock } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway } from "../support/gateway.ts";
import { ToyPlatform } from "../support/toy-channel.ts";

const GRAPH = fileURLToPath(new URL("../fixtures/graphs/asks-in-group.js", import.meta.url));
const GROUP: Place = { chat: "g", kind: "group" };
const ADA = { id: "ada", name: "Ada" };
const BOB = { id: "bob", name: "Bob" };
const DAY_MS = 24 * 3_600_000;

const left: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of left.splice(0)) await end();
});

/** A group with an operator's graph that asks whoever speaks; `restarted` goes on with a new process's parts. */
async function setUp() {
  const platform = new ToyPlatform({ choices: 3 });
  const clock = manualClock();
  const open = async (folder?: string): Promise<TestGateway> =>
    await testGateway({
      clock,
      platform,
      ...(folder === undefined ? {} : { folder }),
      agents: [{ ...AGENT, graph: GRAPH }],
      runner: realAgents({ clock }),
    });
  const first = await open();
  let gateway = first;
  left.push(async () => {
    await gateway.close();
    await rm(first.folder, { recursive: true, force: true });
  });
  let presses = 0;
  return {
    platform,
    clock,
    async restarted() {
      await gateway.gateway.stop(0);
      await gateway.database.close();
      gateway = await open(first.folder);
    },
    /** What is shown next when somebody says this. */
    async said(text: string, from: Sender): Promise<string> {
      const before = platform.shown.length;
      await platform.say("g", text, { from, place: GROUP, whole: true });
      const shown = await platform.until((all) => all.length > before);
      return shown.at(-1)?.text ?? "";
    },
    /** What a press on a button of the nth question, from 0, shows at once. */
    async press(label: string, from: Sender, nth: number): Promise<string | undefined> {
      const rows = await gateway.database.db
        .selectFrom("choice")
        .innerJoin("piece", "piece.question", "choice.question")
        .select(["choice.key", "piece.platform_ids"])
        .where("choice.label", "=", label)
        .orderBy("piece.id")
        .execute();
      const row = rows[nth];
      const [ref = ""] = JSON.parse(row?.platform_ids ?? "[]") as readonly string[]; // as endPiece writes them
      const id = `press${(presses += 1)}`;
      const press = { type: "choice", id, place: GROUP, from, sentAt: "", key: row?.key ?? "", ref } as const;
      return (await gateway.gateway.accept("toy", [press])).get(id);
    },
    until: async (words: string): Promise<string> => {
      const shown = await platform.until((all) => all.some(({ text }) => text.includes(words)));
      return shown.findLast(({ text }) => text.includes(words))?.text ?? "";
    },
  };
}

describe("a question of a graph's, in a group", () => {
  it("is answered by whoever was asked, and by nobody else, after a restart too", async () => {
    const { said, press, restarted, until } = await setUp();
    expect(await said("paint", ADA)).toBe("Which paint?");
    await restarted();
    expect(await press("Red", BOB, 0)).toBe("That is not for you.");
    expect(await press("Red", ADA, 0)).toBeUndefined();
    await until("paint heard Red");
    expect(await press("Blue", ADA, 0)).toBe("That was answered already.");
  });

  it("is answered by words of whoever was asked", async () => {
    const { said } = await setUp();
    expect(await said("paint", ADA)).toBe("Which paint?");
    expect(await said("2", ADA)).toBe("paint heard Blue");
  });

  it("is not answered by what others say meanwhile; a late press then says what it is an answer to", async () => {
    const { said, press, until } = await setUp();
    expect(await said("paint", ADA)).toBe("Which paint?");
    expect(await said("plain talk", BOB)).toMatch(/^told \[from Bob \(\d\)\]plain talk$/);
    expect(await press("Red", ADA, 0)).toBeUndefined();
    // The toy platform shows a quote without its mark.
    expect((await until("told [from Ada")).split(/\n+/)).toEqual([
      expect.stringMatching(/^told \[from Ada \(\d\)\]$/),
      "[in reply to a message:]",
      "Which paint?Red",
    ]);
  });

  it("does not take the answer to one for the answer to another", async () => {
    const { said, press, until } = await setUp();
    expect(await said("paint", ADA)).toBe("Which paint?");
    expect(await said("brush", BOB)).toBe("Which brush?");
    await press("Red", ADA, 0);
    await until("told [from Ada");
    expect(await press("Blue", BOB, 1)).toBeUndefined();
    expect(await until("Which brush?Blue")).toContain("told [from Bob");
  });

  it("expires: it shows that, is no answer any more, and the thread goes on", async () => {
    const { said, press, clock, until, platform } = await setUp();
    expect(await said("paint", ADA)).toBe("Which paint?");
    await clock.advance(DAY_MS + 60_000);
    await until("Which paint? — That has expired.");
    expect(await press("Red", ADA, 0)).toBe("That has expired.");
    expect(await said("plain again", ADA)).toContain("plain again");
    expect(platform.shown.some(({ text }) => text.includes("heard"))).toBe(false);
  });
});
