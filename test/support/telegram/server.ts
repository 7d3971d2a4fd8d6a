import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pause } from "../../../src/core/clock.ts";
import type { Account } from "./account.ts";
import type { Faults, HookListeners, Fault } from "./faults.ts";
import type { FloodControl } from "./flood.ts";
import { methodName, methodNamed } from "./methods/all.ts";
import { checkLoggedIn } from "./methods/bot.ts";
import type { Outcomes } from "./outcomes.ts";
import { Refusal } from "./refusal.ts";
import { Reply } from "./reply.ts";
import { integer, readBody, readParameters, type Call } from "./request.ts";

export type ServerParts = {
  readonly token: string;
  readonly account: Account;
  readonly faults: Faults;
  readonly flood: FloodControl | undefined;
  readonly hooks: HookListeners;
  readonly outcomes: Outcomes;
};

export type Server = {
  readonly origin: string;
  /** @throws AggregateError of what went wrong in the emulator itself, or in a test's listeners. */
  close(): Promise<void>;
};

const API = /^\/bot([^/]*)\/(?:test\/)?([^/]*)$/;
const FILE = /^\/file\/bot([^/]*)\/(?:test\/)?(.+)$/;

/** The Bot API over HTTP, on a free port of this machine. */
export async function serve(parts: ServerParts): Promise<Server> {
  const failures: unknown[] = [];
  const server = createServer((request, response) => {
    new Exchange(parts, request, response).run().catch((error: unknown) => {
      failures.push(error);
      response.destroy();
    });
  });
  server.keepAliveTimeout = 500_000; // telegram-bot-api keeps idle connections for 500 s
  server.requestTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP, so neither a string nor null
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      if (failures.length > 0) throw new AggregateError(failures.splice(0), "the Telegram emulator failed");
    },
  };
}

class Exchange {
  readonly #parts: ServerParts;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #reply: Reply;

  constructor(parts: ServerParts, request: IncomingMessage, response: ServerResponse) {
    this.#parts = parts;
    this.#request = request;
    this.#response = response;
    this.#reply = new Reply(request, response, parts.account.clock);
  }

  async run(): Promise<void> {
    const { account } = this.#parts;
    const url = new URL(this.#request.url ?? "/", "http://emulator");
    const body = await readBody(this.#request).catch(() => undefined);
    if (!body) return; // the client hung up, or was killed, before all was here
    const file = FILE.exec(url.pathname);
    const api = API.exec(url.pathname);
    let method = "";
    try {
      this.#checkToken(decodeURIComponent(file?.[1] ?? api?.[1] ?? ""));
      if (file?.[2] !== undefined) return await this.#file(decodeURIComponent(file[2]));
      method = methodName(api?.[2] ?? "", account) ?? "";
      if (method === "") throw new Refusal(404, "Not Found: method not found");
      const read = readParameters(url.searchParams, this.#request.headers["content-type"] ?? "", body);
      await this.#call(this.#noted(method, read));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#end(method, String(error.code));
      await this.#reply.refuse(error);
    }
  }

  #checkToken(token: string): void {
    if (token !== this.#parts.token) {
      if (!/^\d+:[\w-]+$/.test(token)) throw new Refusal(404, "Not Found");
      throw new Refusal(401, "Unauthorized");
    }
    checkLoggedIn(this.#parts.account);
  }

  #noted(method: string, read: Pick<Call, "parameters" | "uploads">): Call {
    const { log, clock } = this.#parts.account;
    const call = { number: log.calls.count + 1, method, ...read, at: clock.now() };
    log.calls.add(call);
    return call;
  }

  #end(method: string, outcome: string): void {
    this.#parts.outcomes.add(method, outcome);
  }

  async #call(call: Call): Promise<void> {
    const fault = this.#parts.faults.of(call);
    if (fault && (await this.#faultBefore(call, fault))) return;
    if (call.method === "getUpdates") return this.#poll(call, fault);
    let refusal: Refusal | undefined;
    let result: unknown;
    try {
      result = await this.#execute(call);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusal = error;
    }
    // What loses an answer loses a refusal as well.
    this.#end(call.method, fault ? nameOf(fault) : String(refusal?.code ?? "ok"));
    if (refusal) await this.#reply.refuse(refusal, fault);
    else await this.#reply.json({ ok: true, result }, fault);
  }

  async #execute(call: Call): Promise<unknown> {
    const { account, flood, hooks } = this.#parts;
    const answer = methodNamed(call.method)(account, call);
    if ("result" in answer) return answer.result;
    flood?.check(call);
    await hooks.emit("beforeCommit", call);
    const result = answer.commit();
    await hooks.emit("afterCommit", call);
    return result;
  }

  async #poll(call: Call, fault: Fault | undefined): Promise<void> {
    const { account, hooks } = this.#parts;
    const { parameters } = call;
    const gone = new AbortController();
    this.#response.once("close", () => gone.abort());
    if (account.webhook) {
      throw await account.queue.conflict(
        "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    }
    account.queue.allow(parameters["allowed_updates"]);
    const updates = await account.queue.poll(
      {
        offset: integer(parameters["offset"]) ?? 0,
        limit: integer(parameters["limit"]) ?? 100,
        timeoutSeconds: integer(parameters["timeout"]) ?? 0,
      },
      gone.signal,
    );
    if (gone.signal.aborted) return this.#end(call.method, "client gone");
    this.#end(call.method, fault ? nameOf(fault) : "ok");
    await this.#reply.json({ ok: true, result: updates }, fault);
    await hooks.emit("pollAnswered", { call, updates });
  }

  /** True when this fault has answered, or will never answer. */
  async #faultBefore(call: Call, fault: Fault): Promise<boolean> {
    switch (fault.kind) {
      case "delay":
        await pause(this.#parts.account.clock, fault.ms);
        return false;
      case "rateLimit":
        throw new Refusal(429, `Too Many Requests: retry after ${fault.seconds}`, {
          retry_after: fault.seconds,
        });
      case "refuse":
        throw new Refusal(fault.code, fault.description, fault.parameters);
      case "drop":
      case "silence":
      case "html":
        if (fault.when === "after") return false;
        this.#end(call.method, nameOf(fault));
        await this.#reply.json({}, fault);
        return true;
      case "truncate":
      case "cut":
      case "drip":
      case "stall":
        return false;
    }
  }

  async #file(path: string): Promise<void> {
    const { account, faults, hooks } = this.#parts;
    const call = this.#noted("file", { parameters: { path }, uploads: new Map() });
    const fault = faults.of(call);
    await hooks.emit("fileRequested", { path, call });
    if (fault && (await this.#faultBefore(call, fault))) return;
    const file = account.files.at(path); // none with --local, where nothing is ever linked
    if (!file) throw new Refusal(404, "Not Found");
    await this.#reply.bytes(file.bytes, fault);
  }
}

/** A fault as `Outcomes` counts it; one that does not keep the answer back is none. */
function nameOf(fault: Fault): string {
  switch (fault.kind) {
    case "delay":
    case "drip":
      return "ok";
    case "drop":
    case "silence":
      return `${fault.kind} ${fault.when}`;
    case "html":
      return `html ${fault.status} ${fault.when}`;
    case "truncate":
    case "cut":
    case "stall":
      return fault.kind;
    case "rateLimit":
      return "429";
    case "refuse":
      return String(fault.code);
  }
}
