import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, pause } from "../../../src/core/clock.ts";
import type { Fault } from "./faults.ts";
import type { Refusal } from "./refusal.ts";

const JSON_TYPE = "application/json";
const BYTES_TYPE = "application/octet-stream";

/** Writes the answer of one request, or what a fault makes of it. */
export class Reply {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #clock: Clock;

  constructor(request: IncomingMessage, response: ServerResponse, clock: Clock) {
    this.#request = request;
    this.#response = response;
    this.#clock = clock;
  }

  json(value: unknown, fault?: Fault): Promise<void> {
    return this.#write(200, JSON_TYPE, Buffer.from(JSON.stringify(value)), fault);
  }

  bytes(bytes: Buffer, fault?: Fault): Promise<void> {
    return this.#write(200, BYTES_TYPE, bytes, fault);
  }

  async refuse({ code, message, parameters }: Refusal, fault?: Fault): Promise<void> {
    // Too large a body is turned away by the web server in front of the Bot API, which speaks HTML.
    if (code === 413) return this.#html(code);
    if (parameters?.retry_after !== undefined)
      this.#response.setHeader("retry-after", parameters.retry_after);
    const answer = { ok: false, error_code: code, description: message, parameters };
    return this.#write(code, JSON_TYPE, Buffer.from(JSON.stringify(answer)), fault);
  }

  async #write(status: number, type: string, body: Buffer, fault: Fault | undefined): Promise<void> {
    const response = this.#response;
    const head = { "content-type": type };
    const whole = { ...head, "content-length": body.length };
    switch (fault?.kind) {
      case "drop":
        this.#request.socket.destroy();
        return;
      case "silence":
        return;
      case "html":
        return this.#html(fault.status);
      case "truncate":
        response.writeHead(status, head);
        response.end(body.subarray(0, body.length / 2));
        return;
      case "cut":
        response.writeHead(status, whole);
        response.write(body.subarray(0, body.length / 2), () => this.#request.socket.destroy());
        return;
      case "stall":
        response.writeHead(status, whole);
        response.write(body.subarray(0, fault.afterBytes));
        return;
      case "drip":
        response.writeHead(status, whole);
        return this.#drip(body, fault.chunkBytes, fault.everyMs);
      case "delay":
      case "rateLimit":
      case "refuse":
      case undefined:
        response.writeHead(status, whole);
        response.end(body);
    }
  }

  #html(status: number): void {
    this.#response.writeHead(status, { "content-type": "text/html" });
    this.#response.end(`<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>`);
  }

  async #drip(bytes: Buffer, chunkBytes: number, everyMs: number): Promise<void> {
    for (let at = 0; at < bytes.length && !this.#response.destroyed; at += chunkBytes) {
      if (at > 0) await pause(this.#clock, everyMs);
      this.#response.write(bytes.subarray(at, at + chunkBytes));
    }
    this.#response.end();
  }
}
