import { afterEach, describe, expect, it } from "vitest";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readHistory } from "../../../src/agent/window/history.ts";
import { closeServers } from "../model-servers.ts";
import { asksForSummary, summing, talking, type Talking } from "./thread-server.ts";

afterEach(closeServers);

const WINDOW = 2_000;
const SMALL = {
  limits: { turnSeconds: 60, messages: 1_000, characters: 1_000_000, mediaTurns: 2, contextTokens: WINDOW },
};

/** What a request has in characters, by four. */
function sizes({ server }: Talking): readonly number[] {
  return server.requests.map(({ body }) => JSON.stringify(body["messages"]).length / 4);
}

const requestText = ({ server }: Talking, at = -1): string => JSON.stringify(server.requests.at(at)?.body);

describe("a thread in a small window", () => {
  it("keeps answering for 60 turns: requests stay under the window, the state shrinks, and nothing said is lost", async () => {
    const world = await talking(SMALL);
    world.server.reply(
      ...Array<ReturnType<typeof summing>>(300).fill(summing("They spoke of birds.", "A bird is a bird.")),
    );
    const counts: number[] = [];
    for (let n = 1; n <= 60; n += 1) {
      const { markdown } = await world.tell(n, `Question ${n}: what of it? ${"word ".repeat(40)}`);
      expect(markdown).toBe("A bird is a bird.");
      counts.push((await world.kept()).messages.length);
    }
    expect(Math.max(...sizes(world))).toBeLessThan(WINDOW);
    expect(Math.max(...counts)).toBeLessThan(60);
    expect(counts.some((count, at) => count < (counts[at - 1] ?? 0))).toBe(true);
    const { summary, messages } = await world.kept();
    expect(summary).toMatchObject({ text: "They spoke of birds.", path: "/history/helper-1.md" });
    expect(summary?.times).toBeGreaterThan(1);
    expect(requestText(world)).toContain("They spoke of birds.");
    const told = await readHistory(world.folder, "7/helper/1", "");
    const ids = new Set([...told.map(({ id }) => id), ...messages.map(({ id }) => id)]);
    for (let n = 1; n <= 60; n += 1) expect(ids).toContain(`intent-${n}`);
    expect(told.map(({ id }) => id)).toEqual([...new Set(told.map(({ id }) => id))]);
  });

  it("sums up as well where the limits would leave something out, though the window has room", async () => {
    const limits = { ...SMALL.limits, messages: 8, contextTokens: 100_000 };
    const world = await talking({ limits });
    world.server.reply(...Array<ReturnType<typeof summing>>(40).fill(summing("Counted.", "Yes.")));
    for (let n = 1; n <= 12; n += 1) await world.tell(n, `Number ${n}`);
    const asked = world.server.requests.filter(({ body }) => asksForSummary(body));
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.length).toBeLessThan(6);
    expect((await world.kept()).messages.length).toBeLessThanOrEqual(9);
    const told = (await readHistory(world.folder, "7/helper/1", "")).map(({ text }) => text);
    expect(told).toContain("Number 1");
  });

  it("folds the earlier summary into the next one, and keeps patterns of replacements as they are", async () => {
    const world = await talking(SMALL);
    const odd = "It cost $& and $' and $`, $1 {words}";
    world.server.reply(...Array<ReturnType<typeof summing>>(100).fill(summing(`Summary: ${odd}`, "Noted.")));
    for (let n = 1; n <= 30; n += 1) await world.tell(n, `${odd} ${n} ${"word ".repeat(120)}`);
    const asked = world.server.requests
      .filter(({ body }) => asksForSummary(body))
      .map(({ body }) => JSON.stringify(body));
    expect(asked.length).toBeGreaterThan(1);
    expect(asked[0]).toContain(`Person: ${odd} 1 word`);
    expect(asked[1]).toContain(`Summary: ${odd}`);
    expect((await world.kept()).summary?.text).toBe(`Summary: ${odd}`);
    expect(await world.history()).toContain(`${odd} 1 word`);
  });

  it("answers without a summary where none can be had, says so to the model, and tries again next turn", async () => {
    const world = await talking(SMALL);
    const fails = { fault: "status", status: 400, message: "no" } as const;
    world.server.reply(...Array<ReturnType<typeof summing>>(90).fill(summing(fails, "Still here.")));
    for (let n = 1; n <= 40; n += 1)
      expect((await world.tell(n, `Question ${n} ${"word ".repeat(60)}`)).markdown).toBe("Still here.");
    const asked = world.server.requests.filter(({ body }) => asksForSummary(body)).length;
    expect(asked).toBeGreaterThan(2);
    expect(requestText(world)).toMatch(/\d+ earlier messages are left out here/);
    expect(sizes(world).at(-1)).toBeLessThan(WINDOW);
    const { summary, messages } = await world.kept();
    expect(summary).toBeUndefined();
    expect(messages.length).toBe(80);
  });

  it.each([
    ["refuses", { text: "I'm sorry, I can't help with that.", finish: "content_filter" }],
    ["calls a tool instead", { text: "Let me look.", toolCalls: [{ name: "look", args: {} }] }],
  ])("keeps the thread where a model that is to sum it up %s", async (_what, said) => {
    const world = await talking(SMALL);
    world.server.reply(...Array<ReturnType<typeof summing>>(90).fill(summing(said, "Still here.")));
    for (let n = 1; n <= 30; n += 1)
      expect((await world.tell(n, `Question ${n} ${"word ".repeat(60)}`)).markdown).toBe("Still here.");
    const { summary, messages } = await world.kept();
    expect(summary).toBeUndefined();
    expect(messages).toHaveLength(60);
    // What was written down for the summaries that came to nothing is not written down again.
    world.server.reply();
    world.server.reply(...Array<ReturnType<typeof summing>>(90).fill(summing("They spoke.", "Still here.")));
    for (let n = 31; n <= 70; n += 1) await world.tell(n, `Question ${n} ${"word ".repeat(60)}`);
    expect((await world.kept()).summary?.text).toBe("They spoke.");
    const told = (await readHistory(world.folder, "7/helper/1", "")).map(({ id }) => id);
    expect(told).toEqual([...new Set(told)]);
    expect(told).toContain("intent-1");
  });

  it("asks no model for a summary where its history cannot be written, and follows no link there", async () => {
    const world = await talking(SMALL);
    world.server.reply(...Array<ReturnType<typeof summing>>(90).fill(summing("They spoke.", "Still here.")));
    await mkdir(join(world.folder, "history"));
    await writeFile(join(world.folder, "another"), "of somebody else");
    await symlink(join(world.folder, "another"), join(world.folder, "history", "helper-1.md"));
    for (let n = 1; n <= 30; n += 1)
      expect((await world.tell(n, `Question ${n} ${"word ".repeat(60)}`)).markdown).toBe("Still here.");
    expect(world.server.requests.filter(({ body }) => asksForSummary(body))).toEqual([]);
    expect((await world.kept()).messages).toHaveLength(60);
    expect(sizes(world).at(-1)).toBeLessThan(WINDOW);
    expect(await readFile(join(world.folder, "another"), "utf8")).toBe("of somebody else");
  });

  it("shows people nothing of what is said in a summary", async () => {
    const world = await talking(SMALL);
    world.server.reply(
      ...Array<ReturnType<typeof summing>>(100).fill(summing("SECRET NOTES", "Plain words.")),
    );
    const shown: string[] = [];
    const { runner, agent, folder } = world;
    const { turn } = await import("../set-up.ts");
    for (let n = 1; n <= 30; n += 1)
      await runner.run(
        {
          ...turn(agent, `intent-${n}`, `Question ${n} ${"word ".repeat(60)}`),
          folder,
          onText: (text) => shown.push(text),
        },
        new AbortController().signal,
      );
    expect((await world.kept()).summary?.text).toBe("SECRET NOTES");
    expect(shown.join("\n")).toContain("Plain words.");
    expect(shown.join("\n")).not.toContain("SECRET");
  });

  it("gives each thread of a chat a history of its own", async () => {
    const world = await talking(SMALL);
    world.server.reply(...Array<ReturnType<typeof summing>>(200).fill(summing("Sum.", "Yes.")));
    for (let n = 1; n <= 25; n += 1) {
      await world.tell(n, `First ${n} ${"word ".repeat(60)}`, "7/helper/1");
      await world.tell(n, `Second ${n} ${"word ".repeat(60)}`, "7/helper/2");
    }
    expect((await world.histories()).toSorted()).toEqual(["helper-1.md", "helper-2.md"]);
    expect(await world.history("helper-1.md")).not.toContain("Second");
    expect(await world.history("helper-2.md")).not.toContain("First");
  });
});
