import { Api } from "grammy";
import type { UserFromGetMe } from "grammy/types";
import type { Over } from "../../../channels/telegram/presses.ts";
import { receive } from "../../../channels/telegram/receive.ts";
import { settings } from "../../../channels/telegram/settings.ts";
import { openLine } from "../../../channels/telegram/transport.ts";
import type { ChannelState, HttpMount } from "../../../src/core/host.ts";
import { watchedClock } from "../../support/channel-contract.ts";
import { type TestHost, type TestHostOptions, testHost } from "../../support/channel-host.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import {
  type EmulatorOptions,
  startTelegram,
  type TelegramEmulator,
} from "../../support/telegram/emulator.ts";
import type { Voice } from "../../support/telegram/people.ts";
import type { Call } from "../../support/telegram/request.ts";
import { MIRA, until } from "./set-up.ts";

/** The part of a connection that takes in, against Telegram's stand-in, and Mira, who talks to the bot in private. */
export type Receiving = {
  readonly clock: ManualClock;
  readonly emulator: TelegramEmulator;
  readonly host: TestHost;
  readonly mira: Voice;
  /** What sends go over. */
  readonly api: Api["raw"];
  readonly known: readonly UserFromGetMe[];
  /** Timers that are waiting. While it polls there are two: the poll's own end, and the watchdog's. */
  readonly timers: () => number;
  calls(method: string): readonly Call[];
  /** Resolves when no poll is under way any more. */
  stop(): Promise<void>;
  close(): Promise<void>;
};

export type ReceivingOptions = {
  readonly clock?: ManualClock;
  readonly emulator?: TelegramEmulator;
  readonly telegram?: Omit<EmulatorOptions, "clock">;
  /** What an earlier connection of the same bot left behind. */
  readonly state?: ChannelState;
  readonly host?: Omit<TestHostOptions, "clock" | "state">;
  /** In place of the host's own web server. */
  readonly http?: HttpMount;
  /** Keys of the connection beside its token and apiRoot; a function where they need the host's address. */
  readonly settings?:
    | Readonly<Record<string, unknown>>
    | ((host: TestHost, emulator: TelegramEmulator) => Readonly<Record<string, unknown>>);
  readonly over?: Over;
  /** Called before anything is asked. */
  readonly before?: (emulator: TelegramEmulator, host: TestHost) => void;
};

export async function startReceiving(options: ReceivingOptions = {}): Promise<Receiving> {
  const clock = options.clock ?? manualClock();
  const watched = watchedClock(clock);
  const emulator = options.emulator ?? (await startTelegram({ clock, ...options.telegram }));
  const { state } = options;
  const host = await testHost({ id: "family", ...options.host, clock: watched, ...(state ? { state } : {}) });
  options.before?.(emulator, host);
  const own = typeof options.settings === "function" ? options.settings(host, emulator) : options.settings;
  const given = settings.parse({ token: emulator.token, apiRoot: emulator.apiRoot, ...own });
  const lines = await Promise.all([0, 1].map(() => openLine(given.apiRoot, given.proxy)));
  const [polling, api] = lines.map(
    ({ fetch }) => new Api(given.token, { apiRoot: given.apiRoot, fetch: fetch as never }).raw,
  ) as [Api["raw"], Api["raw"]]; // one for each line
  const [line] = lines as [(typeof lines)[0]]; // two were opened
  const closing = new AbortController();
  const known: UserFromGetMe[] = [];
  const taking = receive({
    settings: given,
    line,
    polling,
    api,
    host: options.http ? { ...host.host, http: options.http } : host.host,
    closing: closing.signal,
    known: (me) => void known.push(me),
    over: options.over ?? {},
  });
  const stop = async (): Promise<void> => {
    closing.abort();
    await taking;
    for (const each of lines) each.idle();
  };
  return {
    clock,
    emulator,
    host,
    mira: emulator.privateChat(MIRA),
    api,
    known,
    timers: watched.waiting,
    calls: (method) => emulator.calls.filter((call) => call.method === method),
    stop,
    async close() {
      await stop();
      await emulator.close();
      await host.close();
    },
  };
}

/** Waits for so many polls to have been asked, and for the last of them to be waited for. */
export async function untilPolled(it: Receiving, count: number): Promise<void> {
  await until(() => it.calls("getUpdates").length === count && it.timers() === 2);
}

/** Waits until so many calls have failed and the next try is waited for. */
export async function untilFailed(it: Receiving, count: number): Promise<void> {
  const told = (): number =>
    it.host.logged.filter(({ sentence }) => sentence.startsWith("receiving from Telegram failed")).length;
  await until(() => told() === count && it.timers() === 2);
}
