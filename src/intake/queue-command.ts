import { DURINGS, type During } from "../core/rules.ts";
import { type Language, say } from "../core/sentences.ts";
import { agoWords, inQuotes, oneLine, shortened } from "../core/words.ts";
import { laneOf, wishDuring } from "../store/lane.ts";
import { shownWaiting, type WaitingShown } from "../store/queued.ts";
import { type About, answer, isOwner, languageIn, rulesFor } from "./about.ts";
import { duringIn } from "./during.ts";
import { waitingRules } from "./waiting-rules.ts";

/** Of one answer: so many lines are read in a chat. */
const MOST_LINES = 20;
const NAME_LENGTH = 40;

/** `/queue`: tells what waits and what becomes of messages meanwhile, or has that changed for the chat. */
export async function queue(about: About, agent: string, wish: string | undefined): Promise<void> {
  const { trx, chat, event, now } = about;
  const language = await languageIn(about);
  if (wish === undefined) {
    const mode = await modeOf(about, agent);
    const waits = waitsWords(await shownWaiting(trx, chat), now, language);
    return await answer(about, "queue.body", { mode: say(`queue.${mode}`, language), waits });
  }
  const wished = wish === "default" ? "" : DURINGS.find((mode) => mode === wish);
  if (wished === undefined) return await answer(about, "queue.how");
  if (event.place.kind === "group" && !isOwner(about)) return await answer(about, "command.owner_only");
  await wishDuring(trx, chat, wished);
  return await answer(about, "queue.set", { mode: say(`queue.${await modeOf(about, agent)}`, language) });
}

/** What becomes of messages here; the rules hold where nothing was wished for. */
async function modeOf(about: About, agent: string): Promise<During> {
  const { trx, chat, event, now } = about;
  const rules = rulesFor(about);
  if (!rules) return "queue"; // of a connection without rules no command is done
  return duringIn(about, agent, await laneOf(trx, chat, now), waitingRules(event.place, rules));
}

function waitsWords(waiting: readonly WaitingShown[], now: number, language: Language): string {
  if (waiting.length === 0) return say("queue.nothing", language);
  const lines = waiting.slice(0, MOST_LINES).map(({ id, name, receivedAt }) =>
    say("queue.line", language, {
      number: id,
      name: inQuotes(shortened(oneLine(name), NAME_LENGTH)),
      ago: agoWords(now - receivedAt),
    }),
  );
  const left = waiting.length - lines.length;
  const all = left > 0 ? [...lines, say("queue.more", language, { count: left })] : lines;
  return say("queue.waits", language, { count: waiting.length, lines: all.join("\n") });
}
