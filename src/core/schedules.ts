/** When something is to be done: cron is 5 or 6 fields, the others are ms and epoch ms. All are read in a time zone (IANA). */
export type When =
  | { readonly kind: "cron"; readonly cron: string }
  | { readonly kind: "every"; readonly everyMs: number }
  | { readonly kind: "at"; readonly at: number };

/** A schedule of the operator's, as perch.yaml says it. */
export type ScheduleRule = {
  readonly channel: string;
  /** The platform's id of the chat. */
  readonly chat: string;
  readonly topic?: string;
  /** Whoever answers there, without one. */
  readonly agent?: string;
  readonly when: When;
  /** IANA. */
  readonly timeZone: string;
  readonly prompt: string;
};

/** From and to are minutes since midnight; where `to` is not later than `from`, it is meant for the next day. */
export type QuietHours = { readonly fromMinute: number; readonly toMinute: number };

/** How many schedules an agent may have in one chat, and how often one may be due. */
export type ScheduleLimits = { readonly most: number; readonly minMinutes: number };

/** What became of the last time that a schedule was due, as far as it is known now. */
export type Outcome =
  | {
      readonly kind:
        | "none"
        | "waiting"
        | "running"
        | "delivered"
        | "silent"
        | "unknown"
        | "stopped"
        | "forgotten";
    }
  /** Of `of` messages, `sent` arrived and the others never will. */
  | { readonly kind: "partly"; readonly sent: number; readonly of: number }
  | { readonly kind: "failed"; readonly why: string }
  /** It was not run. */
  | { readonly kind: "held"; readonly why: HeldWhy };

/**
 * Why a schedule that was due was not run: quiet hours, the cap on unasked messages, a person who has taken the chat over, a
 * chat that nobody has written in, a time that was over when it was first read.
 */
export type HeldWhy = "quiet hours" | "cap" | "taken over" | "nobody has written there yet" | "past";

/** A schedule, for whoever is told of it. Times are epoch ms. */
export type Schedule = {
  /** Known in all chats. */
  readonly number: number;
  readonly name: string;
  readonly by: "operator" | "agent";
  /** Whoever asked for it, by the platform's id; "" for the operator. */
  readonly person: string;
  readonly when: When;
  readonly timeZone: string;
  readonly prompt: string;
  readonly active: boolean;
  /** When it is done next; later than it is due where it was put off. */
  readonly nextAt: number;
  readonly lastAt: number;
  readonly fires: number;
  readonly outcome: Outcome;
};

/** What an agent wishes for; just one of the four times. */
export type ScheduleWish = {
  readonly name: string;
  readonly prompt: string;
  readonly cron?: string;
  readonly everyMinutes?: number;
  readonly at?: string;
  readonly inMinutes?: number;
  /** IANA; that of the chat without one. */
  readonly timeZone?: string;
};

/** The schedules of one chat, for the turn that is handed it. Every change is committed when it resolves. */
export type ScheduleDesk = {
  /** `refused` is one sentence: what is wrong, and what may be written. */
  create(wish: ScheduleWish): Promise<Schedule | { readonly refused: string }>;
  /** Those that are to come, and what lately was. */
  list(): Promise<readonly Schedule[]>;
  /** Undefined where there is none of this name that the agent may end. */
  cancel(name: string): Promise<Schedule | undefined>;
};

/** The first or the last line of an answer of a scheduled turn that has nothing to say. */
const SILENT = "[SILENT]";
/** Models set it in bold, in code, in quotes, and escape its brackets. */
const MARKS = /[\s\\`*_~>"'.]/g;

/** Whether an answer says that nothing is to be said; models give a reason before it or behind it. */
export function isSilent(markdown: string): boolean {
  const lines = markdown
    .split("\n")
    .map((line) => line.replace(MARKS, "").toUpperCase())
    .filter(Boolean);
  return lines.at(0) === SILENT || lines.at(-1) === SILENT;
}

/** "Thu 2026-12-24 18:00 (Europe/Berlin)". */
export function localWords(at: number, timeZone: string): string {
  const { weekday, year, month, day, hour, minute } = localParts(at, timeZone);
  return `${weekday} ${year}-${month}-${day} ${hour}:${minute} (${timeZone})`;
}

/** What a calendar and a clock there show then; numbers with two digits, the year with four. */
export function localParts(
  at: number,
  timeZone: string,
): Readonly<Record<"weekday" | "year" | "month" | "day" | "hour" | "minute", string>> {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatToParts(at);
  const of = (type: Intl.DateTimeFormatPartTypes): string =>
    parts.find((part) => part.type === type)?.value ?? "";
  return {
    weekday: of("weekday"),
    year: of("year"),
    month: of("month"),
    day: of("day"),
    hour: of("hour"),
    minute: of("minute"),
  };
}

/** "0 8 * * 1-5", "every 90 min", "once". */
export function whenWords(when: When): string {
  switch (when.kind) {
    case "cron":
      return `cron ${when.cron}`;
    case "every":
      return `every ${when.everyMs / 60_000} min`;
    case "at":
      return "once";
  }
}

/** An outcome in plain words, for the operator and the agent. */
export function outcomeWords(outcome: Outcome): string {
  switch (outcome.kind) {
    case "partly":
      return `${outcome.sent} of ${outcome.of} messages sent, the others failed`;
    case "failed":
      return `failed (${outcome.why})`;
    case "held":
      return `not run (${outcome.why})`;
    case "none":
      return "not yet";
    case "silent":
      return "run, nothing to say";
    case "unknown":
      return "sent, but whether it arrived is not known";
    case "forgotten":
      return "not known any more";
    case "waiting":
    case "running":
    case "delivered":
    case "stopped":
      return outcome.kind;
  }
}
