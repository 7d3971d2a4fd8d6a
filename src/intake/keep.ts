import type { DeleteEvent, EditEvent, ReactionEvent } from "../core/events.ts";
import type { ChatId, ThreadId } from "../core/identity.ts";
import { MOST_NOTES, trimAsides } from "../store/asides.ts";
import { insertEvent, type Known, openIntent } from "../store/inbox.ts";
import type { Told } from "./about.ts";
import { payloadHash } from "./content-hash.ts";

type AboutEarlier = EditEvent | DeleteEvent | ReactionEvent;

/** Whom an event about an earlier message is for, and what it is about. */
export type Kept = {
  readonly chat: ChatId;
  readonly agent: string;
  readonly thread: ThreadId;
  readonly sender: string;
  /** What the platform calls the message. */
  readonly ref: string;
  /** The row of it; 0 for a message of ours. */
  readonly about: number;
  /** Of what can be seen of it now; "" where that is not the question. */
  readonly contentHash: string;
};

/** Writes an event down for the agent to be told of with a turn; gives its row, or undefined where it is a repeat. */
export async function keepAside<Event extends AboutEarlier>(
  told: Told<Event>,
  event: Known<Event>,
  as: Kept,
): Promise<number | undefined> {
  const { trx, now } = told;
  const id = await insert(told, event, as, { state: "aside", dueAt: 0 });
  if (id === undefined) return undefined;
  const why = `more than ${MOST_NOTES} of these waited to be told`;
  await trimAsides(trx, as.chat, { type: event.type, keep: MOST_NOTES, why, now });
  return id;
}

/** Writes an event down that begins a turn of its own once its window has closed (epoch ms). */
export async function keepTurn<Event extends EditEvent | ReactionEvent>(
  told: Told<Event>,
  event: Event | Known<Event>,
  as: Kept,
  dueAt: number,
): Promise<number | undefined> {
  const { trx, after, effects } = told;
  const id = await insert(told, event, as, { state: "waiting", dueAt });
  if (id === undefined) return undefined;
  await openIntent(trx, id);
  after.push(() => effects.turn(as.chat, dueAt, as.agent));
  return id;
}

async function insert(
  { trx, channel, event: told, now }: Told<AboutEarlier>,
  event: AboutEarlier,
  as: Kept,
  { state, dueAt }: { readonly state: "aside" | "waiting"; readonly dueAt: number },
): Promise<number | undefined> {
  return await insertEvent(trx, {
    channel,
    chat: as.chat,
    key: event.id,
    type: event.type,
    payload: JSON.stringify(event),
    // As it was handed over: what is known of the message is none of it.
    payloadHash: payloadHash(told),
    contentHash: as.contentHash,
    sender: as.sender,
    ref: as.ref,
    about: as.about,
    state,
    why: "",
    agent: as.agent,
    thread: as.thread,
    intent: 0,
    album: "",
    receivedAt: now,
    dueAt,
    trace: {
      at: now,
      step: state === "aside" ? "aside" : event.type,
      agent: as.agent,
      ...(as.about === 0 ? {} : { of: as.about }),
    },
  });
}
