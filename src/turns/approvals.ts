import type { ApprovalDesk, Answerer, WishOutcome } from "../core/approvals.ts";
import type { TextBlock } from "../core/blocks.ts";
import { argumentLines } from "../core/call-words.ts";
import type { ChannelFront } from "../core/channel.ts";
import { messageIdOf, type ThreadId } from "../core/identity.ts";
import { type Language, say } from "../core/sentences.ts";
import { untilWords } from "../core/until-words.ts";
import { inQuotes } from "../core/words.ts";
import { type Lapsed, noteApproval, notedBy, type Wish } from "../store/approvals.ts";
import { languageOfChat, privateChatOf } from "../store/chats.ts";
import type { TurnEffects } from "../store/effects.ts";
import type { NewPiece, Offered } from "../store/pieces.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { nameOf } from "./frames.ts";
import { languageIn } from "./local.ts";
import type { TurnParts } from "./parts.ts";

const MINUTE_MS = 60_000;

/** Where the calls of a turn are put off that wait for somebody's yes. */
export function approvalDesk(parts: TurnParts, turn: ClaimedTurn, effects: TurnEffects): ApprovalDesk {
  const { clock, owners } = parts;
  return {
    async ask({ call, step, result, tool, args, who: wanted, minutes }) {
      const owned = (await owners(turn.channel)).length > 0;
      const { from, place } = lastEvent(turn);
      // Nobody has asked for what a schedule does.
      const asker = from.id === "" ? "anyone" : "asker";
      const wished = wanted ?? (owned ? "owner" : "asker");
      const who: Answerer = wished === "asker" ? asker : wished;
      if (who === "owner" && !owned) return "nobody";
      let outcome: WishOutcome = "asked";
      await effects.putOff(call, step, result, async (trx) => {
        const noted = await noteApproval(trx, {
          chat: turn.hold.chat,
          thread: turn.thread,
          agent: turn.agent,
          message: messageIdOf(turn.intent),
          call,
          tool,
          args,
          who,
          person: from.id,
          asker: nameOf(from.name),
          place,
          minutes,
          now: clock.now(),
        });
        outcome = noted === "noted" ? "asked" : noted;
        return noted === "noted";
      });
      return outcome;
    },
  };
}

/** A question for each call that a turn has put off, to be sent behind its answer. */
export async function questionsOf(
  parts: TurnParts,
  turn: ClaimedTurn,
  channel: ChannelFront,
  firstSeq: number,
): Promise<readonly NewPiece[]> {
  const { database, clock } = parts;
  const wishes = await notedBy(database.db, { thread: turn.thread, message: messageIdOf(turn.intent) });
  const now = clock.now();
  const pieces: NewPiece[] = [];
  for (const wish of wishes) {
    const there = await whereToAsk(parts, turn, wish);
    const language = there.away ? await languageOfChat(database.db, there.chat) : languageIn(turn);
    const offered = offer(channel, wish, {
      thread: turn.thread,
      expiresAt: now + wish.minutes * MINUTE_MS,
      language,
    });
    const bodies = parts.pieces.call(
      channel,
      wordsOf(parts, turn, wish, { ...offered, away: there.away, language }),
    );
    // It is one text, or its last one has the buttons.
    const last = bodies.length - 1;
    for (const [at, body] of bodies.entries())
      pieces.push({
        chat: there.chat,
        to: there.to,
        turn: turn.id,
        seq: firstSeq + pieces.length,
        body,
        ...(at === last ? { choices: offered } : {}),
      });
  }
  return pieces;
}

function offer(
  { limits }: ChannelFront,
  { id, who, person }: Wish,
  {
    thread,
    expiresAt,
    language,
  }: { readonly thread: ThreadId; readonly expiresAt: number; readonly language: Language },
): Offered & { readonly expiresAt: number } {
  const labels = [say("approval.allow", language), say("approval.refuse", language)];
  return {
    labels: (limits.choices ?? 0) < labels.length ? [] : labels,
    person: who === "asker" ? person : "",
    waits: { thread, approval: id },
    expiresAt,
  };
}

/** What the owner alone decides they are asked in their own chat, where the agent speaks to somebody else in private. */
async function whereToAsk(
  { database, owners }: TurnParts,
  turn: ClaimedTurn,
  { who, person }: Wish,
): Promise<Pick<NewPiece, "chat" | "to"> & { readonly away: boolean }> {
  const here = { chat: turn.hold.chat, to: turn.to, away: false };
  if (who !== "owner" || lastEvent(turn).place.kind === "group") return here;
  const ids = await owners(turn.channel);
  if (ids.includes(person)) return here;
  const place = await privateChatOf(database.db, turn.channel, ids, "known");
  return place && place.chat !== here.chat ? { chat: place.chat, to: place.to, away: true } : here;
}

function wordsOf(
  { timeZone }: TurnParts,
  turn: ClaimedTurn,
  { tool, args, who }: Wish,
  asked: ReturnType<typeof offer> & { readonly away: boolean; readonly language: Language },
): { readonly before: string; readonly code: string; readonly after: string } {
  const { labels, expiresAt, away, language } = asked;
  const { from } = lastEvent(turn);
  const name = inQuotes(nameOf(from.name));
  const asks = { agent: inQuotes(turn.agent), tool: inQuotes(tool), name };
  const lines = argumentLines(args);
  return {
    before: say(away ? "approval.asks_for" : "approval.asks", language, asks),
    code: lines === "" ? say("approval.no_arguments", language) : lines,
    after: say(labels.length === 0 ? "approval.how_in_words" : "approval.how", language, {
      who: say(`approval.by_${who}`, language, { name }),
      until: untilWords(expiresAt, language, timeZone()),
    }),
  };
}

function lastEvent({ messages }: ClaimedTurn): ClaimedTurn["messages"][number]["event"] {
  return messages.at(-1)!.event; // a turn is of at least one
}

/** What the agent is told of a call that is made now; its result follows by itself. */
export function approvedBlock({ tool, by }: { readonly tool: string; readonly by: string }): TextBlock {
  const what = `your call of ${inQuotes(tool)} that waited for approval is made now, and its result follows`;
  return { type: "text", text: `[allowed by ${nameOf(by)}: ${what}; tell what came of it]` };
}

/** What the agent is told of calls that came to nothing. */
export function lapsedBlocks(lapsed: readonly Lapsed[]): readonly TextBlock[] {
  if (lapsed.length === 0) return [];
  return [{ type: "text", text: lapsed.map(lapsedLine).join("\n") }];
}

function lapsedLine({ tool, state, by }: Lapsed): string {
  const what = `your call of ${inQuotes(tool)} that waited for approval was not made`;
  switch (state) {
    case "refused":
      return `[refused by ${nameOf(by)}: ${what}; do not call it again unless you are asked to]`;
    case "expired":
      return `[not answered in time: ${what}]`;
    case "stopped":
      return `[stopped: ${what}, though it was allowed]`;
    case "cut off":
      return `[allowed by ${nameOf(by)}: your call of ${inQuotes(tool)} that waited for approval, but the turn that was to make it was cut off; where no result of it stands above, find out whether it took effect before you call it again]`;
    case "withdrawn":
      return `[never asked: ${what}, because its turn came to nothing]`;
  }
}
