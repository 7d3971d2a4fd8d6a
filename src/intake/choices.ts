import type { ChoiceEvent } from "../core/events.ts";
import { say } from "../core/sentences.ts";
import type { Rendered } from "../core/tree.ts";
import { answerQuestion, type AskedChoice, choiceOf, LABEL_LENGTH, wasPressed } from "../store/choices.ts";
import { type About, languageIn, rulesFor } from "./about.ts";
import { agentFor } from "./admit.ts";
import {
  because,
  decide,
  EXPIRED,
  NOT_YOURS,
  refusalOf,
  type Refusal,
  said,
  showOutcome,
  UNKNOWN,
  USED,
} from "./answers.ts";
import { cancelRow } from "./cancel.ts";
import { inItsTime } from "./decision.ts";
import { take } from "./messages.ts";
import { decide as decidePairing } from "./pairing.ts";
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
  if (asked && asked.approval !== "") return await decideFor(about, asked, refusal);
  if (asked?.means === "cancel" && !refusal) return await cancelFor(about, asked);
  if (!asked || (refusal && refusal !== EXPIRED)) return await refuse(about, refusal ?? UNKNOWN);
  if (!(await answerQuestion(trx, asked.question, now, event.id)))
    return await refuse(about, refusal ?? USED);
  const decides = asked.means === "allow" || asked.means === "refuse" ? asked.means : undefined;
  if (refusal || (decides && !(await decidePairing(about, asked.subject, decides)))) {
    await showOutcome(about, asked, say("choice.expired", await languageIn(about)), event.ref);
    return await refuse(about, EXPIRED);
  }
  if (asked.means !== "say") {
    const trace = { step: "choice", means: asked.means };
    await record(about, { chat, sender: event.from.id, why: "", trace });
  }
  await showOutcome(about, asked, `✓ ${asked.label.slice(0, LABEL_LENGTH).toWellFormed()}`, event.ref);
  if (asked.means === "say") await sayFor(about, asked);
  return undefined;
}

async function refuse(about: About<ChoiceEvent>, { why, notice }: Refusal): Promise<string> {
  const { chat, event } = about;
  await record(about, { chat, sender: event.from.id, why, trace: { step: "refused", why } });
  return say(notice.key, await languageIn(about), notice.values);
}

/** Takes the message back that the question is about; who may not is told, and the button stays. */
async function cancelFor(about: About<ChoiceEvent>, asked: AskedChoice): Promise<string | undefined> {
  const { trx, chat, event, now } = about;
  const key = await cancelRow(about, Number(asked.subject));
  if (key === "cancel.not_yours") return await refuse(about, because(key, NOT_YOURS.why));
  if (!(await answerQuestion(trx, asked.question, now, event.id))) return await refuse(about, USED);
  await record(about, { chat, sender: event.from.id, why: "", trace: { step: "choice", means: "cancel" } });
  await showOutcome(about, asked, say(key, await languageIn(about)), event.ref);
  return undefined;
}

/** Decides about a call that waits. */
async function decideFor(
  about: About<ChoiceEvent>,
  asked: AskedChoice,
  refusal: Refusal | undefined,
): Promise<string | undefined> {
  const refused = await decide(about, asked, refusal, about.event.ref);
  if (refused) return await refuse(about, refused);
  const trace = { step: "choice", means: asked.means };
  await record(about, { chat: about.chat, sender: about.event.from.id, why: "", trace });
  return undefined;
}

/** What stands on the button becomes a message of whoever pressed it. */
async function sayFor(about: About<ChoiceEvent>, { label, interrupt, rendered }: AskedChoice): Promise<void> {
  const { event } = about;
  const rules = rulesFor(about);
  if (!rules) return;
  const { agent } = agentFor(event, rules);
  // The graph may have been asked something else since, and not wait for this any more: the answer says what it is to.
  const { text } = JSON.parse(rendered) as Rendered; // written by insertQuestion
  const quote = interrupt === "" ? {} : { quote: { text } };
  const saying = { ...about, event: { ...said(event, label), ...quote } };
  await take(saying, inItsTime(saying, { kind: "turn", agent, by: "button" }));
}
