import type { PlatformId } from "../core/channel.ts";
import type { MessageEvent, ReactionEvent } from "../core/events.ts";
import type { Notice } from "../core/sentences.ts";
import { approvalAt, type Asked, type AskedChoice, openApprovalsIn, wasPressed } from "../store/choices.ts";
import { isNewestOfOurs } from "../store/sent.ts";
import { type About, answer, rulesFor } from "./about.ts";
import { admit } from "./admit.ts";
import { decide, refusalOf, said } from "./answers.ts";
import { record } from "./record.ts";

const YES = new Set(["yes", "y", "ok", "okay", "allow", "ja", "erlauben", "👍", "✅"]);
const NO = new Set(["no", "n", "refuse", "deny", "nein", "ablehnen", "👎", "❌"]);
/** What people see is the same whether a sign is drawn in colour or not, and in whatever colour. */
const LOOKS = /[\p{Emoji_Modifier}\p{Variation_Selector}]/gu;

/** Whether a reaction is an answer to a call that waits; then all is done that there is to do. */
export async function answeredBySign(about: About<ReactionEvent>): Promise<boolean> {
  const { trx, channel, event } = about;
  const [means, ...others] = new Set(event.added.flatMap((sign) => meant(sign) ?? []));
  // Who gives both at once has given no answer.
  if (means === undefined || others.length > 0) return false;
  const asked = await approvalAt(trx, { channel, chat: event.place.chat, ref: event.ref });
  if (!asked) return false;
  // Platforms hand a reaction over without its topic; the question knows its chat.
  await answerIn({ ...about, chat: asked.chat }, asked, { means, at: event.ref });
  return true;
}

/**
 * Whether words are an answer to a call that waits: as a reply to the question, or alone, where one question stands open and
 * nothing has been said below it, so that it cannot be an answer to anything else. What the account's own person writes by
 * hand is for somebody else, unless it is such a reply.
 */
export async function answeredInWords(about: About<MessageEvent>): Promise<boolean> {
  const { trx, channel, chat, event, granted, now } = about;
  const means = wordsOf(event);
  const rules = rulesFor(about);
  // Whoever may not talk here is told nothing, as with all that they say.
  if (means === undefined || admit(said(event, ""), rules, granted).kind !== "turn") return false;
  const { quote, place } = event;
  if (quote?.ref !== undefined) {
    const asked = await approvalAt(trx, { channel, chat: place.chat, ref: quote.ref });
    if (!asked) return false;
    const refused = await answerIn(about, asked, { means, at: quote.ref });
    if (refused) await answer(about, refused.key, refused.values);
    return true;
  }
  if (quote !== undefined || event.own) return false;
  const [only, ...others] = await openApprovalsIn(trx, chat, now);
  // Nobody says yes to what they have not seen.
  if (!only || only.refs.length === 0 || others.length > 0 || !event.addressed) return false;
  if (!(await isNewestOfOurs(trx, chat, only.piece))) return false;
  if (await refusalOf(about, toChoice(only, means))) return false;
  await answerIn(about, only, { means, at: only.refs[0] });
  return true;
}

/** Gives what whoever answered is to be told, where it led to nothing. */
async function answerIn<Event extends MessageEvent | ReactionEvent>(
  about: About<Event>,
  asked: Asked,
  { means, at }: { readonly means: Means; readonly at: PlatformId | undefined },
): Promise<Notice | undefined> {
  const { trx, channel, chat, event } = about;
  if (await wasPressed(trx, { channel, chat, press: event.id })) return undefined;
  const choice = toChoice(asked, means);
  const refused = await decide(about, choice, await refusalOf(about, choice), at);
  const trace = refused
    ? { step: "refused", why: refused.why }
    : { step: event.type === "message" ? "answer in words" : "answer by a sign", means };
  await record(about, { chat, sender: event.from.id, why: refused?.why ?? "", trace });
  return refused?.notice;
}

type Means = "allow" | "refuse";

function toChoice(asked: Asked, means: Means): AskedChoice {
  return { ...asked, label: "", means };
}

function wordsOf({ content, forward }: MessageEvent): Means | undefined {
  const [part, ...more] = content;
  if (part?.type !== "text" || more.length > 0 || forward || part.text.length > MOST_CHARACTERS)
    return undefined;
  return meant(part.text.replaceAll(/[.!,\s]+$/gu, ""));
}

const MOST_CHARACTERS = 20;

function meant(text: string): Means | undefined {
  const word = text.trim().toLowerCase().replaceAll(LOOKS, "");
  return YES.has(word) ? "allow" : NO.has(word) ? "refuse" : undefined;
}
