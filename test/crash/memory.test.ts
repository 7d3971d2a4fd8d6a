import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { scaledClock } from "../../src/core/clock.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { ModelRequest, ModelServer } from "../support/models/server.ts";
import { type OperatorFolder, operatorFolder, spawnPerch } from "../support/perch-process.ts";
import { startTelegram } from "../support/telegram/emulator.ts";

const PRELOAD = pathToFileURL(join(import.meta.dirname, "../support/crash-preload.mjs")).href;
const RATE = 4;
const PERSON = 1_001;
const SECRET = "Xanadu-4711";

/** The process is started again as often as it ends, which it does once: where `after` or the test says. */
type Bench = {
  readonly folder: OperatorFolder;
  readonly model: ModelServer;
  /** From now on the next commit with the statement is the last thing the process does. */
  arm(): void;
  kill(): void;
  readonly kills: () => number;
  /** Says something in private. */
  say(text: string): void;
  /** All that was sent, texts and captions. */
  readonly texts: () => readonly string[];
  readonly documents: () => number;
  readonly distilled: () => readonly ModelRequest[];
  /** Resolves once it holds; looked at whenever something was sent or asked, and when the process has ended. */
  seen(holds: () => boolean): Promise<void>;
};

const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function setUp(after?: string): Promise<Bench> {
  const origin = Date.now();
  const clock = scaledClock(RATE, origin);
  const telegram = await startTelegram({ clock });
  const model = await startOpenAi({ clock, otherwise: answer });
  const folder = await operatorFolder({
    "config/perch.yaml": [
      `channels: { tg: { kind: telegram, token: "\${TOKEN}", apiRoot: "${telegram.apiRoot}", agent: helper, allow: ["${PERSON}"] } }`,
      "agents: { folder: ../agents }",
      "http: { port: 0 }",
    ].join("\n"),
    "agents/helper.md": `---\nmodel: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}\nmemory: { facts: true, quietSeconds: 4 }\n---\nYou help.\n`,
  });
  const armed = join(folder.path, "armed");
  let kills = 0;
  let child: ReturnType<typeof spawnPerch> | undefined;
  const until = { done: false };
  const looks = new Set<() => void>();
  const look = (): void => {
    for (const each of looks) each();
  };
  let fault: Error | undefined;
  const keepRunning = (async () => {
    while (!until.done) {
      child = spawnPerch({
        folder: folder.path,
        node: ["--import", PRELOAD],
        env: {
          TOKEN: telegram.token,
          KEY: "none",
          PERCH_LOG: "warn",
          PERCH_CLOCK: `${RATE}@${origin}`,
          ...(after === undefined ? {} : { PERCH_CRASH_AFTER: after, PERCH_CRASH_IF: armed }),
        },
      });
      const code = await child.ended;
      if (until.done) return;
      if (code !== null) {
        fault = new Error(`perch ended by itself with ${code}:\n${child.output()}`);
        return look();
      }
      kills += 1;
      rmSync(armed, { force: true });
      look();
    }
  })();
  telegram.on("afterCommit", look);
  model.on("request", look);
  open.push(async () => {
    until.done = true;
    child?.child.kill("SIGTERM");
    await keepRunning;
    await telegram.close();
    await model.close();
    await folder.remove();
  });
  const chat = telegram.privateChat({ id: PERSON, firstName: "Ada" });
  return {
    folder,
    model,
    arm: () => writeFileSync(armed, ""),
    kill: () => child?.child.kill("SIGKILL"),
    kills: () => kills,
    say: (text) => void chat.sendText(text),
    texts: () => telegram.sent.map(({ text, caption }) => text ?? caption ?? ""),
    documents: () => telegram.sent.filter(({ media }) => media?.kind === "document").length,
    distilled: () => model.requests.filter(isMemory),
    async seen(holds) {
      await new Promise<void>((resolve, reject) => {
        const each = (): void => {
          if (fault) reject(fault);
          else if (!holds()) return;
          else resolve();
          looks.delete(each);
        };
        looks.add(each);
        each();
      });
    },
  };
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
