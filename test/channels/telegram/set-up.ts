import telegram from "../../../channels/telegram/index.ts";
import type { TelegramSettings } from "../../../channels/telegram/settings.ts";
import type { Channel, Piece, PieceBody, PlatformId } from "../../../src/core/channel.ts";
import type { ChannelState, CommandWords } from "../../../src/core/host.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { watchedClock } from "../../support/channel-contract.ts";
import { type TestHost, testHost } from "../../support/channel-host.ts";
import { startTelegram, type TelegramEmulator } from "../../support/telegram/emulator.ts";
import type { Voice } from "../../support/telegram/people.ts";

export const MIRA = { id: 700_100_001, firstName: "Mira" } as const;

/** A bot that is connected to Telegram's stand-in, and Mira, who talks to it in private. */
export type Bot = {
  readonly emulator: TelegramEmulator;
  readonly host: TestHost;
  readonly channel: Channel;
  readonly mira: Voice;
  /** Timers of the channel that are waiting. */
  readonly timers: () => number;
  send(body: PieceBody, more?: Partial<Piece> & { readonly form?: string }): Promise<readonly PlatformId[]>;
  close(): Promise<void>;
};

export type BotOptions = {
  readonly clock?: Clock;
  /** What an earlier connection of the same bot left behind. */
  readonly state?: ChannelState;
  readonly emulator?: TelegramEmulator;
  readonly apiRoot?: string;
  readonly token?: string;
  readonly settings?: Partial<TelegramSettings>;
  readonly commands?: (language: "en" | "de") => readonly CommandWords[];
  /** Called before the channel is opened. */
  readonly before?: (emulator: TelegramEmulator) => void;
};

export async function openBot(options: BotOptions = {}): Promise<Bot> {
  const clock = watchedClock(options.clock ?? systemClock);
  const emulator = options.emulator ?? (await startTelegram({ clock: options.clock ?? systemClock }));
  options.before?.(emulator);
  const { state, commands } = options;
  const host = await testHost({
    id: "family",
    clock,
    ...(state ? { state } : {}),
    ...(commands ? { commands } : {}),
  });
  const { token = emulator.token, apiRoot = emulator.apiRoot } = options;
  const channel = await telegram.open({ ...options.settings, token, apiRoot }, host.host);
  const mira = emulator.privateChat(MIRA);
  return {
    emulator,
    host,
    channel,
    mira,
    timers: clock.waiting,
    send: (body, { form, ...more } = {}) =>
      channel.send(
        { id: 1, to: { channel: "family", chat: String(MIRA.id) }, body, ...more },
        { number: 1, ...(form === undefined ? {} : { form }) },
        new AbortController().signal,
      ),
    async close() {
      await channel.close();
      await emulator.close();
      await host.close();
    },
  };
}

/** Lets the network and everything that waits for it go on, until it holds. No time of the test's clock passes. */
export async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 10_000; // a busy machine reads files and looks up names late
  while (performance.now() < end) {
    if (holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("it did not come to that");
}

export function text(words: string): PieceBody {
  return { kind: "text", rendered: { text: words, marks: [] } };
}
