import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { scaledClock } from "../../src/core/clock.ts";
import { startOpenAi } from "./models/openai.ts";
import type { ModelServer, Reply } from "./models/server.ts";
import { type OperatorFolder, operatorFolder, spawnPerch } from "./perch-process.ts";
import { startTelegram } from "./telegram/emulator.ts";

const PRELOAD = pathToFileURL(join(import.meta.dirname, "crash-preload.mjs")).href;
const RATE = 4;
const PERSON = 1_001;

/** A Perch with one person on Telegram that is started again as often as it ends, until the test does. */
export type KilledPerch = {
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
  /** Resolves once it holds; looked at whenever something was sent or asked, and when the process has ended. */
  seen(holds: () => boolean): Promise<void>;
  /** Ends the process gently, for good. */
  end(): Promise<void>;
};

/** `agents` are the front matters, without the model's, and prompts; `after` is the statement that `arm` is about. */
export async function killedPerch({
  agents,
  answer,
  after,
  before,
}: {
  readonly agents: Readonly<Record<string, { readonly keys: string; readonly prompt: string }>>;
  readonly answer: Reply;
  readonly after?: string | undefined;
  /** The same of the moment before such a statement, within its transaction. */
  readonly before?: string | undefined;
}): Promise<KilledPerch> {
  const origin = Date.now();
  const clock = scaledClock(RATE, origin);
  const telegram = await startTelegram({ clock });
  const model = await startOpenAi({ clock, otherwise: answer });
  const asks = `model: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}`;
  const files = Object.entries(agents).map(([name, { keys, prompt }]) => [
    `agents/${name}.md`,
    `---\n${asks}\n${keys}\n---\n${prompt}\n`,
  ]);
  const folder = await operatorFolder({
    "config/perch.yaml": [
      `channels: { tg: { kind: telegram, token: "\${TOKEN}", apiRoot: "${telegram.apiRoot}", agent: helper, allow: ["${PERSON}"] } }`,
      "agents: { folder: ../agents }",
      "http: { port: 0 }",
    ].join("\n"),
    ...Object.fromEntries(files),
  });
  const armed = join(folder.path, "armed");
  let kills = 0;
  let child: ReturnType<typeof spawnPerch> | undefined;
  const until = { over: false };
  let fault: Error | undefined;
  const looks = new Set<() => void>();
  const look = (): void => {
    for (const each of looks) each();
  };
  const keepRunning = (async () => {
    while (!until.over) {
      child = spawnPerch({
        folder: folder.path,
        node: ["--import", PRELOAD],
        env: {
          TOKEN: telegram.token,
          KEY: "none",
          PERCH_LOG: "warn",
          PERCH_CLOCK: `${RATE}@${origin}`,
          ...(after === undefined ? {} : { PERCH_CRASH_AFTER: after, PERCH_CRASH_IF: armed }),
          ...(before === undefined ? {} : { PERCH_CRASH_BEFORE: before, PERCH_CRASH_IF: armed }),
        },
      });
      const code = await child.ended;
      if (until.over) return;
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
  const end = async (): Promise<void> => {
    until.over = true;
    child?.child.kill("SIGTERM");
    await keepRunning;
  };
  onTestFinished(async () => {
    await end();
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
    end,
  };
}
