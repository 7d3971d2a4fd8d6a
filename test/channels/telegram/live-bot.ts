import type { Live, Progress } from "../../../src/core/channel.ts";
import type { ChannelState } from "../../../src/core/host.ts";
import type { ChatAddress } from "../../../src/core/identity.ts";
import { memoryState } from "../../support/channel-host.ts";
import { type ManualClock, manualClock, settle } from "../../support/clock.ts";
import { type Bot, type BotOptions, MIRA, openBot, until } from "./set-up.ts";

/** Mira's private chat. */
export const PRIVATE: ChatAddress = { channel: "family", chat: String(MIRA.id) };

export type Shown = {
  /** Whether the next may be shown. */
  readonly isReady: () => boolean;
};

/** A bot that answers, and shows it. */
export type LiveBot = Bot & {
  readonly clock: ManualClock;
  readonly state: ChannelState;
  show(progress: Progress, to?: ChatAddress): Shown;
  draft(words: string, to?: ChatAddress, live?: Live): Shown;
  /** Shows each as soon as the one before lets it. */
  drafted(...texts: readonly string[]): Promise<void>;
  /** Lets time pass until it holds. */
  eventually(holds: () => boolean | Promise<boolean>): Promise<void>;
  calls(method: string): number;
};

export type LiveBotOptions = Omit<BotOptions, "clock"> & { readonly clock?: ManualClock };

/** `chat` is where it answers, unless another is named. */
export async function liveBot(chat: ChatAddress, options: LiveBotOptions = {}): Promise<LiveBot> {
  const { clock = manualClock(), state = memoryState() } = options;
  const bot = await openBot({ ...options, clock, state });
  const calls = (method: string): number =>
    bot.emulator.calls.filter((call) => call.method === method).length;
  const show = (progress: Progress, to = chat): Shown => {
    let isReady = false;
    void bot.channel.progress?.(to, progress).then(() => (isReady = true));
    return { isReady: () => isReady };
  };
  const draft = (words: string, to = chat, live?: Live): Shown =>
    show({ kind: "draft", text: words, ...(live ? { live } : {}) }, to);
  return {
    ...bot,
    clock,
    state,
    calls,
    show,
    draft,
    async drafted(...texts) {
      for (const words of texts) {
        const before = bot.emulator.calls.length;
        const shown = draft(words);
        await until(() => bot.emulator.calls.length > before);
        await settle();
        while (!shown.isReady()) await clock.advance(250);
      }
    },
    async eventually(holds) {
      for (let n = 0; n < 400; n += 1) {
        if (await holds()) return;
        await clock.advance(250);
      }
      throw new Error("it did not come to that within 100 s");
    },
  };
}

/** What a test lets something wait at. */
export function gate(): { readonly letGo: () => void; readonly wait: Promise<void> } {
  let letGo!: () => void; // the executor runs before this function returns
  const wait = new Promise<void>((resolve) => (letGo = resolve));
  return { letGo, wait };
}
