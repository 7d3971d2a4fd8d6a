import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const MAIN = join(import.meta.dirname, "../../dist/src/main.js");

/** A Perch in a process of its own, as an operator starts it. */
export type PerchProcess = {
  readonly pid: number;
  /** Where its pages are; known once it is ready. */
  readonly origin: string;
  /** Everything it has printed, both streams. */
  readonly output: () => string;
  /** SIGKILL, at once; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with its exit code. */
  stop(): Promise<number | null>;
  /** Resolves when it is gone, however that came. */
  readonly ended: Promise<number | null>;
};

/** A folder with an operator's files, removed at the end. */
export type OperatorFolder = {
  readonly path: string;
  write(name: string, content: string | Uint8Array): Promise<void>;
  remove(): Promise<void>;
};

export async function operatorFolder(files: Readonly<Record<string, string>> = {}): Promise<OperatorFolder> {
  const path = await mkdtemp(join(tmpdir(), "perch-operator-"));
  const write = async (name: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), content);
  };
  for (const [name, text] of Object.entries(files)) await write(name, text);
  return { path, write, remove: () => rm(path, { recursive: true, force: true }) };
}

export type LaunchOptions = {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Before the program: "--import", a module. */
  readonly node?: readonly string[];
};

/** Starts it and resolves as soon as it runs; `launch` waits until it says that it is ready. */
export function spawnPerch(options: LaunchOptions): {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
} {
  let output = "";
  const child = spawn(process.execPath, [...(options.node ?? []), MAIN, ...(options.args ?? [])], {
    cwd: options.folder,
    // Nothing of the machine's own environment: no key, no token, no home.
    env: { PATH: process.env["PATH"] ?? "", HOME: options.folder, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));
  return { child, output: () => output, ended };
}

export async function launch(options: LaunchOptions): Promise<PerchProcess> {
  const { child, output, ended } = spawnPerch(options);
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on("data", () => {
      if (output().includes("Perch is ready.")) resolve();
    });
    void ended.then((code) =>
      reject(new Error(`perch ended with ${code} before it was ready:\n${output()}`)),
    );
  });
  return {
    pid: child.pid ?? 0,
    origin: /http:\/\/[\w.:[\]]+/.exec(output())?.[0] ?? "",
    output,
    ended,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    stop: async () => {
      child.kill("SIGTERM");
      return await ended;
    },
  };
}

/** A running Perch whose output a test can wait for. */
export type Running = {
  readonly pid: number;
  readonly output: () => string;
  /** The first match in what it has printed from `from` on: now, or as soon as it stands there; rejects when it ends. */
  said(pattern: RegExp, from?: number): Promise<RegExpExecArray>;
  signal(name: "SIGTERM" | "SIGKILL" | "SIGUSR2"): void;
  /** SIGTERM; resolves with its exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  readonly ended: Promise<number | null>;
};

/** Listens to what `spawnPerch` has started. */
export function watched({ child, output, ended }: ReturnType<typeof spawnPerch>): Running {
  const lookers = new Set<() => void>();
  const look = (): void => {
    for (const each of lookers) each();
  };
  child.stdout?.on("data", look);
  child.stderr?.on("data", look);
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  return {
    pid: child.pid ?? 0,
    output,
    ended,
    kill,
    signal: (name) => void child.kill(name),
    stop: async () => {
      child.kill("SIGTERM");
      return await ended;
    },
    said: (pattern, from = 0) =>
      new Promise((resolve, reject) => {
        const find = (): void => {
          const found = pattern.exec(output().slice(from));
          if (!found) return;
          lookers.delete(find);
          resolve(found);
        };
        lookers.add(find);
        find();
        void ended.then((code) =>
          reject(new Error(`perch ended with ${code} and had not said ${pattern}:\n${output()}`)),
        );
      }),
  };
}
