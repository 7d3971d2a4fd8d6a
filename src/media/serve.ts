import { Worker } from "node:worker_threads";
import { type ErrorCode, GatewayError, systemCode } from "../core/errors.ts";

/** From children.ts to a child: what is to be done. */
export type Request = { readonly kind: string; readonly needs: unknown };

/** From a child: what became of it. */
export type Report = {
  readonly gives?: unknown;
  readonly error?: {
    readonly code: ErrorCode;
    readonly message: string;
    /** Where in the code, for the log; what an unknown error says may quote the file. */
    readonly at: readonly string[];
  };
  /** Of the whole process. */
  readonly residentBytes: number;
};

/**
 * The life of a child process of children.ts: does what it is asked and ends with its parent, at the latest when the
 * guard notices. Signals that are meant for the parent, such as a service manager's, do not end it in the middle.
 */
export function serve(work: (request: Request) => Promise<unknown>): void {
  const parent = Number(process.argv[3]);
  void new Worker(new URL("./guard.js", import.meta.url), { workerData: parent });
  process.on("SIGTERM", () => {});
  process.on("SIGINT", () => {});
  process.on("disconnect", endGroup);
  // A promise that a decoder has left behind; the job it belongs to has its deadline.
  process.on("unhandledRejection", () => {});
  process.on("message", (message) => {
    void answer(message as Request, work); // children.ts sends nothing else; it never rejects
  });
}

/** Ends this process and what it has started. */
export function endGroup(): void {
  try {
    process.kill(-process.pid, "SIGKILL");
  } catch {
    process.kill(process.pid, "SIGKILL"); // it does not lead a group on this system
  }
}

async function answer(request: Request, work: (request: Request) => Promise<unknown>): Promise<void> {
  const report = await work(request).then(
    (gives) => ({ gives }),
    (thrown: unknown) => ({ error: told(thrown) }),
  );
  process.send?.({ ...report, residentBytes: process.memoryUsage.rss() } satisfies Report);
}

function told(thrown: unknown): NonNullable<Report["error"]> {
  if (thrown instanceof GatewayError) return { code: thrown.code, message: thrown.message, at: [] };
  const system = systemCode(thrown);
  if (system !== undefined)
    return { code: "media.unavailable", message: `the data folder is of no use now (${system})`, at: [] };
  const { name, message, stack } =
    thrown instanceof Error ? thrown : { name: typeof thrown, message: "", stack: "" };
  const frames = stack?.replace(message, "").match(/^ {4}at .+$/gm) ?? [];
  return {
    code: "media.unreadable",
    message: `a decoder failed (${name})`,
    at: frames.slice(0, 4).map((frame) => frame.trim()),
  };
}
