import type { AgentDefinition, AgentTurn } from "../core/agent.ts";
import type { ChannelFront } from "../core/channel.ts";
import { GatewayError } from "../core/errors.ts";
import { messageIdOf } from "../core/identity.ts";
import { unlessAborted } from "../core/unless-aborted.ts";
import type { TaskOrigin } from "../store/background.ts";
import { spentWith } from "../store/thread-facts.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { contentOf } from "./content.ts";
import { keepHold } from "./hold.ts";
import { Life } from "./life.ts";
import { languageIn, localFacts } from "./local.ts";
import type { TurnParts } from "./parts.ts";
import type { Running } from "./running.ts";

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
  const { controller, corrections, effects } = running;
  const { clock, pieces, kind, timeZone } = parts;
  const { turnSeconds } = agent.limits;
  const now = clock.now();
  const local = localFacts(turn, { kind: kind(turn.channel), timeZone: timeZone(), now });
  const live = await parts.live(turn.to);
  const recalled = await parts.memory.recall(turn, agent);
  const tooLong = clock.after(turnSeconds * 1_000, () =>
    controller.abort(new GatewayError("turn.timed_out", `the turn took longer than ${turnSeconds} s`)),
  );
  const renewal = keepHold(turn, controller, parts);
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
        content: contentOf(turn.messages, turn.asides),
        sentAt: turn.messages[0]?.event.sentAt ?? "",
        folder: parts.folder(turn.hold.chat),
        look: parts.look(turn.hold.chat, agent),
        ...(agent.background ? { tasks: parts.tasks(originOf(turn)) } : {}),
        corrections: () => corrections.take(),
        onUse: (use) => {
          running.spent = spentWith(running.spent, use);
        },
        language: languageIn(turn),
        endsAt: now + turnSeconds * 1_000,
        ...(local ? { local } : {}),
        ...(recalled === "" ? {} : { recalled }),
        ...(channel.limits.drafts && live !== "off" ? { onText: (text) => life.draft(text) } : {}),
      },
      controller.signal,
    );
    // Behind the question, which is what the person waits for.
    life.begin();
    // What an agent writes later that does not heed its signal is refused, because its hold is over.
    return await unlessAborted(answer, controller.signal);
  } finally {
    life.end();
    renewal.cancel();
    tooLong.cancel();
  }
}

function originOf(turn: ClaimedTurn): TaskOrigin {
  const { hold, to, agent, thread } = turn;
  return { chat: hold.chat, to, agent, thread, language: languageIn(turn) };
}
