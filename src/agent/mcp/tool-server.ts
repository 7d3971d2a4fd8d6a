import type { McpServer } from "../../core/agent.ts";
import type { Clock } from "../../core/clock.ts";
import { asError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { inQuotes } from "../../core/words.ts";
import type { Link, ListedTool, ToolResult } from "./link.ts";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;
/** One that lets so many calls in a row wait in vain is begun anew. */
const MOST_SILENCES = 2;

/** What a call of a tool failed with, as a sentence to the model. */
export class ServerError extends Error {
  override readonly name = "ServerError";
}

/** What the server itself answered instead of a result: words from outside. */
export class ServerSays extends Error {
  override readonly name = "ServerSays";
}

type State = "new" | "up" | "lost" | "down" | "closed";

/**
 * One server of tools: connected when it is first asked for, and again after it was lost, at growing intervals. Nothing
 * of it rejects but calls: a server that fails takes its own tools away and nothing else.
 */
export class ToolServer {
  readonly #server: McpServer;
  readonly #clock: Clock;
  readonly #log: Log;
  #state: State = "new";
  #link: Link | undefined;
  #connecting: Promise<void> | undefined;
  #tools: readonly ListedTool[] = [];
  /** Of attempts and connections, since a call was last answered. */
  #failures = 0;
  #silences = 0;
  #notBefore = 0;

  constructor(server: McpServer, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#server = server;
    this.#clock = clock;
    this.#log = log;
  }

  get name(): string {
    return this.#server.name;
  }

  get timeoutSeconds(): number {
    return this.#server.timeoutSeconds;
  }

  /** What it has to offer, the same list until it has other tools. One that was lost just now keeps its tools: it is asked for again. */
  get tools(): readonly ListedTool[] {
    return this.#tools;
  }

  /** It was tried, and is not there. */
  get unavailable(): boolean {
    return this.#state === "down";
  }

  /** Resolves when it is there, or it is known that it is not; connects it where it is time. Never rejects. */
  async ready(): Promise<void> {
    if (this.#state === "up" || this.#state === "closed") return;
    if (this.#connecting === undefined && this.#clock.now() < this.#notBefore) return;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    await this.#connecting;
  }

  /** @throws ServerError, ServerSays, or the signal's reason. */
  async call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
  ): Promise<ToolResult> {
    await this.ready();
    signal?.throwIfAborted();
    const link = this.#link;
    const quoted = inQuotes(this.name);
    if (link === undefined) {
      throw new ServerError(`the server ${quoted} is not there now; try again later, or do without it`);
    }
    const own = new AbortController();
    const abort = (): void => own.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const milliseconds = this.timeoutSeconds * 1_000;
      const result = await link.call(tool, args, { milliseconds, signal: own.signal });
      this.#failures = 0;
      this.#silences = 0;
      return result;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw this.#failed(error, link);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Ends it for good. Never rejects. */
  async close(): Promise<void> {
    this.#state = "closed";
    this.#tools = [];
    const link = this.#link;
    this.#link = undefined;
    await link?.close().catch(() => {}); // what does not end is ended with us
  }

  async #connect(): Promise<void> {
    const { timeoutSeconds } = this.#server;
    const opened = this.#open();
    const listed = async (): Promise<{ readonly link: Link; readonly tools: readonly ListedTool[] }> => {
      const link = await opened;
      return { link, tools: await link.list(timeoutSeconds * 1_000) };
    };
    try {
      const { link, tools } = await this.#inTime(listed());
      if (this.#isClosed()) {
        await link.close();
        return;
      }
      this.#link = link;
      this.#state = "up";
      this.#silences = 0;
      this.#tools = tools;
      this.#log.debug({ server: this.name, tools: tools.length }, "a server of tools is connected");
    } catch (error) {
      // One that is there when nobody waits any more, or does not tell what it has, is of no use.
      void opened.then(async (late) => await late.close()).catch(() => {});
      if (this.#isClosed()) return;
      this.#state = "down";
      // The same list while it stays away: by that is known that nothing has changed.
      if (this.#tools.length > 0) this.#tools = [];
      this.#wait();
      const again = Math.round((this.#notBefore - this.#clock.now()) / 1_000);
      this.#log.warn(
        { server: this.name, why: whyOf(error, this.#server.use) },
        `a server of tools failed, again in ${again} s`,
      );
    }
  }

  async #open(): Promise<Link> {
    // It takes a third of a second, and few agents have servers.
    const { open } = await import("./open.ts");
    let mine: Link | undefined;
    mine = await open(this.#server, {
      log: this.#log,
      lost: () => this.#lost(mine),
      changed: () => void this.#relist(mine), // it never rejects
    });
    return mine;
  }

  #inTime<T>(work: Promise<T>): Promise<T> {
    const { timeoutSeconds } = this.#server;
    return new Promise((resolve, reject) => {
      const why = new ServerError(`no answer in ${timeoutSeconds} s`);
      const timer = this.#clock.after(timeoutSeconds * 1_000, () => reject(why));
      work.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  async #relist(link: Link | undefined): Promise<void> {
    try {
      const tools = await link?.list(this.timeoutSeconds * 1_000);
      if (tools !== undefined && link === this.#link && this.#state === "up") this.#tools = tools;
    } catch {
      this.#log.debug(
        { server: this.name },
        "a server of tools says that it has others, and does not list them",
      );
    }
  }

  #failed(error: unknown, link: Link): Error {
    const quoted = inQuotes(this.name);
    const code = codeOf(error);
    if (code === TIMED_OUT) {
      this.#silences += 1;
      if (this.#silences >= MOST_SILENCES) this.#drop(link);
      const what = `the server ${quoted} did not answer in ${this.timeoutSeconds} s`;
      return new ServerError(`${what}; what it has done is not known`);
    }
    if (code !== undefined && code !== CONNECTION_CLOSED && isProtocol(error)) {
      return new ServerSays(asError(error).message);
    }
    if (asError(error).name === "ZodError" || asError(error).name === "$ZodError") {
      return new ServerError(`the server ${quoted} gave no result that could be read`);
    }
    this.#drop(link);
    return new ServerError(`the server ${quoted} was lost during the call; what it has done is not known`);
  }

  #drop(link: Link): void {
    this.#lost(link);
    void link.close().catch(() => {}); // it is of no use any more, however it ends
  }

  #lost(link: Link | undefined): void {
    if (link === undefined || link !== this.#link) return;
    this.#link = undefined;
    this.#state = "lost";
    this.#wait();
    this.#log.warn({ server: this.name }, "a server of tools was lost");
  }

  /** The first loss is mended at once, which a server that was restarted deserves. */
  #wait(): void {
    this.#failures += 1;
    const ms = this.#failures === 1 && this.#state === "lost" ? 0 : FIRST_WAIT_MS * 2 ** (this.#failures - 1);
    this.#notBefore = this.#clock.now() + Math.min(ms, LONGEST_WAIT_MS);
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }
}

// JSON-RPC's codes as the protocol's library has them.
const CONNECTION_CLOSED = -32_000;
const TIMED_OUT = -32_001;

function codeOf(error: unknown): number | undefined {
  const { code } = asError(error) as { readonly code?: unknown };
  return typeof code === "number" ? code : undefined;
}

/** Whether the server answered with an error of the protocol; other codes are of HTTP and sockets. */
function isProtocol(error: unknown): boolean {
  return asError(error).name === "McpError";
}

/** For the log: a message of the library's may hold the address, and that a key. */
function whyOf(error: unknown, use: McpServer["use"]): string {
  if (error instanceof ServerError) return error.message;
  const { message } = asError(error);
  if (message.startsWith("Authentication failed")) return "HTTP 401";
  const status = /\b(?:HTTP|status(?: code)?:?)\s*(\d{3})\b/i.exec(message)?.[1];
  if (status !== undefined) return `HTTP ${status}`;
  const begun = use === "http" ? "it could not be reached" : "it did not start";
  return `${begun}, or does not speak the protocol`;
}
