import { pause, systemClock } from "../src/core/clock.ts";
import { startTelegram } from "../test/support/telegram/emulator.ts";
import type { Call } from "../test/support/telegram/request.ts";
import { answer } from "./helper.ts";
import { LAST_WORDS } from "./speech.ts";

// Telegram, and the people who write to the bot. One message of a chat is on its way at a time.

const FIRST_PERSON = 1001;
const PATIENCE_MS = 60_000;

/** Milliseconds from a message being handed over to requests of the bot. */
export type Answered = {
  /** To the one that sends the answer. */
  readonly answerMs: number;
  /** To the first that shows any of it before that. */
  readonly shownMs?: number;
};

type Waiting = { handedAt: number; shownAt?: number; requestedAt: number; readonly answered: () => void };

const telegram = await startTelegram();
const waiting = new Map<number, Waiting>();
let said = 0;
let replyMs = 0;
let counted = 0;

telegram.on("pollAnswered", ({ updates }) => {
  for (const { message } of updates) {
    const turn = waiting.get(message?.chat.id ?? 0);
    if (turn) turn.handedAt = performance.now();
  }
});
telegram.on("beforeCommit", (call) => {
  const turn = waiting.get(Number(call.parameters["chat_id"]));
  if (!turn) return;
  if (isAnswer(call)) turn.requestedAt = performance.now();
  else if (SHOWS.has(call.method)) turn.shownAt ??= performance.now();
});
telegram.on("afterCommit", async (call) => {
  if (isAnswer(call)) waiting.get(Number(call.parameters["chat_id"]))?.answered();
  if (replyMs > 0) await pause(systemClock, replyMs);
});

const SHOWS = new Set(["sendMessage", "sendMessageDraft"]);

/** A message that shows what there is of an answer does not end as answers do; later it is edited, not sent. */
function isAnswer({ method, parameters }: Call): boolean {
  return method === "sendMessage" && String(parameters["text"]).endsWith(LAST_WORDS);
}

/** Writes to the bot in chat number `chat` and waits for its answer. */
async function say({ chat }: { readonly chat: number }): Promise<Answered> {
  const id = FIRST_PERSON + chat;
  said += 1;
  const text = `Message ${said}: how do kingfishers see fish below the surface of a river?`;
  return await new Promise((resolve, reject) => {
    const patience = systemClock.after(PATIENCE_MS, () =>
      reject(new Error(`the bot did not answer in chat ${id} within ${PATIENCE_MS / 1000} s`)),
    );
    const turn: Waiting = {
      handedAt: 0,
      requestedAt: 0,
      answered() {
        patience.cancel();
        waiting.delete(id);
        const { handedAt, shownAt, requestedAt } = turn;
        resolve({
          answerMs: requestedAt - handedAt,
          ...(shownAt === undefined ? {} : { shownMs: shownAt - handedAt }),
        });
      },
    };
    waiting.set(id, turn);
    telegram.privateChat({ id, firstName: "Ada" }).sendText(text);
  });
}

const questions = {
  /** Where the bot finds Telegram, and the ids of those who write to it: chat number 0 is the first one's. */
  address: async ({ chats }: { readonly chats: number }) => ({
    apiRoot: telegram.apiRoot,
    token: telegram.token,
    people: Array.from({ length: chats }, (_, chat) => FIRST_PERSON + chat),
  }),

  /** Epoch ms of the next time that the bot asks for updates. */
  nextPoll: async () => {
    await telegram.nextCall(({ method }) => method === "getUpdates");
    return Date.now();
  },

  say,

  /** Each chat writes again when it is answered, `messages` in all; how many seconds that takes. */
  loop: async ({ chats, messages }: { readonly chats: number; readonly messages: number }) => {
    let left = messages;
    const began = performance.now();
    await Promise.all(
      Array.from({ length: chats }, async (_, chat) => {
        for (; left > 0;) {
          left -= 1;
          await say({ chat });
        }
      }),
    );
    return (performance.now() - began) / 1000;
  },

  /** How long Telegram takes from now on until it answers a call, `getUpdates` aside. */
  replyAfter: async ({ ms }: { readonly ms: number }) => {
    replyMs = ms;
    return null;
  },

  /** Resolves when nothing of the bot's stands in the chats but one answer to each message; rejects after 20 s. */
  settled: async () => {
    const gone = (): number => telegram.deletions.reduce((sum, { messageIds }) => sum + messageIds.length, 0);
    await telegram.until(
      () => telegram.sent.length - gone() === said,
      `one answer to each of ${said} messages, and nothing else of the bot's`,
    );
    return null;
  },

  /** How many calls there were of each method since this was asked last, `getUpdates` aside. */
  calls: async () => {
    const counts: Record<string, number> = {};
    for (const { method } of telegram.calls.slice(counted)) {
      if (method !== "getUpdates") counts[method] = (counts[method] ?? 0) + 1;
    }
    counted = telegram.calls.length;
    return counts;
  },
};

export type TelegramQuestions = typeof questions;

answer(questions);
