import { systemClock } from "../src/core/clock.ts";
import { startTelegram } from "../test/support/telegram/emulator.ts";
import { answer } from "./helper.ts";

// Telegram, and the people who write to the bot. One message of a chat is on its way at a time.

const FIRST_PERSON = 1001;
const PATIENCE_MS = 60_000;

type Waiting = { handedAt: number; requestedAt: number; readonly answered: () => void };

const telegram = await startTelegram();
const waiting = new Map<number, Waiting>();
let said = 0;

telegram.on("pollAnswered", ({ updates }) => {
  for (const { message } of updates) {
    const turn = waiting.get(message?.chat.id ?? 0);
    if (turn) turn.handedAt = performance.now();
  }
});
telegram.on("beforeCommit", ({ method, parameters }) => {
  const turn = method === "sendMessage" ? waiting.get(Number(parameters["chat_id"])) : undefined;
  if (turn) turn.requestedAt = performance.now();
});
telegram.on("afterCommit", ({ method, parameters }) => {
  if (method === "sendMessage") waiting.get(Number(parameters["chat_id"]))?.answered();
});

/** Writes to the bot in chat number `chat` and waits for its answer: ms from handing over to the request to send. */
async function say({ chat }: { readonly chat: number }): Promise<number> {
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
        resolve(turn.requestedAt - turn.handedAt);
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
};

export type TelegramQuestions = typeof questions;

answer(questions);
