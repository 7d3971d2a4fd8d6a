import type { ScheduledEvent } from "../core/events.ts";
import type { Clock } from "../core/clock.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { ChannelRules, Rules } from "../core/rules.ts";
import type { ScheduleDesk, ScheduleLimits } from "../core/schedules.ts";
import type { Database } from "../store/database.ts";
import { pausedUntil } from "../store/pauses.ts";
import {
  activeSchedule,
  type DueSchedule,
  fireSchedule,
  leaveScheduleOut,
  metChat,
  openSchedules,
  putScheduleOff,
  reckonAnew,
} from "../store/schedule-runs.ts";
import { type ScheduleOrigin, takeUpSchedules, whenOf } from "../store/schedules.ts";
import type { TaskHold } from "../store/task-holds.ts";
import { deskFor } from "./desk.ts";
import type { UnaskedRules } from "./unasked.ts";

/** What is put off for a reason whose end nobody tells is looked at again so often. */
const AGAIN_MS = 10 * 60_000;
const HOUR_MS = 60 * 60_000;
/** Clocks of several machines do not differ by more, and neither do two times that all facts are gone over. */
const BEFORE_LONG_MS = 5 * 60_000;

type Place = { readonly chat: string; readonly topic?: string };

export type ScheduleParts = {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly isOpen: (channel: ChannelId) => boolean;
  /** What holds in a chat; undefined where the connection is not in the configuration. */
  readonly rulesIn: (channel: ChannelId, place: Place) => Promise<ChannelRules | undefined>;
  /** Who answers there. */
  readonly agentIn: (rules: ChannelRules, place: Place & { readonly kind: "private" | "group" }) => string;
  /** Whether there still is one of this name. */
  readonly isAgent: (name: string) => boolean;
  /** IANA; this machine's where it is not said. */
  readonly timeZone: () => string | undefined;
  /** Has `run` called for a schedule, by its number, at or after `at` (epoch ms). */
  readonly wake: (id: number, at: number) => void;
  /** A message waits there for its turn. */
  readonly turn: (chat: ChatId) => void;
};

/**
 * What is done at a time though nobody writes. When each is due stands in the store; what comes due becomes a message there,
 * and goes on like any other. What reads times is loaded when it is first needed: most have no schedules.
 */
export class Schedules {
  readonly #parts: ScheduleParts;
  #taking = Promise.resolve();

  constructor(parts: ScheduleParts) {
    this.#parts = parts;
  }

  /** The schedules of a chat, for a turn in it. */
  deskFor(
    origin: ScheduleOrigin,
    by: { readonly limits: ScheduleLimits; readonly scheduled: boolean },
  ): ScheduleDesk {
    return deskFor(origin, { ...this.#parts, ...by, timeZone: () => this.#timeZoneIn(origin) });
  }

  /** Makes the operator's schedules what the rules say. */
  async takeUp({ schedules = new Map() }: Pick<Rules, "schedules">): Promise<void> {
    const { database, clock } = this.#parts;
    const now = clock.now();
    const times = schedules.size === 0 ? undefined : await import("./when.ts");
    await takeUpSchedules(database, schedules, {
      next: ({ when, timeZone }) => times?.nextRun(when, timeZone, now),
      now,
    });
  }

  /** The same of a changed configuration, behind those before it. Never rejects: a start makes up for it. */
  use(rules: Pick<Rules, "schedules">): Promise<void> {
    const { database, log, wake } = this.#parts;
    const before = this.#taking;
    const take = async (): Promise<void> => {
      await before;
      try {
        await this.takeUp(rules);
        for (const { id, at } of await openSchedules(database, Number.MAX_SAFE_INTEGER)) wake(id, at);
      } catch (err) {
        log.error({ err }, "changed schedules could not be taken up");
      }
    };
    this.#taking = take();
    return this.#taking;
  }

  /** Wakes those that are due before long, or that the clock has left behind. `soon` bounds a time that lies far ahead. */
  async wakeAll(soon: (at: number) => number): Promise<void> {
    const { database, clock, wake } = this.#parts;
    for (const { id, at } of await openSchedules(database, clock.now() + BEFORE_LONG_MS)) wake(id, soon(at));
  }

  /** Does what is next about a schedule; gives the time (epoch ms) to come again, if there is one. */
  async run(id: number): Promise<number | undefined> {
    const { database, clock, isOpen } = this.#parts;
    const row = await activeSchedule(database, id);
    // Opening a connection wakes all work: what was missed while it was off is then made up for, once.
    if (!row || !isOpen(row.channel)) return undefined;
    const now = clock.now();
    if (row.last_at > now + BEFORE_LONG_MS) await this.#setBack(row, now);
    else if (row.next_at > now) return row.next_at;
    else await this.#due(row);
    return (await activeSchedule(database, id))?.next_at;
  }

  async #setBack(row: DueSchedule, now: number): Promise<void> {
    const { nextRun } = await import("./when.ts");
    const next = nextRun(whenOf(row), row.time_zone, now);
    if (next !== undefined) await reckonAnew(this.#parts.database, row, { next, now });
  }

  async #due(row: DueSchedule): Promise<void> {
    const { database, clock, log, rulesIn, agentIn, isAgent, turn } = this.#parts;
    const [{ nextRun, missedRuns }, { unaskedIn, unaskedNow }] = await Promise.all([
      import("./when.ts"),
      import("./unasked.ts"),
    ]);
    const now = clock.now();
    const { channel, time_zone: timeZone, due_at: due } = row;
    const when = whenOf(row);
    const next = nextRun(when, timeZone, now, due);
    const place = { chat: row.to_chat, ...(row.to_topic === "" ? {} : { topic: row.to_topic }) };
    const rules = await rulesIn(channel, place);
    const met = await metChat(database, row);
    if (!rules || !met) {
      const held = "nobody has written there yet";
      if (next === undefined) await putScheduleOff(database, row, { at: now + HOUR_MS, held });
      else await leaveScheduleOut(database, row, { next, held });
      log.warn({ channel, schedule: row.id }, "a schedule is due in a chat that nobody has written in yet");
      return;
    }
    const unasked = unaskedIn(rules, row.to_chat, this.#timeZone());
    const { quietUntil, day, laterAt } = unaskedNow(unasked, now);
    const paused = await pausedUntil(database.db, met.chat, now);
    if (paused > now) {
      await putScheduleOff(database, row, { at: Math.min(paused, now + AGAIN_MS), held: "taken over" });
      return;
    }
    if (quietUntil !== undefined) {
      await putScheduleOff(database, row, { at: quietUntil, held: "quiet hours" });
      return;
    }
    const here = { ...place, kind: met.kind };
    const event: ScheduledEvent = {
      type: "scheduled",
      id: `schedule-${row.id}@${due}`,
      place: here,
      from: { id: "", name: "" },
      sentAt: new Date(due).toISOString(),
      schedule: { number: row.id, name: row.name, by: row.origin },
      prompt: row.prompt,
      timeZone,
      missed: missedRuns(when, timeZone, due, now),
      day,
    };
    const fired = await fireSchedule(database, row, {
      channel,
      chat: met.chat,
      agent: isAgent(row.agent) ? row.agent : agentIn(rules, here),
      event,
      next,
      perDay: unasked.perDay,
      laterAt,
      now,
    });
    log.info({ chat: met.chat, schedule: row.id, missed: event.missed, outcome: fired }, "a schedule is due");
    if (fired === "fired") turn(met.chat);
  }

  /** What the result of a background task meets in its chat, which nobody there may be waiting for. */
  async forTask(to: Place & { readonly channel: ChannelId }): Promise<TaskHold | undefined> {
    const { clock, rulesIn } = this.#parts;
    const rules = await rulesIn(to.channel, to);
    if (!rules) return undefined;
    const { unaskedIn, unaskedNow } = await import("./unasked.ts");
    const unasked = unaskedIn(rules, to.chat, this.#timeZone());
    return { ...unaskedNow(unasked, clock.now()), perDay: unasked.perDay };
  }

  async #timeZoneIn({ to }: ScheduleOrigin): Promise<string> {
    const rules = await this.#parts.rulesIn(to.channel, to);
    if (!rules) return this.#timeZone();
    const { unaskedIn } = await import("./unasked.ts");
    const { timeZone }: UnaskedRules = unaskedIn(rules, to.chat, this.#timeZone());
    return timeZone;
  }

  #timeZone(): string {
    return this.#parts.timeZone() ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
}
