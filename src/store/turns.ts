import type { Transaction } from "kysely";
import { GatewayError } from "../core/errors.ts";
import type { ChannelId, ChatAddress, ChatId, Hold, ThreadId } from "../core/identity.ts";
import type { Language } from "../core/sentences.ts";
import { settleQuestions, type Settled, withdrawNoted } from "./approvals.ts";
import { type Aside, asidesFor, claimAsides, type Correction, personOf } from "./asides.ts";
import { forgetTaken } from "./attachments.ts";
import { addressOf } from "./chats.ts";
import type { Database } from "./database.ts";
import { forgetEffects } from "./effects.ts";
import { endCorrected, withdrawFollowing } from "./edits.ts";
import type { InboxTask, TurnState } from "./fact-tables.ts";
import { assertHeld, heldAs } from "./holds.ts";
import { keepTurn } from "./kept.ts";
import { pausedUntil, UNTIL_RESUMED } from "./pauses.ts";
import { type WaitingMessage, withTrace } from "./inbox.ts";
import { endSteered, giveBackSteered } from "./meanwhile.ts";
import { touch, type Touch } from "./memory.ts";
import { isOpenMessage } from "./open-rows.ts";
import { insertPieces, type NewPiece } from "./pieces.ts";
import { SAID_NOTHING } from "./schedule-outcomes.ts";
import { speakerNumbers } from "./speakers.ts";
import { rememberThread, type ThreadNews } from "./thread-facts.ts";
import type { Queries, Tables } from "./tables.ts";
import { endTurn } from "./turn-ends.ts";
import { giveUnaskedBack, type UnaskedDay } from "./unasked.ts";
import { giveBackHeld, othersAreSuspect } from "./takeover.ts";
import { attachmentsOf, oldestIntent, saidBy, spokenBy, toWaiting } from "./waiting.ts";

/** A message whose turn has ended the process this many times is set aside. */
export const CRASHES_BEFORE_DEAD = 3;
/** Beside other processes some more: whoever ends one ends all that it was at, and most of that is innocent. */
export const CRASHES_BESIDE_OTHERS = 5;

/** A turn that this process may run: the messages of one intent, and the hold that its commits are checked against. */
export type ClaimedTurn = {
  readonly id: number;
  readonly hold: Hold;
  readonly channel: ChannelId;
  readonly to: ChatAddress;
  readonly agent: string;
  readonly thread: ThreadId;
  readonly intent: number;
  /** When the first of its messages was committed, and when it was claimed, epoch ms. */
  readonly receivedAt: number;
  readonly startedAt: number;
  readonly messages: readonly WaitingMessage[];
  /** Whether a turn was begun with one of them before. */
  readonly again: boolean;
  /** What people of the chat wrote in before this, where that could be told. */
  readonly language?: Language;
  /** What is to be done with the thread instead of answering them. */
  readonly task?: InboxTask;
  /** What the agent is told beside them; it comes first. */
  readonly asides: readonly Aside[];
  /** What has become of them since an earlier attempt at the turn, which was not told of it. */
  readonly corrections?: readonly Correction[];
};

export type Claim =
  | { readonly kind: "turn"; readonly turn: ClaimedTurn }
  /** Nothing to do before `at` (epoch ms): a window is open, or another worker holds the chat. */
  | { readonly kind: "wait"; readonly at: number }
  /** The oldest intent has crashed too often; it is to be set aside by `commitTurn` with state "failed". */
  | { readonly kind: "dead"; readonly turn: ClaimedTurn }
  /** Nothing waits, its media are still being fetched, or its connection is off: the end of that wakes the chat. */
  | { readonly kind: "idle" };

/**
 * Takes the hold on a chat and claims its oldest intent, in one transaction; a claim that a power cut takes back is made
 * again. `until` ends a hold that nobody renews: what its holder had claimed is given back first, the crash counted.
 */
export async function claimTurn(
  database: Database,
  chat: ChatId,
  by: {
    readonly owner: string;
    readonly now: number;
    readonly until: number;
    /** Whether a connection is open: without it nobody could be answered, so nothing is claimed. */
    readonly isOpen: (channel: ChannelId) => boolean;
    /** Whether other processes may be at the same facts. */
    readonly others?: boolean;
    /** Counts a turn that is to be run, in this transaction. */
    readonly count?: (trx: Queries, turn: ClaimedTurn) => Promise<void>;
  },
): Promise<Claim> {
  return await database.light(async (trx) => {
    const row = await trx
      .selectFrom("chat")
      .select(["channel", "kind", "owner", "epoch", "until", "language", "paused_by"])
      .where("id", "=", chat)
      .$if(database.dialect === "postgres", (query) => query.forUpdate())
      .executeTakeFirstOrThrow();
    if (row.owner !== "" && row.owner !== by.owner && row.until > by.now)
      return { kind: "wait", at: row.until };
    if (!by.isOpen(row.channel)) return { kind: "idle" };
    if (row.owner !== "") await giveBackHeld(trx, chat, by.now);
    const messages = await oldestIntent(trx, chat);
    const [first] = messages;
    if (!first) return { kind: "idle" };
    // What a crash has left of a turn that a pause has cut off.
    const paused =
      row.paused_by === "command" && first.task === "" ? await pausedUntil(trx, chat, by.now) : 0;
    if (paused > 0) return paused === UNTIL_RESUMED ? { kind: "idle" } : { kind: "wait", at: paused };
    const dueAt = Math.max(...messages.map((message) => message.due_at));
    // What came later than now says that the clock was set back, by which a window could stay open for hours.
    const setBack = messages.some((message) => message.received_at > by.now);
    if (dueAt > by.now && !setBack) return { kind: "wait", at: dueAt };
    const attachments = await attachmentsOf(trx, messages);
    if (attachments.some((attachment) => attachment.state === "waiting")) return { kind: "idle" };
    const crashes = Math.max(...messages.map((message) => message.claims));
    const dead = crashes >= (by.others ? CRASHES_BESIDE_OTHERS : CRASHES_BEFORE_DEAD);
    if (!dead && (await othersAreSuspect(trx, crashes, by.now)))
      return { kind: "wait", at: by.now + SUSPECT_AGAIN_MS };
    const ids = messages.map((message) => message.id);
    const task = first.task;
    const { told, corrections } =
      dead || task !== ""
        ? { told: [], corrections: [] }
        : await asidesFor(trx, { chat, thread: first.thread, messages: ids });
    const people = [...messages.map(saidBy), ...told.map(({ event }) => personOf(event))].filter(
      ({ id }) => id !== "", // nobody has said what a schedule brings
    );
    const speakers =
      row.kind === "group" && people.length > 0 ? await speakerNumbers(trx, chat, people) : NOBODY;
    const hold: Hold = { chat, owner: by.owner, epoch: row.epoch + 1 };
    await trx
      .updateTable("chat")
      .set({ owner: hold.owner, epoch: hold.epoch, until: by.until })
      .where("id", "=", chat)
      .execute();
    const { id } = await trx
      .insertInto("turn")
      .values({
        chat_id: chat,
        intent: first.intent,
        agent: first.agent,
        thread: first.thread,
        state: "running",
        error: "",
        started_at: by.now,
        ended_at: 0,
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    await trx
      .updateTable("inbox")
      .set((eb) => ({
        state: "claimed",
        claims: dead ? eb.ref("claims") : eb("claims", "+", 1),
        turn_id: id,
        trace: withTrace(
          dead
            ? { at: by.now, step: "given up", turn: id, crashes }
            : { at: by.now, step: "claimed", turn: id, attempt: crashes + 1 },
        ),
      }))
      .where("id", "in", ids)
      .execute();
    await claimAsides(trx, told, { turn: id, now: by.now });
    const waiting = messages.map((message) => toWaiting(message, attachments, speakers));
    const place = waiting[0]!.event.place; // one per row of messages, and there is a first
    const turn: ClaimedTurn = {
      id,
      hold,
      channel: row.channel,
      to: addressOf(row.channel, place.chat, place.topic ?? ""),
      agent: first.agent,
      thread: first.thread,
      intent: first.intent,
      receivedAt: Math.min(...messages.map((message) => message.received_at)),
      startedAt: by.now,
      messages: waiting,
      ...(task === "" ? {} : { task }),
      ...(row.language === "" ? {} : { language: row.language }),
      again: messages.some((message) => message.turn_id !== 0),
      ...(corrections.length === 0 ? {} : { corrections }),
      asides: told.map((aside) => ({ ...aside, ...spokenBy(speakers, personOf(aside.event).id) })),
    };
    if (!dead) await by.count?.(trx, turn);
    return { kind: dead ? "dead" : "turn", turn };
  });
}

const NOBODY: ReadonlyMap<string, number> = new Map();
/** A suspect has its turn when the one before it is done with its own. */
const SUSPECT_AGAIN_MS = 2_000;

/**
 * Whether the turn may go on: a person may have stopped it where another process took that in.
 * @throws GatewayError "store.hold_lost".
 */
export async function renewHold(
  database: Database,
  hold: Hold,
  until: number,
): Promise<{ readonly stopped: boolean }> {
  return await database.db.transaction().execute(async (trx) => {
    await assertHeld(trx, hold);
    const { stop_epoch } = await trx
      .updateTable("chat")
      .set({ until })
      .where("id", "=", hold.chat)
      .returning("stop_epoch")
      .executeTakeFirstOrThrow();
    return { stopped: stop_epoch === hold.epoch };
  });
}

/**
 * The end of a turn: its messages are consumed and its pieces planned, in one transaction; the hold is given up.
 * Gives whether more waits in the chat.
 * @throws GatewayError "store.hold_lost" when somebody else holds the chat by now; nothing is written then.
 */
export async function commitTurn(
  database: Database,
  turn: ClaimedTurn,
  end: {
    readonly state: Exclude<TurnState, "running" | "abandoned">;
    readonly messages: "consumed" | "dead";
    readonly error: string;
    /** It is one that nobody has asked for, and it has nothing to say. */
    readonly silent?: UnaskedDay | undefined;
    readonly pieces: readonly NewPiece[];
    /** Rows of edits and of what was taken back that the agent was told of while it ran. */
    readonly corrected?: readonly number[];
    /** Intents that were steered into it, and that its answer is to as well. What it was given beside them waits again. */
    readonly steered?: readonly number[];
    /** What the turn has done outside and is in its thread now, by the message that is answered. */
    readonly effectsOf?: string;
    /** What is to be gone through for what should be remembered. */
    readonly touches?: readonly Touch[];
    /** What it has told of its thread, and what it took. */
    readonly news?: ThreadNews;
    /** What it has heard of earlier questions. */
    readonly settled?: Settled;
    /** What its people write in, where that can be told. */
    readonly language?: Language | undefined;
    /** What is said behind it, as it is decided in this transaction. */
    readonly behind?: (trx: Queries) => Promise<readonly NewPiece[]>;
    readonly now: number;
  },
): Promise<boolean> {
  const work = async (trx: Transaction<Tables>): Promise<boolean> => {
    const { cutOff, stopped } = await heldAs(trx, turn.hold);
    // Its people were told so: what it has come to meanwhile is not said.
    if (stopped && end.state === "done") throw new GatewayError("turn.stopped", "stopped by the person");
    if (cutOff && turn.task === undefined && end.messages === "consumed") {
      await keepTurn(trx, turn, end.now);
      const { thread, agent, hold } = turn;
      if (end.news) await rememberThread(trx, { thread, agent, chat: hold.chat }, end.news, end.now);
      const { spent } = end.news ?? { spent: undefined };
      await endTurn(trx, turn, { state: "stopped", error: "turn.stopped", spent, now: end.now });
      return await moreWaits(trx, turn, end.now);
    }
    await trx
      .updateTable("inbox")
      .set({
        state: end.messages,
        // A dead message can be tried again by the operator, so it keeps its words.
        ...(end.messages === "consumed" ? { payload: "" } : {}),
        why:
          end.messages === "dead" ? "its turn ended the process too often" : end.silent ? SAID_NOTHING : "",
        ended_at: end.now,
        trace: withTrace({
          at: end.now,
          step: end.messages,
          turn: turn.id,
          state: end.state,
          error: end.error,
          pieces: end.pieces.length,
        }),
      })
      .where("turn_id", "=", turn.id)
      .where("state", "=", "claimed")
      .where("intent", "in", [0, turn.intent])
      .execute();
    const steered = end.state === "stopped" ? "all" : (end.steered ?? []);
    const ids = [
      ...turn.messages.map((message) => message.id),
      ...(await endSteered(trx, turn, { intents: steered, error: end.error, now: end.now })),
    ];
    const hadMedia = steered.length > 0 || turn.messages.some((message) => message.taken.size > 0);
    if (end.messages === "consumed" && hadMedia) await forgetTaken(trx, ids);
    if (end.corrected && end.corrected.length > 0)
      await endCorrected(trx, turn.hold.chat, { rows: end.corrected, turn: turn.id, now: end.now });
    // A dead message can be tried again, and must not do again what was done.
    if (end.effectsOf !== undefined && end.messages === "consumed")
      await forgetEffects(trx, { thread: turn.thread, message: end.effectsOf });
    for (const touched of end.touches ?? []) await touch(trx, touched, end.now);
    // What was stopped, or has ended the process, is not asked for again by correcting it.
    if (end.state === "stopped" || end.messages === "dead")
      await withdrawFollowing(trx, turn.hold.chat, { messages: ids, now: end.now });
    if (end.settled) await settleQuestions(trx, turn.thread, end.settled, end.now);
    if (end.silent) await giveUnaskedBack(trx, end.silent);
    await insertPieces(trx, [...end.pieces, ...((await end.behind?.(trx)) ?? [])], end.now);
    if (end.effectsOf !== undefined && end.messages === "consumed")
      await withdrawNoted(trx, { thread: turn.thread, message: end.effectsOf });
    const { thread, agent, hold } = turn;
    if (end.news) await rememberThread(trx, { thread, agent, chat: hold.chat }, end.news, end.now);
    const { state, error, language, now } = end;
    await endTurn(trx, turn, { state, error, language, spent: end.news?.spent, now });
    return await moreWaits(trx, turn, now);
  };
  // Before the first byte of a piece is sent, its state is committed in full, and this with it; until then a power cut
  // takes back what nobody has seen.
  return await (end.pieces.length > 0 ? database.light(work) : database.db.transaction().execute(work));
}

/** Whether something waits behind a turn that has ended; with what was steered into it for nothing. */
async function moreWaits(trx: Transaction<Tables>, turn: ClaimedTurn, now: number): Promise<boolean> {
  const open = await trx
    .selectFrom("inbox")
    .select("state")
    .distinct()
    .where("chat_id", "=", turn.hold.chat)
    .where(isOpenMessage)
    .execute();
  if (open.some(({ state }) => state === "claimed")) await giveBackSteered(trx, turn, now);
  return open.length > 0;
}
