import { type ChildProcess, fork } from "node:child_process";
import type { Clock, Timer } from "../core/clock.ts";
import { asError, GatewayError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { JobGives, JobKind, JobNeeds } from "./jobs.ts";
import type { Report, Request } from "./serve.ts";
import type { Workshop } from "./workshop.ts";

export type ChildrenParts = {
  /** What a child runs: worker.js beside this file, which must be built. */
  readonly entry: URL;
  readonly blobsFolder: string;
  readonly workSeconds: number;
  /** Where a child looks for programs such as ffmpeg: all that it is given of the environment. */
  readonly path: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * Jobs in processes of their own: started when first needed, one job at a time each, first come, first served. One that
 * takes too long, too much memory or down its process ends that process and fails alone. `close` must be called.
 */
export function inChildren(parts: ChildrenParts): Workshop {
  return new Children(parts);
}

const AT_ONCE = 2;
const IDLE_MS = 60_000;
const HEAP_MB = 384;
// Decoders keep what they have grown to; the next job gets a process that is slim again.
const RETIRED_ABOVE_BYTES = 110_000_000;

class Children implements Workshop {
  readonly #parts: ChildrenParts;
  readonly #children = new Set<Child>();
  readonly #waiting = new Set<Waiter>();
  #closed = false;

  constructor(parts: ChildrenParts) {
    this.#parts = parts;
  }

  async run<K extends JobKind>(kind: K, needs: JobNeeds<K>, signal: AbortSignal): Promise<JobGives<K>> {
    signal.throwIfAborted();
    if (this.#closed) throw closed();
    const child = this.#idle() ?? (await this.#handedBack(signal));
    try {
      const given = await child.perform({ kind, needs }, signal);
      return given as JobGives<K>; // what worker.ts answers to a request of this kind
    } finally {
      this.#handBack(child);
    }
  }

  close(): void {
    this.#closed = true;
    for (const { fail } of this.#waiting) fail(closed());
    this.#waiting.clear();
    for (const child of this.#children) child.end();
  }

  #idle(): Child | undefined {
    const idle = [...this.#children].find(({ busy }) => !busy);
    if (idle) idle.busy = true;
    return idle ?? (this.#children.size < AT_ONCE ? this.#start() : undefined);
  }

  #start(): Child {
    const child: Child = new Child(this.#parts, () => this.#children.delete(child));
    this.#children.add(child);
    return child;
  }

  /** The next child that is handed back; those who wait get theirs in the order in which they came. */
  async #handedBack(signal: AbortSignal): Promise<Child> {
    let onAbort: (() => void) | undefined;
    try {
      return await new Promise<Child>((resolve, reject) => {
        const waiter: Waiter = { give: resolve, fail: reject };
        this.#waiting.add(waiter);
        onAbort = () => {
          this.#waiting.delete(waiter); // at once: a child that is given to it now would never come back
          reject(asError(signal.reason));
        };
        signal.addEventListener("abort", onAbort, { once: true });
      });
    } finally {
      if (onAbort) signal.removeEventListener("abort", onAbort);
    }
  }

  #handBack(child: Child): void {
    if (child.residentBytes > RETIRED_ABOVE_BYTES) child.end();
    const [next] = this.#waiting;
    if (!next) return child.rest();
    this.#waiting.delete(next);
    next.give(child.over ? this.#start() : child);
  }
}

type Waiter = { readonly give: (child: Child) => void; readonly fail: (error: Error) => void };

function closed(): GatewayError {
  return new GatewayError("media.unreadable", "the workshop is closed; nothing is read any more");
}

/** One process. It is busy from its birth until it rests. */
class Child {
  busy = true;
  /** It is ended or ends; nothing can be asked of it. */
  over = false;
  residentBytes = 0;
  readonly #parts: ChildrenParts;
  readonly #process: ChildProcess;
  readonly #onOver: () => void;
  #idle: Timer | undefined;

  constructor(parts: ChildrenParts, onOver: () => void) {
    this.#parts = parts;
    this.#onOver = onOver;
    this.#process = fork(parts.entry, [parts.blobsFolder, String(process.pid)], {
      // A small nursery: jobs are short, and what V8 sets aside for them is not given back.
      execArgv: [`--max-old-space-size=${HEAP_MB}`, "--max-semi-space-size=2"],
      // One arena: glibc gives each of sharp's threads its own otherwise, and half of the memory lies about unused.
      env: { ...(parts.path === undefined ? {} : { PATH: parts.path }), MALLOC_ARENA_MAX: "1" },
      stdio: ["ignore", "ignore", "ignore", "ipc"], // libraries print there what is in files
      serialization: "json",
      // A group of its own: a program that a job has started ends with it, and Ctrl-C at a terminal does not reach it.
      detached: true,
    });
    this.#process.on("exit", () => this.end()); // what it has started may still run
    this.#process.on("error", () => this.end()); // it could not be started, or not be reached
  }

  /** @throws what Workshop.run says. */
  async perform(request: Request, signal: AbortSignal): Promise<unknown> {
    const { workSeconds, clock, log } = this.#parts;
    const { kind } = request;
    const child = this.#process;
    this.#idle?.cancel();
    signal.throwIfAborted();
    let clear: (() => void) | undefined;
    try {
      return await new Promise<unknown>((resolve, reject) => {
        const cut = (error: Error): void => {
          this.end();
          reject(error);
        };
        const onMessage = (message: unknown): void => {
          const report = message as Report; // serve.ts sends nothing else
          this.residentBytes = report.residentBytes;
          if (report.error === undefined) return resolve(report.gives);
          const { code, message: words, at } = report.error;
          log.warn({ kind, code, at }, "a job on media failed");
          reject(new GatewayError(code, words));
        };
        const onExit = (code: number | null, by: string | null): void => {
          if (!signal.aborted) log.warn({ kind, code, by }, "a job on media ended its process");
          const message = `the process of a job on media (${kind}) ended with ${code ?? by}`;
          reject(new GatewayError("media.unreadable", message));
        };
        const onError = (cause: Error): void =>
          cut(new GatewayError("media.unreadable", `a job on media (${kind}) has no process`, { cause }));
        const onAbort = (): void => cut(asError(signal.reason));
        const timer = clock.after(workSeconds * 1_000, () => {
          log.warn({ kind, workSeconds }, "a job on media took too long and was ended");
          cut(new GatewayError("media.too_slow", `a job on media (${kind}) took over ${workSeconds} s`));
        });
        child.on("message", onMessage);
        child.on("exit", onExit);
        child.on("error", onError);
        signal.addEventListener("abort", onAbort, { once: true });
        clear = () => {
          timer.cancel();
          child.off("message", onMessage);
          child.off("exit", onExit);
          child.off("error", onError);
          signal.removeEventListener("abort", onAbort);
        };
        if (this.over) onExit(child.exitCode, child.signalCode);
        else child.send(request);
      });
    } finally {
      clear?.();
    }
  }

  /** Waits for the next job, not for ever. */
  rest(): void {
    this.busy = false;
    if (!this.over) this.#idle = this.#parts.clock.after(IDLE_MS, () => this.end());
  }

  /** Ends it and what it has started, whatever they do. */
  end(): void {
    this.over = true;
    this.#idle?.cancel();
    this.#onOver();
    const { pid } = this.#process;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      this.#process.kill("SIGKILL"); // gone already; or not yet, or on this system never, at the head of a group
    }
  }
}
