import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Api } from "grammy";
import type { Update } from "grammy/types";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegram, type TelegramEmulator } from "./emulator.ts";

type Delivery = { readonly text: string | undefined; readonly secret: unknown; answer(status: number): void };

let telegram: TelegramEmulator;
let api: Api;
let hook: { readonly url: string; next(): Promise<Delivery>; close(): void };

/** A gateway's side of a webhook, whose answers the test gives by hand. */
async function openHook(): Promise<typeof hook> {
  const deliveries: Delivery[] = [];
  const takers: ((delivery: Delivery) => void)[] = [];
  const server = createServer((request, response) => {
    void take(request, response); // rejects only when the emulator hangs up, which ends the test
  });
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const delivery = await receive(request, response);
    const taker = takers.shift();
    if (taker) taker(delivery);
    else deliveries.push(delivery);
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  return {
    url: `http://127.0.0.1:${port}/hook`,
    next() {
      const waiting = deliveries.shift();
      return waiting ? Promise.resolve(waiting) : new Promise((resolve) => takers.push(resolve));
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<Delivery> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  const update = JSON.parse(body) as Update; // the emulator sends nothing else
  return {
    text: update.message?.text,
    secret: request.headers["x-telegram-bot-api-secret-token"],
    answer: (status) => void response.writeHead(status, status === 503 ? { "retry-after": "0" } : {}).end(),
  };
}

beforeEach(async () => {
  telegram = await startTelegram();
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  hook = await openHook();
});
afterEach(async () => {
  await telegram.close();
  hook.close();
});

describe("the webhook", () => {
  it("gets one chat's updates in order, one at a time, other chats beside it, and the secret", async () => {
    const mira = telegram.privateChat({ id: 700, firstName: "Mira" });
    mira.sendText("waiting since before");
    await api.setWebhook(hook.url, { secret_token: "s3cret" });
    const first = await hook.next();
    expect([first.text, first.secret]).toEqual(["waiting since before", "s3cret"]);
    mira.sendText("second");
    telegram.privateChat({ id: 701, firstName: "Tomás" }).sendText("another chat");
    const other = await hook.next();
    expect(other.text).toBe("another chat");
    first.answer(200);
    const second = await hook.next();
    expect(second.text).toBe("second");
    expect(telegram.pending()).toHaveLength(2);
  });

  it("gets again what it did not accept", async () => {
    await api.setWebhook(hook.url);
    telegram.privateChat({ id: 700, firstName: "Mira" }).sendText("x");
    (await hook.next()).answer(503);
    const again = await hook.next();
    expect(again.text).toBe("x");
    expect(telegram.pending()).toHaveLength(1);
    expect(await api.getWebhookInfo()).toMatchObject({
      last_error_message: "Wrong response from the webhook: 503 Service Unavailable",
    });
  });

  it("keeps what waits for polling when it is taken away", async () => {
    await api.setWebhook(hook.url);
    telegram.privateChat({ id: 700, firstName: "Mira" }).sendText("x");
    await hook.next();
    await api.deleteWebhook();
    expect(await api.getUpdates()).toHaveLength(1);
  });
});
