import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pause } from "../../../src/core/clock.ts";
import type { Account } from "./account.ts";
import type { Fault, Faults, HookListeners } from "./faults.ts";
import { methods } from "./methods.ts";
import { Refusal } from "./refusal.ts";
import { integer, readBody, readParameters, type Call } from "./request.ts";

export type ServerParts = {
  readonly token: string;
  readonly account: Account;
  readonly faults: Faults;
  readonly hooks: HookListeners;
};

export type Server = {
  readonly origin: string;
  /** @throws AggregateError of what went wrong in the emulator itself, or in a test's listeners. */
  close(): Promise<void>;
};

const METHOD_NAMES = new Map(
  [...Object.keys(methods), "getUpdates"].map((name) => [name.toLowerCase(), name]),
);
const API = /^\/bot([^/]*)\/(?:test\/)?([^/]*)$/;
const FILE = /^\/file\/bot([^/]*)\/(?:test\/)?(.+)$/;
const HEAD_LINES = { "content-type": "application/json" };

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

  constructor(parts: ServerParts, request: IncomingMessage, response: ServerResponse) {
    this.#parts = parts;
    this.#request = request;
    this.#response = response;
  }

  async run(): Promise<void> {
    const url = new URL(this.#request.url ?? "/", "http://emulator");
    const body = await readBody(this.#request).catch(() => undefined);
    if (!body) return; // the client hung up, or was killed, before all was here
    const file = FILE.exec(url.pathname);
    const api = API.exec(url.pathname);
    try {
      this.#checkToken(decodeURIComponent(file?.[1] ?? api?.[1] ?? ""));
      if (file?.[2] !== undefined) return await this.#file(decodeURIComponent(file[2]));
      const method = METHOD_NAMES.get((api?.[2] ?? "").toLowerCase());
      if (method === undefined) throw new Refusal(404, "Not Found: method not found");
      const read = readParameters(url.searchParams, this.#request.headers["content-type"] ?? "", body);
      await this.#call(this.#noted(method, read));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#refuse(error);
    }
  }

  #checkToken(token: string): void {
    if (token === this.#parts.token) return;
    if (!/^\d+:[\w-]+$/.test(token)) throw new Refusal(404, "Not Found");
    throw new Refusal(401, "Unauthorized");
  }

  #noted(method: string, read: Pick<Call, "parameters" | "uploads">): Call {
    const { log, clock } = this.#parts.account;
    const call = { number: log.calls.length + 1, method, ...read, at: clock.now() };
    log.addCall(call);
    return call;
  }

  async #call(call: Call): Promise<void> {
    const fault = this.#parts.faults.of(call);
    if (fault && (await this.#faultBefore(fault))) return;
    if (call.method === "getUpdates") return this.#poll(call, fault);
    const result = await this.#execute(call);
    this.#answer(JSON.stringify({ ok: true, result }), fault);
  }

  async #execute(call: Call): Promise<unknown> {
    const { account, hooks } = this.#parts;
    const method = methods[call.method]!; // METHOD_NAMES is made of these keys
    const answer = method(account, call);
    if ("result" in answer) return answer.result;
    await hooks.emit("beforeCommit", call);
    const result = answer.commit();
    await hooks.emit("afterCommit", call);
    return result;
  }

  async #poll(call: Call, fault: Fault | undefined): Promise<void> {
    const { account, hooks } = this.#parts;
    const { parameters } = call;
    if (account.webhook) {
      throw new Refusal(
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    }
    account.queue.allow(parameters["allowed_updates"]);
    const gone = new AbortController();
    this.#response.once("close", () => gone.abort());
    const updates = await account.queue.poll(
      {
        offset: integer(parameters["offset"]) ?? 0,
        limit: integer(parameters["limit"]) ?? 100,
        timeoutSeconds: integer(parameters["timeout"]) ?? 0,
      },
      gone.signal,
    );
    if (gone.signal.aborted) return;
    this.#answer(JSON.stringify({ ok: true, result: updates }), fault);
    await hooks.emit("pollAnswered", { call, updates });
  }

  /** True when this fault has answered, or will never answer. */
  async #faultBefore(fault: Fault): Promise<boolean> {
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
        this.#answer("", fault);
        return true;
      case "truncate":
      case "cut":
      case "drip":
      case "stall":
        return false;
    }
  }

  #answer(json: string, fault: Fault | undefined): void {
    const response = this.#response;
    switch (fault?.kind) {
      case "drop":
        this.#request.socket.destroy();
        return;
      case "silence":
        return;
      case "html":
        this.#html(fault.status);
        return;
      case "truncate":
        response.writeHead(200, HEAD_LINES);
        response.end(json.slice(0, json.length / 2));
        return;
      case "cut":
        response.writeHead(200, { ...HEAD_LINES, "content-length": Buffer.byteLength(json) });
        response.write(json.slice(0, json.length / 2), () => this.#request.socket.destroy());
        return;
      case "delay":
      case "rateLimit":
      case "refuse":
      case "drip":
      case "stall":
      case undefined:
        response.writeHead(200, { ...HEAD_LINES, "content-length": Buffer.byteLength(json) });
        response.end(json);
    }
  }

  #refuse({ code, message, parameters }: Refusal): void {
    // Too large a body is turned away by the web server in front of the Bot API, which speaks HTML.
    if (code === 413) return this.#html(code);
    const json = JSON.stringify({ ok: false, error_code: code, description: message, parameters });
    if (parameters?.retry_after !== undefined)
      this.#response.setHeader("retry-after", parameters.retry_after);
    this.#response.writeHead(code, { ...HEAD_LINES, "content-length": Buffer.byteLength(json) });
    this.#response.end(json);
  }

  #html(status: number): void {
    this.#response.writeHead(status, { "content-type": "text/html" });
    this.#response.end(`<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>`);
  }

  async #file(path: string): Promise<void> {
    const { account, faults, hooks } = this.#parts;
    const call = this.#noted("file", { parameters: { path }, uploads: new Map() });
    const fault = faults.of(call);
    await hooks.emit("fileRequested", { path, call });
    if (fault && (await this.#faultBefore(fault))) return;
    const file = account.files.at(path);
    if (!file) throw new Refusal(404, "Not Found");
    const { bytes } = file;
    this.#response.writeHead(200, {
      "content-type": "application/octet-stream",
      "content-length": bytes.length,
    });
    switch (fault?.kind) {
      case "stall":
        this.#response.write(bytes.subarray(0, fault.afterBytes));
        return;
      case "drip":
        return this.#drip(bytes, fault.chunkBytes, fault.everyMs);
      case "cut":
        this.#response.write(bytes.subarray(0, bytes.length / 2), () => this.#request.socket.destroy());
        return;
      case "truncate":
      case "drop":
      case "silence":
      case "html":
        throw new Error(`a download cannot meet "${fault.kind}" after it was answered`);
      case "delay":
      case "rateLimit":
      case "refuse":
      case undefined:
        this.#response.end(bytes);
    }
  }

  async #drip(bytes: Buffer, chunkBytes: number, everyMs: number): Promise<void> {
    for (let at = 0; at < bytes.length && !this.#response.destroyed; at += chunkBytes) {
      if (at > 0) await pause(this.#parts.account.clock, everyMs);
      this.#response.write(bytes.subarray(at, at + chunkBytes));
    }
    this.#response.end();
  }
}
