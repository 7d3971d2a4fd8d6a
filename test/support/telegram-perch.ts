import { scaledClock, type Clock } from "../../src/core/clock.ts";
import type { Reply, Json, ModelServer } from "./models/server.ts";
import { startOpenAi } from "./models/openai.ts";
import { type OperatorFolder, operatorFolder, type Running, spawnPerch, watched } from "./perch-process.ts";
import { type EmulatorOptions, startTelegram, type TelegramEmulator } from "./telegram/emulator.ts";

/** Time runs faster, for Perch, Telegram and the model alike: windows and waits are most of a test. */
const RATE = 4;

export type World = {
  readonly clock: Clock;
  readonly telegram: TelegramEmulator;
  readonly model: ModelServer;
  readonly folder: OperatorFolder;
  /** Starts Perch and waits until it says that it is ready. */
  start(env?: Readonly<Record<string, string>>, args?: readonly string[]): Promise<Running>;
  /** As `start`, without the wait. */
  spawn(env?: Readonly<Record<string, string>>, args?: readonly string[]): Running;
  /** Runs one command of Perch beside it. */
  perch(...words: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }>;
  close(): Promise<void>;
};

/** Operator's files, a Telegram and a model, on one clock; Perch is started by the test. */
export async function world(options: {
  /** The keys of the channel `tg` beside kind, token and apiRoot, in flow style: `allow: ["1"]`. */
  readonly channel?: string;
  /** More lines of perch.yaml. */
  readonly root?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly apiKey?: string;
  /** What the model says; the person's last text by default. */
  readonly says?: Reply;
  /** How many times as fast as real time all of it runs. */
  readonly rate?: number;
  readonly telegram?: Pick<EmulatorOptions, "keepLast">;
}): Promise<World> {
  const origin = Date.now();
  const rate = options.rate ?? RATE;
  const clock = scaledClock(rate, origin);
  const token = options.token ? { token: options.token } : {};
  const telegram = await startTelegram({ clock, ...token, ...options.telegram });
  const model = await startOpenAi({ clock, ...(options.says ? { otherwise: options.says } : {}) });
  const folder = await operatorFolder({
    "config/perch.yaml": perchYaml(telegram, options.channel, options.root),
    "config/agents/helper.md": agentFile(model),
    ...options.files,
  });
  const running = new Set<Running>();
  const environment = {
    TOKEN: telegram.token,
    KEY: options.apiKey ?? "none",
    PERCH_CLOCK: `${rate}@${origin}`,
  };

  const spawn = (env: Readonly<Record<string, string>> = {}, args: readonly string[] = []): Running => {
    const perch = watched(spawnPerch({ folder: folder.path, env: { ...environment, ...env }, args }));
    running.add(perch);
    void perch.ended.then(() => running.delete(perch));
    return perch;
  };
  return {
    clock,
    telegram,
    model,
    folder,
    spawn,
    async start(env, args) {
      const perch = spawn(env, args);
      await perch.said(/Perch is ready\..*\n/);
      return perch;
    },
    async perch(...words) {
      const { ended, output } = spawnPerch({ folder: folder.path, env: environment, args: words });
      return { code: await ended, output: output() };
    },
    async close() {
      await Promise.all([...running].map((perch) => perch.kill()));
      await telegram.close();
      await model.close();
      await folder.remove();
    },
  };
}

export function perchYaml(telegram: TelegramEmulator, channel = "", root = ""): string {
  const own = `kind: telegram, token: "\${TOKEN}", apiRoot: "${telegram.apiRoot}"`;
  return `channels:\n  tg: { ${own}${channel === "" ? "" : `, ${channel}`} }\nhttp: { port: 0 }\n${root}\n`;
}

export function agentFile(model: ModelServer, prompt = "Be brief.", name = "test"): string {
  return `---\nmodel: openai:${name}\nbaseUrl: ${model.url}\napiKey: \${KEY}\nsenses: { pdf: true }\n---\n${prompt}\n`;
}

/** The parts of the last message of a person in a request to the model. */
export function lastAsked(request: { readonly body: Json }): {
  readonly text: string;
  /** The bytes of its pictures, in order. */
  readonly images: readonly Buffer[];
  /** The bytes of its files, in order. */
  readonly files: readonly Buffer[];
} {
  const messages = request.body["messages"] as readonly { role: string; content: string | readonly Part[] }[]; // the protocol's shape
  const content = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return {
    text: parts.flatMap((part) => part.text ?? []).join("\n"),
    images: parts.flatMap((part) => (part.image_url ? [bytesOf(part.image_url.url)] : [])),
    files: parts.flatMap((part) => (part.file ? [bytesOf(part.file.file_data)] : [])),
  };
}

type Part = {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: { readonly url: string };
  readonly file?: { readonly file_data: string };
};

function bytesOf(dataUrl: string): Buffer {
  return Buffer.from(dataUrl.slice(dataUrl.indexOf(",") + 1), "base64");
}

/** A promise and what settles it: a model is held with it until the test goes on. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void; // the executor runs before this function returns
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
