import type { MessageEvent, ReactionEvent } from "../core/events.ts";
import type { ChatId } from "../core/identity.ts";
import { currentThread } from "../store/chats.ts";
import { withdrawRows } from "../store/edits.ts";
import { ownMessage, pendingReaction, rewriteReaction } from "../store/reactions.ts";
import { type About, rulesFor } from "./about.ts";
import { admit } from "./admit.ts";
import { reopened } from "./gather.ts";
import { keepAside, keepTurn } from "./keep.ts";
import { latenessOf } from "./lateness.ts";
import { isFull } from "./placing.ts";
import { record } from "./record.ts";
import { gatherIn } from "./waiting-rules.ts";

/** Of one person at one message; platforms allow fewer. */
const MOST_SIGNS = 10;

/** What somebody thinks of a message of ours, for the agent that has said it. */
export async function takeReaction(about: About<ReactionEvent>): Promise<void> {
  const { trx, channel, event, now } = about;
  const rules = rulesFor(about);
  const own = await ownMessage(trx, { channel, chat: event.place.chat, ref: event.ref });
  if (!own) return await refuse(about, about.chat, "it is about no message of an agent's");
  const { chat, agent, thread, sentAt, newest } = own;
  // The message knows where it stands; the platform may not say so.
  const { topic: _unsaid, ...place } = event.place;
  const there = own.topic === "" ? place : { ...place, topic: own.topic };
  const known = { ...event, place: there, known: { newest, at: sentAt, by: "" } };
  if (!rules || rules.reactions === "ignore") return await refuse(about, chat, "reactions are ignored here");
  // A note is no turn, of which there may be too many.
  const granted = rules.reactions === "note" && about.granted === "spent" ? undefined : about.granted;
  const may = admit(asMessage(known), rules, granted);
  if (may.kind === "refused") return await refuse(about, chat, may.why);
  if (thread !== (await currentThread(trx, chat, agent)))
    return await refuse(about, chat, "its thread was ended");

  const sender = event.from.id;
  const pending = await pendingReaction(trx, { chat, ref: event.ref, sender });
  const before = pending?.event.added.filter((sign) => !event.removed.includes(sign)) ?? [];
  const added = [...new Set([...before, ...event.added])].slice(0, MOST_SIGNS);
  if (pending) {
    const trace = { step: "reaction", of: pending.id };
    if (!(await record(about, { chat, sender, why: "", trace }))) return;
    return await (added.length === 0
      ? withdrawRows(trx, [pending.id], { why: "taken back", now })
      : rewriteReaction(trx, pending.id, { event: { ...pending.event, added }, now }));
  }
  if (added.length === 0) return await refuse(about, chat, "only what was there already was taken back");
  const kept = { chat, agent, thread, sender, ref: event.ref, about: 0, contentHash: "" };
  const inTime = !about.still && latenessOf(event, rules, now) === "in time";
  await (rules.reactions === "turn" && inTime && !(await isFull(about, chat))
    ? keepTurn(about, { ...known, added }, kept, reopened({ firstAt: now, dueAt: now }, now, gatherIn(about)))
    : keepAside(about, { ...known, added }, kept));
}

/** Who reacts, and where, is what is asked for: as of somebody who speaks to the agent. */
function asMessage({ type: _type, added: _added, removed: _removed, ...event }: ReactionEvent): MessageEvent {
  return { ...event, type: "message", content: [], addressed: true };
}

async function refuse(about: About<ReactionEvent>, chat: ChatId, why: string): Promise<void> {
  await record(about, { chat, sender: about.event.from.id, why, trace: { step: "refused", why } });
}
