import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Api } from "grammy";
import type { Update } from "grammy/types";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../clock.ts";
import { startTelegram, type TelegramEmulator } from "./emulator.ts";

type Delivery = {
  readonly text: string | undefined;
  readonly secret: unknown;
  answer(status: number, headers?: Readonly<Record<string, string>>): void;
};

let clock: ManualClock;
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
    answer: (status, headers = {}) => void response.writeHead(status, headers).end(),
  };
}

beforeEach(async () => {
  clock = manualClock();
  telegram = await startTelegram({ clock });
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

  it("gets again what it did not accept: at once, then after a wait that doubles", async () => {
    await api.setWebhook(hook.url);
    telegram.privateChat({ id: 700, firstName: "Mira" }).sendText("x");
    (await hook.next()).answer(503);
    (await hook.next()).answer(500);
    for (const wait of [2_000, 4_000]) {
      await clock.whenTimer(wait);
      await clock.advance(wait);
      const again = await hook.next();
      expect(again.text).toBe("x");
      again.answer(503);
    }
    await clock.whenTimer(8_000);
    expect(telegram.pending()).toHaveLength(1);
    expect(await api.getWebhookInfo()).toMatchObject({
      pending_update_count: 1,
      last_error_message: "Wrong response from the webhook: 503 Service Unavailable",
    });
  });

  it("is heard when it asks for more time, up to an hour", async () => {
    await api.setWebhook(hook.url);
    telegram.privateChat({ id: 700, firstName: "Mira" }).sendText("x");
    (await hook.next()).answer(503, { "retry-after": "7" });
    await clock.whenTimer(7_000);
    await clock.advance(7_000);
    (await hook.next()).answer(503, { "retry-after": "90000" });
    await clock.whenTimer(3_600_000);
    expect(telegram.pending()).toHaveLength(1);
  });

  it("is given up after 60 s without an answer, and asked again", async () => {
    await api.setWebhook(hook.url);
    telegram.privateChat({ id: 700, firstName: "Mira" }).sendText("x");
    await hook.next();
    await clock.advance(60_000);
    expect((await hook.next()).text).toBe("x");
  });

  it("is taken away when it says for 23 h that it is gone", async () => {
    await api.setWebhook(hook.url);
    telegram.privateChat({ id: 700, firstName: "Mira" }).sendText("x");
    const hour = { "retry-after": "3600" };
    for (let hours = 0; hours < 23; hours++) {
      (await hook.next()).answer(410, hour);
      await clock.whenTimer(3_600_000);
      await clock.advance(3_600_000);
    }
    (await hook.next()).answer(410, hour);
    await clock.whenTimer(3_600_000);
    expect((await api.getWebhookInfo()).url).toBe(hook.url);
    await clock.advance(1_800_000);
    telegram.privateChat({ id: 701, firstName: "Tomás" }).sendText("y");
    (await hook.next()).answer(410, hour);
    await expect.poll(async () => (await api.getWebhookInfo()).url).toBe("");
    expect(await api.getUpdates()).toHaveLength(2);
  });

  it("gets presses of buttons beside a message that is held up", async () => {
    await api.setWebhook(hook.url);
    const mira = telegram.privateChat({ id: 700, firstName: "Mira" });
    mira.sendText("slow");
    expect((await hook.next()).text).toBe("slow");
    mira.forgePress(1, "stop");
    expect((await hook.next()).text).toBeUndefined();
  });

  it.each([
    ["http://example.org/hook", {}, "bad webhook: An HTTPS URL must be provided for webhook"],
    ["https://example.org:9000/hook", {}, "Webhook can be set up only on ports 80, 88, 443 or 8443"],
    ["nowhere", {}, "invalid webhook URL specified"],
    ["https://example.org/hook", { secret_token: "a b" }, "secret token contains unallowed characters"],
    ["https://example.org/hook", { secret_token: "x".repeat(257) }, "secret token is too long"],
  ])("cannot be %s %j", async (url, other, why) => {
    await expect(api.setWebhook(url, other)).rejects.toThrow(why);
    expect((await api.getWebhookInfo()).url).toBe("");
  });

  it("keeps what waits for polling when it is taken away", async () => {
    await api.setWebhook(hook.url);
    telegram.privateChat({ id: 700, firstName: "Mira" }).sendText("x");
    await hook.next();
    await api.deleteWebhook();
    expect(await api.getUpdates()).toHaveLength(1);
  });
});
