import type { ScheduledEvent } from "../core/events.ts";
import { localWords } from "../core/schedules.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import type { UnaskedDay } from "../store/unasked.ts";
import { nameOf, notPosing } from "./frames.ts";

/** Whether a turn is of a schedule: nobody has asked for it. */
export function isScheduled({ messages }: Pick<ClaimedTurn, "messages">): boolean {
  return messages[0]?.event.type === "scheduled";
}

/** The day whose unasked messages the answer of a turn is counted with; undefined where somebody has asked for it. */
export function unaskedDay({
  messages,
  hold,
}: Pick<ClaimedTurn, "messages" | "hold">): UnaskedDay | undefined {
  const event = messages[0]?.event;
  return event?.type === "scheduled" ? { chat: hold.chat, day: event.day } : undefined;
}

/**
 * What an agent is told that is due. Its own note may hold what somebody in the chat wished for: no line of that can pose as
 * one of ours, and nobody is taken for the operator.
 */
export function scheduledWords(event: ScheduledEvent): string {
  const { schedule, prompt, missed } = event;
  const whose =
    schedule.by === "operator" ? "set up by the operator" : "a note of your own, made in this chat";
  const more =
    missed === 0 ? "" : `; ${missed === 1 ? "one more time was" : `${missed} more times were`} missed since`;
  const head = `[scheduled: ${nameOf(schedule.name)}, ${whose}, due ${dueWords(event)}${more}; nobody has just written. What you answer is sent to the chat; answer just [SILENT] where there is nothing to say.]`;
  return `${head}\n${notPosing(prompt)}`;
}

/** What it is told of one that was left out. */
export function leftOutWords(event: ScheduledEvent): string {
  return `[scheduled: ${nameOf(event.schedule.name)}, due ${dueWords(event)}, was left out: the chat had had all messages of that day that nobody asks for, or a person had taken it over]`;
}

function dueWords({ sentAt, timeZone }: ScheduledEvent): string {
  return localWords(Date.parse(sentAt), timeZone);
}
