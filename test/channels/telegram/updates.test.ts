import { afterEach, describe, expect, it } from "vitest";
import { GatewayError } from "../../../src/core/errors.ts";
import { manualClock } from "../../support/clock.ts";
import { startTelegram } from "../../support/telegram/emulator.ts";
import { relay } from "./edges.ts";
import { type Receiving, type ReceivingOptions, startReceiving, untilPolled } from "./receiving.ts";
import { MIRA, until } from "./set-up.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function setUp(options: ReceivingOptions = {}): Promise<Receiving> {
  const at = await startReceiving(options);
  cleanups.push(() => at.close());
  return at;
}

describe("pressed buttons", () => {
  /** A question with a button in Mira's chat; gives its number. */
  async function asked(at: Receiving): Promise<number> {
    const reply_markup = { inline_keyboard: [[{ text: "Yes", callback_data: "k1" }]] };
    return (await at.api.sendMessage({ chat_id: MIRA.id, text: "Shall I?", reply_markup })).message_id;
  }

  it("are answered at once after the commit, with the words for whoever pressed them", async () => {
    const words = "Done. ".repeat(50);
    const at = await setUp({
      host: { answers: ([event]) => new Map(event?.type === "choice" ? [[event.id, words]] : []) },
    });
    await untilPolled(at, 1);
    const question = await asked(at);
    const order: string[] = [];
    at.host.afterAccept(() => void order.push("committed"));
    const answered = at.emulator.nextCall(({ method }) => method === "answerCallbackQuery");
    const query = at.mira.press(question, "k1");
    expect((await answered).parameters).toEqual({ callback_query_id: query, text: words.slice(0, 200) });
    expect(order).toEqual(["committed"]);
    expect(at.host.accepted).toMatchObject([{ type: "choice", id: query, key: "k1" }]);
  });

  it("are all answered, with no words where there are none and where they say nothing to us", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    const from = { id: MIRA.id, is_bot: false, first_name: "Mira" };
    const old = {
      chat: { id: MIRA.id, type: "private", first_name: "Mira" },
      message_id: 1,
      date: 0,
    } as const;
    at.emulator.inject({ callback_query: { id: "1", from, chat_instance: "1", data: "k1", message: old } });
    at.emulator.inject({ callback_query: { id: "2", from, chat_instance: "1", game_short_name: "snake" } });
    await until(() => at.calls("answerCallbackQuery").length === 2);
    expect(at.calls("answerCallbackQuery").map(({ parameters }) => parameters)).toEqual([
      { callback_query_id: "1" },
      { callback_query_id: "2" },
    ]);
  });

  it("are not answered while they cannot be committed", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    const question = await asked(at);
    at.host.refuse(new GatewayError("store.unavailable", "the disk is full"));
    at.mira.press(question, "k1");
    await until(() => at.host.accepts() === 1 && at.timers() === 2);
    expect(at.calls("answerCallbackQuery")).toEqual([]);
    at.host.refuse(undefined);
    await at.clock.advance(1_000);
    await until(() => at.calls("answerCallbackQuery").length === 1);
  });

  it("that are too old to be answered are no trouble", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    const question = await asked(at);
    const store = new Promise<void>((resolve) => at.clock.after(149_000, resolve));
    at.host.beforeAccept(() => store);
    at.mira.press(question, "k1");
    await until(() => at.host.accepts() === 1);
    const answered = at.emulator.nextCall(({ method }) => method === "answerCallbackQuery");
    at.emulator.fault({ method: "answerCallbackQuery" }, { kind: "delay", ms: 2_000 });
    await at.clock.advance(149_000);
    await answered;
    await at.clock.advance(2_000);
    await until(() => at.timers() === 2);
    expect(at.host.logged).toEqual([]);
  });

  it("hold up neither the polls nor the end for longer than 3 s", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    const question = await asked(at);
    at.emulator.fault({ method: "answerCallbackQuery" }, { kind: "silence", when: "before" });
    at.mira.press(question, "k1");
    at.mira.sendText("and this");
    await at.host.whenAccepted(2);
    await until(() => at.calls("getUpdates").length >= 2 && at.calls("answerCallbackQuery").length === 1);
    let ended = false;
    const stopping = at.stop().then(() => (ended = true));
    await at.clock.advance(2_999);
    expect(ended).toBe(false);
    await at.clock.advance(1);
    await stopping;
  });
});

describe("messages to a business account", () => {
  const OTTO = { id: 700_100_009, firstName: "Otto" };
  const TOMAS = { id: 700_100_002, firstName: "Tomás" };
  const OTTOS = { settings: { business: [String(OTTO.id)] } };

  it("are taken in by what Telegram has said of the connection, in the same breath", async () => {
    const at = await setUp(OTTOS);
    await untilPolled(at, 1);
    const business = at.emulator.business(OTTO);
    business.customer(TOMAS).sendText("Are you open?");
    expect(await at.host.whenAccepted(1)).toMatchObject([
      { type: "message", content: [{ text: "Are you open?" }], from: { id: String(TOMAS.id) } },
    ]);
  });

  it("are still known to be whose they are after a restart, and not when they may not be answered any more", async () => {
    const first = await setUp(OTTOS);
    await untilPolled(first, 1);
    const business = first.emulator.business(OTTO);
    await untilPolled(first, 2);
    await first.stop();
    const { emulator, clock, host } = first;
    const at = await setUp({ ...OTTOS, emulator, clock, state: host.host.state });
    business.customer(TOMAS).sendText("Are you open?");
    await at.host.whenAccepted(1);
    business.allow({});
    business.customer(TOMAS).sendText("Hello?");
    at.mira.sendText("to the bot itself");
    await at.host.whenAccepted(2);
    expect(at.host.accepted.map((event) => event.type === "message" && event.content)).toEqual([
      [{ type: "text", text: "Are you open?" }],
      [{ type: "text", text: "to the bot itself" }],
    ]);
    expect(at.calls("getBusinessConnection")).toEqual([]);
  });

  describe("by a connection that is not known", () => {
    let answer: { readonly status: number; readonly body: object };
    let asked: number;

    /** A Telegram that answers getBusinessConnection as the test says. */
    async function world(settings: object = {}): Promise<Receiving> {
      asked = 0;
      const clock = manualClock();
      const emulator = await startTelegram({ clock });
      const edge = await relay(emulator.apiRoot, ({ url = "" }, response) => {
        if (!url.endsWith("/getBusinessConnection")) return false;
        asked += 1;
        response.writeHead(answer.status).end(JSON.stringify(answer.body));
        return true;
      });
      cleanups.push(() => edge.close());
      const at = await setUp({
        clock,
        emulator,
        settings: { ...OTTOS.settings, apiRoot: edge.url, ...settings },
      });
      await untilPolled(at, 1);
      return at;
    }

    const user = { id: OTTO.id, is_bot: false, first_name: OTTO.firstName };
    const connection = {
      id: "bc_1",
      user,
      user_chat_id: 1,
      date: 1,
      rights: { can_reply: true },
      is_enabled: true,
    };

    function sendBy(at: Receiving, text: string): void {
      const from = { id: TOMAS.id, is_bot: false, first_name: TOMAS.firstName };
      const chat = { id: TOMAS.id, type: "private", first_name: TOMAS.firstName } as const;
      const date = Math.floor(at.clock.now() / 1000);
      const message = { message_id: 9, business_connection_id: "bc_1", date, chat, from, text };
      at.emulator.inject({ business_message: message });
    }

    it("are taken in after asking whose it is, once", async () => {
      answer = { status: 200, body: { ok: true, result: connection } };
      const at = await world();
      sendBy(at, "one");
      sendBy(at, "two");
      await at.host.whenAccepted(2);
      expect(asked).toBe(1);
    });

    it("come again while that cannot be asked", async () => {
      answer = { status: 502, body: {} };
      const at = await world();
      sendBy(at, "one");
      await until(() => at.host.logged.length === 1 && at.timers() === 2);
      expect(at.host.accepts()).toBe(0);
      answer = { status: 200, body: { ok: true, result: connection } };
      await at.clock.advance(1_000);
      await at.host.whenAccepted(1);
    });

    it.each([
      [400, "Bad Request: business connection not found"],
      [403, "Forbidden: user is deactivated"],
      [404, "Not Found: method not found"],
    ])(
      "are nobody's where it has ended (%i), and what else came is taken in",
      async (status, description) => {
        answer = { status, body: { ok: false, error_code: status, description } };
        const at = await world();
        sendBy(at, "one");
        at.mira.sendText("to the bot itself");
        expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "to the bot itself" }] }]);
      },
    );

    it("are not asked about where nobody's are read", async () => {
      answer = { status: 502, body: {} };
      const at = await world({ business: [] });
      sendBy(at, "one");
      at.mira.sendText("to the bot itself");
      expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "to the bot itself" }] }]);
      expect(asked).toBe(0);
    });
  });

  it.each([["another's is"], ["nobody's are"]])(
    "are not read where %s, whoever the customer is: the operator is told, without a number",
    async (which) => {
      const at = await setUp(which === "another's is" ? { settings: { business: ["5"] } } : {});
      await untilPolled(at, 1);
      const customer = at.emulator.business(OTTO).customer(TOMAS);
      customer.edit(customer.sendText("Are you open?").message_id, "Are you open now?");
      at.mira.sendText("to the bot itself");
      expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "to the bot itself" }] }]);
      expect(at.host.logged).toEqual([
        {
          level: "warn",
          fields: {},
          sentence:
            "a business account has connected this bot, and is not read; if it is yours, write your id under business",
        },
      ]);
    },
  );

  it("do not come to a stop over a connection that cannot be read", async () => {
    const at = await setUp(OTTOS);
    await untilPolled(at, 1);
    at.emulator.inject({
      business_connection: { id: "bc_1", is_enabled: true, rights: { can_reply: true } } as never, // whose it is is missing
    });
    at.emulator.business(OTTO).customer(TOMAS).sendText("Are you open?");
    expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "Are you open?" }] }]);
    expect(at.host.logged.map(({ sentence }) => sentence)).toEqual([
      "an update that cannot be read is left out",
    ]);
  });
});
