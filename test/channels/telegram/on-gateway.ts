import { onTestFinished } from "vitest";
import telegram from "../../../channels/telegram/index.ts";
import { settings } from "../../../channels/telegram/settings.ts";
import type { ChannelHost, ChannelState } from "../../../src/core/host.ts";
import { type Clock, scaledClock } from "../../../src/core/clock.ts";
import type { ChannelRules } from "../../../src/core/rules.ts";
import { channelState } from "../../../src/store/channel-state.ts";
import {
  AGENT,
  OPEN_TO_ADA,
  testGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../../support/gateway.ts";
import { startTelegram, type TelegramEmulator } from "../../support/telegram/emulator.ts";

export const ADA = { id: 700_200_001, firstName: "Ada" } as const;

/** The whole gateway behind a bot, as it is shipped, but for the agent; and the Telegram that it is a bot of. */
export type OnGateway = {
  readonly clock: Clock;
  readonly telegram: TelegramEmulator;
  readonly gateway: TestGateway;
  /** Closes the connection and opens it anew; with a state of its own it remembers nothing of the updates it had. */
  reopen(state?: ChannelState): Promise<void>;
  /** Ends it as `kill -9` would; its Telegram goes on. */
  end(): Promise<void>;
};

export type OnGatewayOptions = Pick<TestGatewayOptions, "answer" | "runner" | "agents" | "folder"> & {
  /** How many times as fast as real time all of it runs. */
  readonly rate?: number;
  readonly rules?: Partial<ChannelRules>;
  /** What an earlier one of the same bot talked to, with its clock. */
  readonly before?: Pick<OnGateway, "telegram" | "clock">;
};

/** It ends with the test. */
export async function onGateway(options: OnGatewayOptions = {}): Promise<OnGateway> {
  const { rate = 8, rules = {}, before, agents = [AGENT], ...more } = options;
  const clock = before?.clock ?? scaledClock(rate, Date.now());
  const emulator = before?.telegram ?? (await startTelegram({ clock }));
  const gateway = await testGateway({ clock, agents, ...more });
  const allowed = { ...OPEN_TO_ADA, allow: [String(ADA.id)], ...rules };
  gateway.gateway.use({
    channels: new Map([["tg", allowed]]),
    agents: new Map(agents.map((agent) => [agent.name, agent])),
  });
  const own = channelState(gateway.database, "tg", { owner: "test", clock });
  const open = async (state: ChannelState): Promise<void> => {
    const host: ChannelHost = {
      ...gateway.host,
      id: "tg",
      accept: (events) => gateway.gateway.accept("tg", events),
      commands: (language) => gateway.gateway.commands("tg", language),
      state,
    };
    const given = settings.parse({ token: emulator.token, apiRoot: emulator.apiRoot });
    channel = await telegram.open(given, host);
    await gateway.gateway.opened("tg", channel);
  };
  let channel: Awaited<ReturnType<typeof telegram.open>>;
  await open(own);
  let ended = false;
  onTestFinished(async () => {
    if (!ended) await gateway.close();
    await emulator.close();
  });
  return {
    clock,
    telegram: emulator,
    gateway,
    async reopen(state = own) {
      await gateway.gateway.closed("tg");
      await channel.close();
      await open(state);
    },
    async end() {
      ended = true;
      await gateway.kill();
      await channel.close();
    },
  };
}
