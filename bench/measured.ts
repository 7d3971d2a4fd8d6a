import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Live } from "../src/core/channel.ts";
import type { Helper } from "./helper.ts";
import { cpuMs, residentMb } from "./proc.ts";
import type { TelegramQuestions } from "./telegram-process.ts";

export type Kind = "floor" | "perch";

/** How Perch shows an answer while it is written: `live` in perch.yaml. */
export type Shown = Live | "off";

/** What both are told, so that both do the same work. */
export type World = {
  readonly telegram: Helper<TelegramQuestions>;
  readonly apiRoot: string;
  readonly token: string;
  readonly modelUrl: string;
  readonly people: readonly number[];
};

// dist/bench/bench is where this file runs.
const ROOT = join(import.meta.dirname, "../../..");
const PROMPT = "You are a helpful assistant in a chat. Answer briefly and plainly.";

/** A bot that runs in a process of its own and is read through /proc. */
export class Measured {
  readonly kind: Kind;
  /** From spawning it to its first getUpdates. */
  readonly startMs: number;
  readonly #child: ChildProcess;

  private constructor(kind: Kind, startMs: number, child: ChildProcess) {
    this.kind = kind;
    this.startMs = startMs;
    this.#child = child;
  }

  /**
   * Resolves when the bot asks for updates for the first time. `folder` is where it runs and keeps what it keeps; without
   * `live` Perch decides.
   */
  static async start(kind: Kind, folder: string, world: World, live?: Shown): Promise<Measured> {
    const { telegram, apiRoot, token, modelUrl } = world;
    mkdirSync(folder, { recursive: true });
    if (kind === "perch") writeConfig(folder, world, live);
    const args =
      kind === "floor"
        ? [join(import.meta.dirname, "floor-bot.js")]
        : [join(ROOT, "dist/src/main.js"), "start", "--config", join(folder, "perch.yaml")];
    const logFile = join(folder, "output.log");
    const output = openSync(logFile, "a");
    const env = { TOKEN: token, API_ROOT: apiRoot, MODEL_URL: modelUrl, KEY: "none", PROMPT };
    const polled = telegram.ask("nextPoll");
    const spawnedAt = Date.now();
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...env, PATH: process.env["PATH"], HOME: folder },
      stdio: ["ignore", output, output],
    });
    const ended = once(child, "exit").then(() => {
      throw new Error(`the ${kind} ended by itself:\n${readFileSync(logFile, "utf8").slice(-2000)}`);
    });
    ended.catch(() => {}); // looked at while it starts; later it is meant to end
    try {
      return new Measured(kind, (await Promise.race([polled, ended])) - spawnedAt, child);
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
  }

  /** MB that are in memory. */
  memory(): number {
    return residentMb(this.#pid);
  }

  /** Milliseconds of CPU since it was started. */
  cpuMs(): number {
    return cpuMs(this.#pid);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await exit;
  }

  /** At once; also when it has ended. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  get #pid(): number {
    return this.#child.pid ?? NaN; // it was started
  }
}

/** Bytes of all files below a folder; 0 when there is none. */
export function folderBytes(folder: string): number {
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function writeConfig(folder: string, { apiRoot, modelUrl, people }: World, live: Shown | undefined): void {
  mkdirSync(join(folder, "agents"), { recursive: true });
  writeFileSync(
    join(folder, "perch.yaml"),
    `channels:
  bench:
    kind: telegram
    token: \${TOKEN}
    apiRoot: ${apiRoot}
    owner: "${people[0]}"
    allow: ${JSON.stringify(people.map(String))}
    agent: helper
${live === undefined ? "" : `    live: ${live}\n`}data: { folder: data }
http: { port: 0 }
`,
  );
  writeFileSync(
    join(folder, "agents/helper.md"),
    `---\nmodel: openai:test\nbaseUrl: ${modelUrl}\napiKey: \${KEY}\n---\n\n${PROMPT}\n`,
  );
}
