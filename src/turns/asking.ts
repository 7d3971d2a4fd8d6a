import type { AgentDefinition, AgentTurn } from "../core/agent.ts";
import type { ChannelFront } from "../core/channel.ts";
import { GatewayError } from "../core/errors.ts";
import { messageIdOf } from "../core/identity.ts";
import type { ScheduleDesk, ScheduleLimits } from "../core/schedules.ts";
import { unlessAborted } from "../core/unless-aborted.ts";
import { allowanceOf } from "../store/allowance.ts";
import type { TaskOrigin } from "../store/background.ts";
import { spentWith } from "../store/thread-facts.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { contentOf } from "./content.ts";
import { heardIn } from "./heard.ts";
import { keepHold } from "./hold.ts";
import { Life } from "./life.ts";
import { languageIn, localFacts } from "./local.ts";
import type { TurnParts } from "./parts.ts";
import type { Running } from "./running.ts";
import { isScheduled } from "./scheduled.ts";
import { followed } from "./telling.ts";

/** A turn, and with whom it is spoken. */
export type Asked = {
  readonly turn: ClaimedTurn;
  readonly agent: AgentDefinition;
  readonly channel: ChannelFront;
  readonly running: Running;
};

/** Has the agent do it under the turn's deadline, keeping the hold and showing life meanwhile. */
export async function ask<Done>(
  parts: TurnParts,
  { turn, agent, channel, running }: Asked,
  work: (asked: AgentTurn, signal: AbortSignal) => Promise<Done>,
): Promise<Done> {
  const { controller, corrections, meanwhile, effects } = running;
  const { clock, pieces, kind, timeZone } = parts;
  const { turnSeconds } = agent.limits;
  const now = clock.now();
  const local = localFacts(turn, { kind: kind(turn.channel), timeZone: timeZone(), now });
  const live = await parts.live(turn.to);
  const recalled = await parts.memory.recall(turn, agent);
  const heard = await heardIn(parts, { turn, agent, running });
  const tooLong = clock.after(turnSeconds * 1_000, () =>
    controller.abort(new GatewayError("turn.timed_out", `the turn took longer than ${turnSeconds} s`)),
  );
  const renewal = keepHold(turn, controller, parts);
  // What nobody has asked for is not shown before it is known that something is said.
  const unasked = isScheduled(turn);
  const shown = live === "off" ? undefined : live;
  const life = new Life({ channel, to: turn.to, live: shown, clock }, (text) => pieces.draft(text));
  try {
    const answer = work(
      {
        hold: turn.hold,
        thread: turn.thread,
        agent,
        messageId: messageIdOf(turn.intent),
        effects,
        content: [...heard.before, ...(heard.instead ?? contentOf(turn.messages, turn.asides))],
        ...heard.fields,
        sentAt: turn.messages[0]?.event.sentAt ?? "",
        folder: parts.folder(turn.hold.chat),
        look: parts.look(turn.hold.chat, agent, running.bounded),
        ...(agent.background ? { tasks: parts.tasks(originOf(turn, running)) } : {}),
        ...(agent.schedules ? { schedules: scheduleDesk(parts, turn, agent.schedules) } : {}),
        ...(turn.messages.length === 1 ? {} : { messages: turn.messages.length }),
        corrections: () => corrections.take(),
        ...(isSteered(turn, agent) ? { steered: () => meanwhile.take() } : {}),
        ...(running.bounded
          ? { allowance: allowanceOf(parts.database, running.bounded, { clock, log: parts.log }) }
          : {}),
        ...followed(parts, turn),
        onUse: (use) => {
          running.spent = spentWith(running.spent, use);
          parts.meter?.used(use);
        },
        language: languageIn(turn),
        endsAt: now + turnSeconds * 1_000,
        ...(local ? { local } : {}),
        ...(recalled === "" ? {} : { recalled }),
        ...(channel.limits.drafts && live !== "off" && !unasked
          ? { onText: (text) => life.draft(text) }
          : {}),
      },
      controller.signal,
    );
    // Behind the question, which is what the person waits for.
    if (!unasked) life.begin();
    // What an agent writes later that does not heed its signal is refused, because its hold is over.
    return await unlessAborted(answer, controller.signal);
  } finally {
    life.end();
    renewal.cancel();
    tooLong.cancel();
  }
}

function scheduleDesk(parts: TurnParts, turn: ClaimedTurn, limits: ScheduleLimits): ScheduleDesk {
  const { hold, to, agent, messages } = turn;
  const person = messages.at(-1)?.event.from.id ?? "";
  return parts.schedules({ chat: hold.chat, to, agent, person }, { limits, scheduled: isScheduled(turn) });
}

/** Whether the agent is told what is said meanwhile. A graph asks its model itself, and nobody speaks with a schedule. */
function isSteered(turn: ClaimedTurn, agent: AgentDefinition): boolean {
  return turn.task === undefined && agent.graph === undefined && !isScheduled(turn);
}

function originOf(turn: ClaimedTurn, { bounded }: Running): TaskOrigin {
  const { hold, to, agent, thread } = turn;
  const { person = "", owner: byOwner = false } = bounded?.payer ?? {};
  return { chat: hold.chat, to, agent, thread, language: languageIn(turn), person, byOwner };
}
