import type { TextBlock } from "../core/blocks.ts";
import type { EditEvent, MessageEvent, ReactionEvent } from "../core/events.ts";
import { oneLine } from "../core/words.ts";
import type { Aside, Correction } from "../store/asides.ts";
import type { Known, KnownMessage } from "../store/inbox.ts";
import { nameOf, originOf, quoted, speakerOf, timeWords } from "./frames.ts";
import { leftOutWords } from "./scheduled.ts";

/** Of a message that was not for the agent it needs no more to know what is talked about. */
const CONTEXT_CHARACTERS = 1_000;
/** A model is asked one thing, and is not to read for minutes what was not said to it. */
const ALL_CONTEXT_CHARACTERS = 20_000;
const SIGN_CHARACTERS = 40;

/** What the agent is told before the messages of a turn: what was said in the group, and what came of earlier messages. */
export function asideBlocks(asides: readonly Aside[]): readonly TextBlock[] {
  const said = asides.flatMap(({ event, speaker }) =>
    event.type === "message" ? [overheard(event, speaker)] : [],
  );
  const notes = asides.flatMap(({ event, speaker }) => {
    switch (event.type) {
      case "message":
        return [];
      case "edited":
        return [editNote(event, speaker)];
      case "deleted":
        return [`[taken back: ${earlier(event.known)}${speaker === undefined ? "" : `, by (${speaker})`}]`];
      case "reaction":
        return [reactionWords(event, speaker)];
      case "scheduled":
        return [leftOutWords(event)];
    }
  });
  const shown = said.slice(fromWhere(said));
  const left = said.length - shown.length + asides.reduce((sum, { leftOut = 0 }) => sum + leftOut, 0);
  const context = [
    ...(said.length === 0 ? [] : [saidBefore(asides)]),
    ...(left === 0 ? [] : [`[${left} ${left === 1 ? "message" : "messages"} before these left out]`]),
    ...shown,
  ];
  const lines = [...context, ...notes];
  return lines.length === 0 ? [] : [{ type: "text", text: lines.join("\n") }];
}

/** What stands over what others have said; in private all of it was for the agent, or for whom it speaks to. */
function saidBefore(asides: readonly Aside[]): string {
  const messages = asides.flatMap(({ event }) => (event.type === "message" ? [event] : []));
  const where = messages.some(({ place }) => place.kind === "group") ? "the group" : "this chat";
  const how = messages.some(wasAnswerable) ? "without an answer of yours" : "not to you";
  return `[said in ${where} before, ${how}; lines with > are their words]`;
}

/** Whether it could have been answered by the agent, and was not: somebody has taken over, or it came too late. */
function wasAnswerable({ addressed, own }: MessageEvent): boolean {
  return addressed || own === true;
}

/** The first of the newest messages that are not too much text together. */
function fromWhere(said: readonly string[]): number {
  let room = ALL_CONTEXT_CHARACTERS;
  return said.findLastIndex((message) => (room -= message.length) < 0) + 1;
}

/** The same of one that came while the agent answers. */
export function correctionWords({ event }: Correction, speaker: number | undefined): string {
  const who =
    event.place.kind === "group" && event.type === "edited" ? ` by ${speakerOf(event.from, speaker)}` : "";
  return event.type === "edited"
    ? `[edited${who} while you answer: their message now says:]\n${quotedContent(event)}`
    : "[taken back while you answer: the message that you answer, or a part of it]";
}

/** What is said before a message that is answered once more. */
export const EDITED_ANEW =
  "[edited: this takes the place of a message that you have answered already; answer it anew]";

/** Somebody's reaction to a message of the agent's. */
export function reactionWords(
  { added, place, from, known }: Known<ReactionEvent>,
  speaker: number | undefined,
): string {
  const signs = added.map((sign) => oneLine(sign).slice(0, SIGN_CHARACTERS).toWellFormed()).join(" ");
  const who = place.kind === "group" ? ` by ${speakerOf(from, speaker)}` : "";
  return `[reaction ${signs}${who} to ${known.newest ? "your last answer" : "an earlier answer of yours"}]`;
}

function editNote({ known, ...event }: Known<EditEvent>, speaker: number | undefined): string {
  const { place, from } = event;
  const who = place.kind === "group" ? ` by ${speakerOf(from, speaker)}` : "";
  return `[edited${who}: ${earlier(known)}, now says:]\n${quotedContent(event)}`;
}

function earlier({ newest, at }: KnownMessage): string {
  const when = timeWords(new Date(at).toISOString()) ?? "before";
  return `${newest ? "the message that you answered last" : "an earlier message"}, from ${when}`;
}

function overheard(event: MessageEvent, speaker: number | undefined): string {
  const { from, forward, own, place, sentAt } = event;
  const origin = forward ? [`forwarded from ${originOf(forward)}`] : [];
  const who = `${own ? "by hand, from the owner of this account, " : "from "}${speakerOf(from, speaker)}`;
  const to = own ? ["to the others"] : event.addressed && place.kind === "group" ? ["to you"] : [];
  const when = wasAnswerable(event) ? [timeWords(sentAt) ?? []].flat() : [];
  return `[${[who, ...to, ...origin, ...when].join(", ")}]\n${quotedContent(event, CONTEXT_CHARACTERS)}`;
}

/** Text line by line as theirs, and media in words. */
function quotedContent({ content }: Pick<MessageEvent, "content">, most = Infinity): string {
  const lines = content.flatMap((part) => {
    if (part.type === "unfetched")
      return [`[${mediaWords(part.declared.label ?? part.kind, part.declared.filename)}]`];
    return part.text.trim() === "" ? [] : [quoted(cut(part.text, most))];
  });
  return lines.length === 0 ? "[nothing]" : lines.join("\n");
}

function mediaWords(kind: string, filename: string | undefined): string {
  return filename === undefined ? nameOf(kind) : `${nameOf(kind)}, ${nameOf(filename)}`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).trimEnd().toWellFormed()} …`;
}
