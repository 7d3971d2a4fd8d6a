import type { ChoiceEvent, MessageEvent } from "../core/events.ts";
import { idsOf } from "../core/identity.ts";
import { join } from "../core/rendered.ts";
import { type Notice, say, type SentenceKey } from "../core/sentences.ts";
import type { Rendered } from "../core/tree.ts";
import { addressOf } from "../store/chats.ts";
import { answerQuestion, type AskedChoice, choiceOf, LABEL_LENGTH, wasPressed } from "../store/choices.ts";
import { insertPieces } from "../store/pieces.ts";
import { type About, rulesFor } from "./about.ts";
import { admit, agentFor, standingOf } from "./admit.ts";
import { inItsTime } from "./decision.ts";
import { latenessOf } from "./lateness.ts";
import { take } from "./messages.ts";
import { decide } from "./pairing.ts";
import { spentNotice } from "./quota.ts";
import { record } from "./record.ts";

/** A pressed button. Gives what is shown at once to whoever pressed it, where it leads to nothing. */
export async function takeChoice(about: About<ChoiceEvent>): Promise<string | undefined> {
  const { trx, channel, chat, event, now, log } = about;
  if (await wasPressed(trx, { channel, chat, press: event.id })) {
    log.debug({ channel, chat }, "a repeat was recognised");
    return undefined;
  }
  const asked = await choiceOf(trx, event.key);
  const refusal = await refusalOf(about, asked);
  if (!asked || (refusal && refusal !== EXPIRED)) return await refuse(about, refusal ?? UNKNOWN);
  if (!(await answerQuestion(trx, asked.question, now))) return await refuse(about, refusal ?? USED);
  if (refusal || (asked.means !== "say" && !(await decide(about, asked.subject, asked.means)))) {
    await showOutcome(about, asked, say("choice.expired"));
    return await refuse(about, EXPIRED);
  }
  if (asked.means !== "say") {
    const trace = { step: "choice", means: asked.means };
    await record(about, { chat, sender: event.from.id, why: "", trace });
  }
  await showOutcome(about, asked, `✓ ${asked.label.slice(0, LABEL_LENGTH).toWellFormed()}`);
  if (asked.means === "say") await sayFor(about, asked.label);
  return undefined;
}

/** Why a press leads to nothing: for the trace, and for whoever pressed. */
type Refusal = { readonly why: string; readonly notice: Notice };

const UNKNOWN = because("choice.expired", "the button is not known, or not any more");
const EXPIRED = because("choice.expired", "the question has expired");
const LATE = because("choice.expired", "the button was pressed long ago, while we were away");
const NOT_YOURS = because("choice.not_yours", "the button is not for whoever pressed it");
const USED = because("choice.used", "the question was answered already");

function because(key: SentenceKey, why: string): Refusal {
  return { why, notice: { key, values: {} } };
}

async function refusalOf(
  about: About<ChoiceEvent>,
  asked: AskedChoice | undefined,
): Promise<Refusal | undefined> {
  const { event, chat, granted, now } = about;
  const rules = rulesFor(about);
  if (!asked || !rules) return UNKNOWN;
  if (asked.chat !== chat || (asked.person !== "" && !idsOf(event.from).includes(asked.person)))
    return NOT_YOURS;
  if (latenessOf(event, rules, now) !== "in time") return LATE;
  if (asked.expiresAt <= now) return EXPIRED;
  if (asked.means !== "say") return standingOf(event, rules, granted) === "owner" ? undefined : NOT_YOURS;
  // Without what stands on the button: the agent has written that, and it is no command of a person's.
  const verdict = admit(said(event, ""), rules, granted);
  if (verdict.kind === "turn") return undefined;
  if (verdict.kind !== "refused" || granted !== "spent") return NOT_YOURS;
  return { why: verdict.why, notice: await spentNotice(about) };
}

async function refuse(about: About<ChoiceEvent>, { why, notice }: Refusal): Promise<string> {
  const { chat, event } = about;
  await record(about, { chat, sender: event.from.id, why, trace: { step: "refused", why } });
  return say(notice.key, "en", notice.values);
}

/** What stands on the button becomes a message of whoever pressed it. */
async function sayFor(about: About<ChoiceEvent>, label: string): Promise<void> {
  const { event } = about;
  const rules = rulesFor(about);
  if (!rules) return;
  const { agent } = agentFor(event, rules);
  const saying = { ...about, event: said(event, label) };
  await take(saying, inItsTime(saying, { kind: "turn", agent, by: "button" }));
}

function said({ id, ref = "", place, from, sentAt }: ChoiceEvent, text: string): MessageEvent {
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

/** The question without its buttons and with what came of it, in the place of the one that was pressed. */
async function showOutcome(
  about: About<ChoiceEvent>,
  { rendered }: AskedChoice,
  words: string,
): Promise<void> {
  const { trx, channel, chat, event, now, after, effects } = about;
  const [outcome] = about.words(channel, `— ${words}`);
  if (event.ref === undefined || outcome?.kind !== "text") return;
  const question = JSON.parse(rendered) as Rendered; // written by insertQuestion
  const body = { kind: "text", rendered: join([question, outcome.rendered], " ") } as const;
  const to = addressOf(channel, event.place.chat, event.place.topic ?? "");
  await insertPieces(trx, [{ chat, to, turn: 0, seq: 0, body, replaces: event.ref }], now);
  after.push(() => effects.deliver(chat));
}
