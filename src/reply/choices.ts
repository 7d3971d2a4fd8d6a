import type { PieceBody } from "../core/channel.ts";
import { join } from "../core/rendered.ts";
import { say } from "../core/sentences.ts";
import { shortened } from "../core/words.ts";
import { LABEL_LENGTH, OUTCOME_LENGTH } from "../store/choices.ts";
import { lengthIn, planWords, type PlanChannel, splitText } from "./plan.ts";

/** An answer in pieces, and what can be pressed below its last text. */
export type Planned = { readonly bodies: readonly PieceBody[]; readonly labels?: readonly string[] };

/**
 * Puts what an agent offers below its answer: as buttons of the last text, or written out and numbered where the channel
 * has none, or not so many. An answer without a text gets a short one.
 */
export function withChoices(
  answer: readonly PieceBody[],
  offered: readonly string[],
  channel: PlanChannel,
): Planned {
  const labels = labelsOf(offered);
  if (labels.length === 0) return { bodies: answer };
  const hasText = answer.some(({ kind }) => kind === "text");
  const bodies = hasText ? answer : [...answer, ...planWords(say("choice.ask"), channel)];
  if (labels.length <= (channel.limits.choices ?? 0)) return { bodies: withRoom(bodies, channel), labels };
  return { bodies: withList(bodies, labels, channel) };
}

/** What was chosen is shown below the question in the same message, which must have room for it. */
function withRoom(bodies: readonly PieceBody[], channel: PlanChannel): readonly PieceBody[] {
  const at = bodies.findLastIndex(({ kind }) => kind === "text");
  const last = bodies[at];
  const room = channel.limits.textLength - OUTCOME_LENGTH;
  if (last?.kind !== "text" || channel.limits.markup || lengthIn(channel, last.rendered) <= room)
    return bodies;
  return bodies.toSpliced(at, 1, ...splitText(last.rendered, channel, room));
}

function withList(
  bodies: readonly PieceBody[],
  labels: readonly string[],
  channel: PlanChannel,
): readonly PieceBody[] {
  const list = planWords(labels.map((label, at) => `${at + 1}. ${label}`).join("\n"), channel);
  const [last, [first]] = [bodies.at(-1), list];
  if (last?.kind !== "text" || first?.kind !== "text" || list.length > 1) return [...bodies, ...list];
  const rendered = join([last.rendered, first.rendered], "\n\n");
  const fits = lengthIn(channel, rendered) <= channel.limits.textLength;
  return fits ? [...bodies.slice(0, -1), { kind: "text", rendered }] : [...bodies, ...list];
}

// Control characters, and what turns text around or ends a line.
const UNSHOWN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\s]+/gu;
/** Labels of nothing else would be refused, and with them all the others. */
const SEEN = /[^\s\p{Default_Ignorable_Code_Point}\u2800\ufffc]/u;

/** Each once, in one line, as far as a button shows it. */
function labelsOf(offered: readonly string[]): readonly string[] {
  const labels = offered.map((label) => shortened(label.replaceAll(UNSHOWN, " ").trim(), LABEL_LENGTH));
  return [...new Set(labels)].filter((label) => SEEN.test(label));
}
