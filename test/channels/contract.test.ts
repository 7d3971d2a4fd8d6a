import telegram from "../../channels/telegram/index.ts";
import { scaledClock, systemClock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { type ContractWorld, type Said, channelContract, watchedClock } from "../support/channel-contract.ts";
import { testHost } from "../support/channel-host.ts";
import { startTelegram } from "../support/telegram/emulator.ts";
import { ToyPlatform, toyKind } from "../support/toy-channel.ts";
import { openWebChat, type PostedPart } from "./web/set-up.ts";

channelContract("the toy", toy, {
  "shows a piece once, however often it is sent": "its platform shows what it is sent, to let tests count",
});

channelContract("Telegram", telegramBot, {
  "shows a piece once, however often it is sent":
    "the Bot API has no key that tells a repeat from a second message",
});

const NO_EDITS = "what takes the place of an earlier text is a message of its own on the page";
const OWN_STORE = "what it shows is this process's own store: no platform stands between";
channelContract("the web chat", webChat, {
  "tells a definite no as send.refused": OWN_STORE,
  "tells what could not be written as send.not_written": OWN_STORE,
  "tells a wait as send.rate_limited with its milliseconds": OWN_STORE,
  "tells a closed chat as send.chat_closed": OWN_STORE,
  "tells a lost answer as neither sent nor failed": OWN_STORE,
  "puts a text in the place of an earlier one, or asks for a message of its own": NO_EDITS,
  "asks for a message of its own where the one to be replaced is not there": NO_EDITS,
});

async function toy(): Promise<ContractWorld> {
  const clock = watchedClock(systemClock);
  const platform = new ToyPlatform({ finds: true, choices: 3 });
  const host = await testHost({ id: "toy", clock });
  const channel = await toyKind(platform).open({}, host.host);
  const next = (outcome: Error | "shown, then lost"): void => {
    platform.outcome = () => outcome;
  };
  // A failed hand-over rejects, and the platform hands it over again when `again` says so.
  const handedOver = async (act: Promise<unknown>): Promise<Said> => {
    await act.catch(() => undefined);
    return { again: () => platform.repeat() };
  };
  const files = (shown: (typeof platform.shown)[number]) =>
    Promise.all(
      shown.media.map(async (blob, n) => ({
        name: shown.names[n] ?? "",
        bytes: await collected(host.host.blobs.open(blob as `sha256:${string}`)), // the toy keeps them as strings
      })),
    );
  return {
    host,
    channel,
    to: { channel: "toy", chat: "c1" },
    person: {
      say: (text) => handedOver(platform.say("c1", text)),
      sendFile: (bytes, filename) => handedOver(platform.sendFile("c1", bytes, filename)),
      sees: () =>
        Promise.all(
          platform.shown.map(async (it) => ({
            text: it.text,
            files: await files(it),
            ...(it.choices ? { choices: it.choices } : {}),
          })),
        ),
    },
    trouble: {
      refuse: () => next(new GatewayError("send.refused", "no")),
      unreachable: async () => next(new GatewayError("send.not_written", "it is down")),
      wait: (seconds) =>
        next(new GatewayError("send.rate_limited", "wait", { retryAfterMs: seconds * 1000 })),
      closeChat: () => next(new GatewayError("send.chat_closed", "blocked")),
      loseAnswer: () => next("shown, then lost"),
    },
    secrets: [],
    timers: clock.waiting,
    close: () => host.close(),
  };
}

async function telegramBot(): Promise<ContractWorld> {
  // Ten times as fast, so that waits between tries pass quickly and time limits stay far away.
  const clock = watchedClock(scaledClock(10, Date.now()));
  const emulator = await startTelegram({ clock });
  const host = await testHost({ id: "telegram", clock });
  const channel = await telegram.open({ token: emulator.token, apiRoot: emulator.apiRoot }, host.host);
  const chat = emulator.privateChat({ id: 700_100_001, firstName: "Mira" });
  const byItself: Said = { again: async () => undefined }; // what is not confirmed is handed over again
  return {
    host,
    channel,
    to: { channel: "telegram", chat: String(chat.chatId) },
    person: {
      async say(text) {
        chat.sendText(text);
        return byItself;
      },
      async sendFile(bytes, fileName, mimeType) {
        chat.sendDocument(bytes, { fileName, mimeType });
        return byItself;
      },
      sees: async () =>
        emulator.sentTo(chat.chatId).flatMap(({ messageId, caption, media }) => {
          const now = emulator.message(chat.chatId, messageId);
          if (!now) return [];
          const buttons = now.reply_markup?.inline_keyboard.flat() ?? [];
          return {
            text: now.text ?? caption ?? "",
            files: media ? [{ name: media.fileName ?? "", bytes: media.bytes }] : [],
            ...(buttons.length > 0 ? { choices: buttons.map(({ text }) => text) } : {}),
          };
        }),
    },
    trouble: {
      refuse: () =>
        void emulator.fault(
          { method: "sendMessage" },
          { kind: "refuse", code: 400, description: "Bad Request: TOPIC_CLOSED" },
        ),
      unreachable: () => emulator.close(),
      wait: (seconds) => void emulator.fault({ method: "sendMessage" }, { kind: "rateLimit", seconds }),
      closeChat: () => emulator.closeChat(chat.chatId, "blocked"),
      loseAnswer: () => void emulator.fault({ method: "sendMessage" }, { kind: "drop", when: "after" }),
    },
    secrets: [emulator.token],
    timers: clock.waiting,
    async close() {
      await emulator.close();
      await host.close();
    },
  };
}

async function webChat(): Promise<ContractWorld> {
  const clock = watchedClock(systemClock);
  const chat = "conversation-1";
  const web = await openWebChat({ clock });
  let count = 0;
  const post = async (parts: readonly PostedPart[]): Promise<Said> => {
    count += 1;
    const whole: readonly PostedPart[] = [["id", `message-${count}`], ...parts];
    const send = async (): Promise<void> => void (await web.post(chat, whole));
    await send();
    return { again: send };
  };
  return {
    host: web,
    channel: web.channel,
    to: { channel: "web", chat },
    person: {
      say: (text) => post([["text", text]]),
      sendFile: (bytes, filename, mimeType) => post([["file", bytes, filename, mimeType]]),
      async sees() {
        const answers = (await web.entries(chat)).filter(({ from }) => from === "agent");
        return await Promise.all(
          answers.map(async ({ html, media }) => ({
            text: html ?? media[0]?.caption ?? "",
            files: await Promise.all(
              media.map(async ({ name, url }) => ({
                name,
                bytes: new Uint8Array(await (await fetch(web.origin + url)).arrayBuffer()),
              })),
            ),
          })),
        );
      },
    },
    trouble: {},
    secrets: [],
    timers: clock.waiting,
    close: () => web.close(),
  };
}

async function collected(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}
