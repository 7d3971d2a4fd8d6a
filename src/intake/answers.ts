import type { PlatformId } from "../core/channel.ts";
import type { ChoiceEvent, MessageEvent, ReactionEvent } from "../core/events.ts";
import { idsOf } from "../core/identity.ts";
import { join } from "../core/rendered.ts";
import { type Notice, say, type SentenceKey } from "../core/sentences.ts";
import type { Rendered } from "../core/tree.ts";
import { oneLine, shortened } from "../core/words.ts";
import { aliasesOf } from "../store/aliases.ts";
import { approvalRuns, decideApproval } from "../store/approvals.ts";
import { answerQuestion, type AskedChoice, LABEL_LENGTH } from "../store/choices.ts";
import { keepStill } from "../store/holds.ts";
import { insertEvent, openIntent } from "../store/inbox.ts";
import { insertPieces } from "../store/pieces.ts";
import { type About, addressIn, languageIn, rulesFor } from "./about.ts";
import { admit, standingOf } from "./admit.ts";
import { payloadHash } from "./content-hash.ts";
import { latenessOf } from "./lateness.ts";
import { spentNotice } from "./quota.ts";

/** What can answer a question: a press, a reaction, or words. */
export type Answering = ChoiceEvent | ReactionEvent | MessageEvent;

/** Why an answer leads to nothing: for the trace, and for whoever gave it. */
export type Refusal = { readonly why: string; readonly notice: Notice };

export const UNKNOWN = because("choice.expired", "the button is not known, or not any more");
export const EXPIRED = because("choice.expired", "the question has expired");
const LATE = because("choice.expired", "the button was pressed long ago, while we were away");
export const NOT_YOURS = because("choice.not_yours", "the button is not for whoever pressed it");
export const USED = because("choice.used", "the question was answered already");

export function because(key: SentenceKey, why: string): Refusal {
  return { why, notice: { key, values: {} } };
}

export async function refusalOf(
  about: About<Answering>,
  asked: AskedChoice | undefined,
): Promise<Refusal | undefined> {
  const { event, chat, granted, now } = about;
  const rules = rulesFor(about);
  if (!asked || !rules) return UNKNOWN;
  if (asked.chat !== chat || (asked.person !== "" && !idsOf(event.from).includes(asked.person)))
    return NOT_YOURS;
  if (latenessOf(event, rules, now) !== "in time") return LATE;
  if (asked.expiresAt <= now) return EXPIRED;
  // Whether whoever presses it may, the message says that it is about.
  if (asked.means === "cancel") return undefined;
  const ofOwner = asked.who === null ? asked.means !== "say" : asked.who === "owner";
  if (ofOwner) return standingOf(event, rules, granted) === "owner" ? undefined : NOT_YOURS;
  // Without what stands on the button: the agent has written that, and it is no command of a person's.
  const verdict = admit(said(event, ""), rules, granted);
  if (verdict.kind === "turn") return undefined;
  if (verdict.kind !== "refused" || granted !== "spent") return NOT_YOURS;
  return { why: verdict.why, notice: await spentNotice(about) };
}

/**
 * Decides about a call that waits: once, whoever else decides at the same time and however. A yes becomes work of the
 * chat's lane in the same transaction; of a no the agent is told with its next turn.
 */
export async function decide(
  about: About<Answering>,
  asked: AskedChoice,
  refusal: Refusal | undefined,
  /** Where the question stands; undefined while that is not known. */
  at: PlatformId | undefined,
): Promise<Refusal | undefined> {
  const { trx, now } = about;
  if (refusal && refusal !== EXPIRED) return refusal;
  // All of that chat may be forgotten just now: then nothing is to wait there.
  if (asked.goesOn !== null) await keepStill(trx, asked.goesOn);
  if (!(await answerQuestion(trx, asked.question, now, about.event.id))) return refusal ?? USED;
  const by = oneLine(about.event.from.name);
  const allows = asked.means === "allow";
  const state = refusal ? "expired" : allows ? "approved" : "refused";
  const waiting = await decideApproval(trx, asked.approval, { state, by, now });
  if (refusal || !waiting) {
    await showOutcome(about, asked, say("choice.expired", await languageIn(about)), at);
    return EXPIRED;
  }
  if (allows) await run(about, asked.approval, waiting);
  const key = allows ? "approval.allowed" : "approval.refused";
  const words = say(key, await languageIn(about), { name: by });
  await showOutcome(about, asked, shortened(words, LABEL_LENGTH), at);
  return undefined;
}

/** The call is made by a turn of its own, behind what waits in its chat. */
async function run(
  { trx, channel, now, after, effects }: About<Answering>,
  approval: string,
  { chat, thread, agent, place, person, asker }: NonNullable<Awaited<ReturnType<typeof decideApproval>>>,
): Promise<void> {
  const id = `approved/${approval}`;
  // It is theirs who were answered: whoever has said yes does not speak in this chat.
  const also = person === "" ? [] : await aliasesOf(trx, channel, person);
  const saying: MessageEvent = {
    type: "message",
    id,
    ref: "",
    place,
    from: { id: person, name: asker, ...(also.length === 0 ? {} : { also }) },
    sentAt: new Date(now).toISOString(),
    content: [],
    addressed: true,
    whole: true,
  };
  const row = await insertEvent(trx, {
    channel,
    chat,
    key: id,
    type: "message",
    payload: JSON.stringify(saying),
    payloadHash: payloadHash(saying),
    contentHash: "",
    sender: person,
    ref: "",
    state: "waiting",
    why: "",
    agent,
    thread,
    intent: 0,
    task: "approved",
    album: "",
    receivedAt: now,
    dueAt: now,
    trace: { at: now, step: "approved" },
  });
  if (row === undefined) return;
  await openIntent(trx, row);
  await approvalRuns(trx, approval, row);
  after.push(() => effects.turn(chat, now, agent));
}

/** The same of somebody who says something. */
export function said(event: Answering, text: string): MessageEvent {
  const { id, ref = "", place, from, sentAt } = event;
  return {
    type: "message",
    id,
    ref,
    place,
    from,
    sentAt,
    content: [{ type: "text", text }],
    addressed: true,
    whole: true,
  };
}

/** The question without its buttons and with what came of it, in the place of the one that was answered. */
export async function showOutcome(
  about: About<Answering>,
  { rendered, to = addressIn(about) }: Pick<AskedChoice, "rendered" | "to">,
  words: string,
  at: PlatformId | undefined,
): Promise<void> {
  const { trx, channel, chat, now, after, effects } = about;
  const [outcome] = about.words(channel, `— ${words}`);
  if (at === undefined || outcome?.kind !== "text") return;
  const question = JSON.parse(rendered) as Rendered; // written by insertQuestion
  const body = { kind: "text", rendered: join([question, outcome.rendered], " ") } as const;
  await insertPieces(trx, [{ chat, to, turn: 0, seq: 0, body, replaces: at }], now);
  after.push(() => effects.deliver(chat));
}
