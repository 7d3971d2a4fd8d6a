import type { AgentDefinition, AgentTurn } from "../core/agent.ts";
import type { TextBlock } from "../core/blocks.ts";
import { GatewayError } from "../core/errors.ts";
import { idsOf, messageIdOf } from "../core/identity.ts";
import { approvedFor, lapsedIn } from "../store/approvals.ts";
import { interruptsIn } from "../store/open-questions.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { approvalDesk, approvedBlock, lapsedBlocks } from "./approvals.ts";
import type { TurnParts } from "./parts.ts";
import type { Running } from "./running.ts";

/** What has become of earlier questions, for a turn that begins. */
export type Heard = {
  /** Comes before all else. */
  readonly before: readonly TextBlock[];
  /** In the place of what people have said: nobody has said anything but yes. */
  readonly instead?: readonly TextBlock[];
  readonly fields: Pick<AgentTurn, "approvals" | "approved" | "answers">;
};

export async function heardIn(
  parts: TurnParts,
  {
    turn,
    agent,
    running,
  }: { readonly turn: ClaimedTurn; readonly agent: AgentDefinition; readonly running: Running },
): Promise<Heard> {
  const { db } = parts.database;
  if (turn.task !== undefined && turn.task !== "approved") return { before: [], fields: {} };
  if (agent.graph !== undefined && turn.task === "approved")
    throw new GatewayError("agent.invalid", `agent ${agent.name} makes no calls: it is a graph by now`);
  if (agent.graph !== undefined) return { before: [], fields: { answers: await answersOf(parts, turn) } };
  const approved = turn.task === "approved" ? await approvedFor(db, turn.intent) : undefined;
  if (turn.task === "approved" && approved === undefined)
    throw new GatewayError("store.hold_lost", `what intent ${turn.intent} was to do was forgotten`);
  const asks = agent.approve !== undefined;
  const message = messageIdOf(turn.intent);
  const lapsed = asks ? await lapsedIn(db, { thread: turn.thread, message }) : [];
  running.told = [...lapsed, ...(approved ? [approved] : [])].map(({ id }) => id);
  return {
    before: lapsedBlocks(lapsed),
    ...(approved ? { instead: [approvedBlock(approved)] } : {}),
    fields: {
      ...(asks ? { approvals: approvalDesk(parts, turn, running.effects) } : {}),
      ...(approved ? { approved } : {}),
    },
  };
}

/** A button answers its own question; words answer what their person was asked, and nobody else was. */
async function answersOf({ database, clock }: TurnParts, turn: ClaimedTurn): Promise<readonly string[]> {
  const events = turn.messages.map(({ event }) => event);
  const by = events.map(({ id }) => id);
  const open = await interruptsIn(database.db, turn.thread, { by, now: clock.now() });
  const pressed = open.filter(({ answer }) => answer !== "");
  if (pressed.length > 0) return pressed.map(({ interrupt }) => interrupt);
  const people = new Set(events.flatMap(({ from }) => idsOf(from)));
  return open.filter(({ person }) => person === "" || people.has(person)).map(({ interrupt }) => interrupt);
}
