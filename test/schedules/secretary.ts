import type { AgentDefinition, AgentTurn } from "../../src/core/agent.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import type { Rules } from "../../src/core/rules.ts";
import { outcomeWords, type ScheduleRule, type ScheduleWish } from "../../src/core/schedules.ts";
import { allSchedules } from "../../src/store/schedules.ts";
import { manualClock } from "../support/clock.ts";
import {
  AGENT,
  OPEN_TO_ADA,
  testGateway,
  type TestGateway,
  type TestGatewayOptions,
  textOf,
} from "../support/gateway.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** A Thursday, noon in UTC. */
export const NOON = Date.parse("2026-01-01T12:00:00Z");

export const SECRETARY: AgentDefinition = { ...AGENT, schedules: { most: 3, minMinutes: 15 } };

/** What is to be closed after a test; one that was killed is taken out. */
export const opened: TestGateway[] = [];

export async function closeAll(): Promise<void> {
  for (const gateway of opened.splice(0)) await gateway.close();
}

export type World = TestGateway & {
  readonly clock: ReturnType<typeof manualClock>;
  readonly say: (words: string, chat?: string, extra?: Partial<MessageEvent>) => Promise<void>;
  /** What the agent was given of each turn that nobody has asked for. */
  readonly given: () => readonly string[];
  /** What `perch schedules` says of the last time of each. */
  readonly outcomes: () => Promise<readonly string[]>;
  /** A configuration in which the operator has these schedules. */
  readonly with: (schedules: Readonly<Record<string, ScheduleRule>>) => Rules;
};

/** An agent that makes the schedule which it is handed as JSON, and otherwise says what it was given. */
export async function setUp(options: TestGatewayOptions = {}, clock = manualClock(NOON)): Promise<World> {
  const agents = options.agents ?? [SECRETARY];
  // It is loaded late, and the first test would wait for the disk.
  await import("../../src/schedules/unasked.ts");
  const gateway = await testGateway({ clock, agents, answer: atDesk, timeZone: "UTC", ...options });
  opened.push(gateway);
  return {
    ...gateway,
    clock,
    say: async (words, chat = "c1", extra = {}) => {
      const sentAt = new Date(clock.now()).toISOString();
      await gateway.platform.say(chat, words, { whole: true, sentAt, ...extra });
      await clock.advance(0);
    },
    given: () => gateway.asked.map(textOf).filter((text) => text.startsWith("[scheduled:")),
    outcomes: async () => (await allSchedules(gateway.database)).map(({ outcome }) => outcomeWords(outcome)),
    with: (schedules) => ({
      channels: new Map([["toy", { ...OPEN_TO_ADA, ...options.rules }]]),
      agents: new Map(agents.map((agent) => [agent.name, agent])),
      timeZone: "UTC",
      schedules: new Map(Object.entries(schedules)),
    }),
  };
}

export async function atDesk(turn: AgentTurn): Promise<string> {
  const text = textOf(turn);
  if (text.startsWith("[scheduled:")) return text.split("\n").slice(1).join("\n");
  const [wished] = /\{.*\}$/s.exec(text) ?? [];
  if (wished === undefined) return `heard: ${text}`;
  const made = await turn.schedules?.create(JSON.parse(wished) as ScheduleWish);
  if (!made) return "no desk";
  return "refused" in made ? made.refused : `next ${new Date(made.nextAt).toISOString()}`;
}

export const wish = (fields: Partial<ScheduleWish>): string =>
  JSON.stringify({ name: "water", prompt: "Water the plants.", ...fields });

export const IN_GROUP = { place: { chat: "g1", kind: "group" }, addressed: true } as const;

export const MORNING: ScheduleRule = {
  channel: "toy",
  chat: "c1",
  when: { kind: "cron", cron: "0 8 * * *" },
  timeZone: "UTC",
  prompt: "Good morning!",
};
