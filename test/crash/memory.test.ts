import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type KilledPerch, killedPerch } from "../support/killed-perch.ts";
import type { ModelRequest } from "../support/models/server.ts";

const SECRET = "Xanadu-4711";

async function setUp(
  after?: string,
): Promise<KilledPerch & { readonly distilled: () => readonly ModelRequest[] }> {
  const helper = { keys: "memory: { facts: true, quietSeconds: 4 }", prompt: "You help." };
  const perch = await killedPerch({ agents: { helper }, answer, after });
  return { ...perch, distilled: () => perch.model.requests.filter(isMemory) };
}

function isMemory({ body }: ModelRequest): boolean {
  return JSON.stringify(body).includes("You keep an assistant's memory");
}

function answer(request: ModelRequest): string {
  const said = JSON.stringify(request.body["messages"]);
  if (isMemory(request))
    return JSON.stringify({
      facts: said.includes(SECRET)
        ? [{ content: `lives in ${SECRET}`, confidence: 0.9, saidAt: 1, replaces: [] }]
        : [],
    });
  const asked = /marker-\d+/g;
  return `noted ${[...said.matchAll(asked)].at(-1)?.[0] ?? ""}`;
}

const count = (texts: readonly string[], part: string): number =>
  texts.filter((text) => text.includes(part)).length;

/** Whether any file holds it, also the log that stands beside the database. */
function isIn(folder: string, words: string): boolean {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(words));
}

describe("kill -9 and what is remembered", () => {
  it.each([
    ["after a turn has left its mark", 'insert into "memory_work"', 1],
    ["when the model's answer is asked for", undefined, 2],
    ["after the merge was committed", 'insert into "memory_fact"', 1],
  ] as const)("%s: one update, each fact once", { timeout: 120_000 }, async (_where, after, asked) => {
    const perch = await setUp(after);
    if (after === undefined)
      perch.model.on("request", (request) => {
        if (isMemory(request) && perch.kills() === 0) perch.kill();
      });
    else perch.arm();
    perch.say(`I live in ${SECRET} marker-1`);
    await perch.seen(
      () => perch.kills() === 1 && perch.distilled().length >= asked && count(perch.texts(), "noted") > 0,
    );
    // A later quiet window of another turn: what would come a second time comes before that.
    perch.say("and more marker-2");
    await perch.seen(() => perch.distilled().length > asked);
    perch.say("/memory");
    await perch.seen(() => count(perch.texts(), "(20") > 0);
    const shown = perch.texts().filter((text) => text.includes("lives in"));
    expect(shown.join().match(/^\d+\. .*$/gm)).toEqual([
      expect.stringMatching(/^1\. lives in Xanadu-4711 \([\d-]+\)$/),
    ]);
    expect(perch.distilled()).toHaveLength(asked + 1);
    expect(count(perch.texts(), "noted marker-1")).toBe(1);
    expect(perch.kills()).toBe(1);
  });

  it.each([
    ["behind its transaction", 'insert into "forgotten"'],
    ["once its files are counted", 'update "forgotten" set "files"'],
    ["once it is to be told", 'update "forgotten" set "told"'],
    ["at its end", 'delete from "forgotten" where "chat_id" = ? and "told"'],
  ])(
    "/forget all, %s: nothing comes back, and it is told once",
    { timeout: 120_000 },
    async (_where, after) => {
      const perch = await setUp(after);
      perch.say(`I live in ${SECRET} marker-1`);
      await perch.seen(() => count(perch.texts(), "noted marker-1") === 1 && perch.distilled().length === 1);
      perch.say("/memory");
      await perch.seen(() => count(perch.texts(), SECRET) > 0);
      expect(isIn(perch.folder.path, SECRET)).toBe(true);
      perch.arm();
      perch.say("/forget all");
      await perch.seen(() => perch.kills() === 1 && count(perch.texts(), "Everything of this chat") === 1);
      perch.say("marker-2");
      await perch.seen(() => count(perch.texts(), "noted marker-2") === 1);
      perch.say("/memory");
      await perch.seen(() => count(perch.texts(), "I remember nothing yet") === 1);
      expect(count(perch.texts(), "Everything of this chat")).toBe(1);
      expect(JSON.stringify(perch.model.requests.at(-1)?.body)).not.toContain(SECRET);
      expect(isIn(perch.folder.path, SECRET)).toBe(false);
    },
  );

  it.each([
    ["when it is begun", 'insert into "turn"'],
    ["when its file is to be sent", 'insert into "piece"'],
  ])("/export, %s: its file comes once", { timeout: 120_000 }, async (_where, after) => {
    const perch = await setUp(after);
    perch.say("hello marker-1");
    await perch.seen(() => count(perch.texts(), "noted marker-1") === 1);
    perch.arm();
    perch.say("/export");
    await perch.seen(() => perch.kills() === 1 && perch.documents() === 1);
    perch.say("marker-2");
    await perch.seen(() => count(perch.texts(), "noted marker-2") === 1);
    expect(perch.documents()).toBe(1);
  });
});
