import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { scaledClock } from "../../src/core/clock.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Answer, ModelRequest } from "../support/models/server.ts";
import { operatorFolder, spawnPerch } from "../support/perch-process.ts";
import { startTelegram } from "../support/telegram/emulator.ts";

const PRELOAD = pathToFileURL(join(import.meta.dirname, "../support/crash-preload.mjs")).href;
const RATE = 4;
const PERSON = 1_001;

/** Where the process is to end: while the subagent's model is asked, or after a commit with such a statement. */
const POINTS: readonly (readonly [string, { readonly after?: string }])[] = [
  ["after it was begun", { after: 'insert into "background_task"' }],
  ["after it was taken up", { after: 'update "background_task" set "status" = ?, "attempts"' }],
  ["while its subagent works", {}],
  ["after its result was written", { after: 'update "background_task" set "status" = ?, "result"' }],
  ["after its end was planned to be told", { after: 'update "background_task" set "told"' }],
];

/** Has a background task begun and ended over one kill; gives what the person was told of its end. */
async function run({ after }: (typeof POINTS)[number][1]): Promise<{
  readonly kills: number;
  readonly told: readonly string[];
  readonly begun: number;
}> {
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
    "agents/helper.md": `---\nmodel: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}\nsubagents: [scout]\nbackground: true\n---\nYou are the boss.\n`,
    "agents/scout.md": `---\nmodel: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}\n---\nYou are scout.\n`,
  });
  const armed = join(folder.path, "armed");
  writeFileSync(armed, "");
  let kills = 0;
  let child: ReturnType<typeof spawnPerch> | undefined;
  if (after === undefined)
    model.on("request", (request) => {
      if (isScout(request) && kills === 0) child?.child.kill("SIGKILL");
    });
  const until = { done: false };
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
      if (code !== null) throw new Error(`perch ended by itself with ${code}:\n${child.output()}`);
      kills += 1;
      rmSync(armed, { force: true });
    }
  })();
  const texts = (): readonly string[] => telegram.sent.map(({ text }) => text ?? "");
  const ends = (): readonly string[] => texts().filter((text) => text.includes("Background task"));
  const chat = telegram.privateChat({ id: PERSON, firstName: "Ada" });
  const seen = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise<void>((resolve) => (changed = resolve));
  };
  let changed = (): void => {};
  telegram.on("afterCommit", () => changed());
  chat.sendText("count the ships");
  await Promise.race([seen(() => ends().length > 0 && kills > 0), keepRunning]);
  // What would come a second time comes before the answer to this.
  chat.sendText("anything else?");
  await Promise.race([seen(() => texts().some((text) => text.includes("nothing else"))), keepRunning]);
  until.done = true;
  child?.child.kill("SIGTERM");
  await keepRunning;
  const told = ends();
  const begun = model.requests.filter(isScout).length;
  await telegram.close();
  await model.close();
  await folder.remove();
  return { kills, told, begun };
}

function isScout({ body }: ModelRequest): boolean {
  return JSON.stringify(body["messages"]).includes("You are scout");
}

function answer(request: ModelRequest): string | Answer {
  if (isScout(request)) return "There are nine ships.";
  const messages = request.body["messages"] as readonly {
    readonly role: string;
    readonly content: unknown;
  }[]; // the protocol's own shape
  if (JSON.stringify(messages).includes("anything else")) return "nothing else";
  if (messages.at(-1)?.role !== "user") return "It is begun.";
  return { toolCalls: [{ name: "start_task", args: { subagent: "scout", prompt: "Count." } }] };
}

describe("kill -9 and a background task", () => {
  it.each(POINTS)("%s: it is done, and its end is told once", { timeout: 120_000 }, async (_where, point) => {
    const { kills, told, begun } = await run(point);
    expect({ kills, told }).toEqual({
      kills: 1,
      told: [expect.stringMatching(/^Background task t1 \(scout\) is done:\s+There are nine ships\.$/)],
    });
    expect(begun).toBeLessThanOrEqual(2);
  });
});
