import type { Channel, KnownAround, Piece, PlatformId, Whereabouts } from "../core/channel.ts";
import type { Clock } from "../core/clock.ts";
import { asError, GatewayError } from "../core/errors.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Database } from "../store/database.ts";
import type { DeliveryHold } from "../store/delivery-holds.ts";
import { type OpenPiece, piecesInDoubt } from "../store/pieces.ts";
import { endPiece, noteSearch, replanPiece } from "../store/sending.ts";
import { knownAround, otherTopicsWritten } from "../store/sent.ts";
import { asPlanned, asSent, attemptOf } from "./as-sent.ts";
import { backOffMs, GIVE_UP_MS, MOST_ATTEMPTS } from "./attempts.ts";
import { answered, EFFECT_MS } from "./cut-off.ts";

/** A search whose own outcome is lost is made again after this. */
const SEARCH_AGAIN_MS = 2_000;
/** What could not be found out for so long is left as it is. */
const MOST_DOUBT_MS = 24 * 3_600_000;
const UNKNOWN = "unknown outcome";

export type Reconcile = {
  /**
   * Decides what becomes of a piece whose sending has no known outcome. Gives the time (epoch ms) to come again where the
   * platform cannot be asked now.
   */
  lost(open: OpenPiece, channel: Channel): Promise<number | undefined>;
  /**
   * Looks for pieces that were left as unknown, where something was sent since then. Gives the time to come again where the
   * platform cannot be asked now, and whether any is left.
   */
  doubts(
    chat: ChatId,
    hold: DeliveryHold | undefined,
  ): Promise<{ readonly at?: number; readonly left: boolean }>;
};

/** What is known of a piece. Where "unknown" is final, nothing that comes later will tell more. */
type Standing =
  | { readonly kind: "stands"; readonly ids: readonly PlatformId[] }
  | { readonly kind: "absent" }
  | { readonly kind: "unknown"; readonly final: boolean }
  | { readonly kind: "wait"; readonly at: number };

/**
 * What becomes of a send whose answer was lost, or in which a process ended. A repeat that has no second effect is simply
 * made. Else the platform is searched, if it can be, between what came before and what came later: a piece that stands
 * there is sent, and one that certainly does not goes out as if for the first time. Where nothing came later, a text is
 * sent once more, marked, for a missing answer is worse than a double one; the first one can only stand before that, and
 * if it does the second is taken back. Media are not sent on a guess: once something was sent behind them they are looked
 * for again, and go out late if they are not there.
 */
export function reconcile(by: {
  readonly database: Database;
  readonly channel: (id: ChannelId) => Channel | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly cutOff: AbortSignal;
}): Reconcile {
  const { database, clock, log } = by;

  async function lost(open: OpenPiece, channel: Channel): Promise<number | undefined> {
    // To put a text in the place of a message twice changes nothing.
    if (channel.idempotent || open.replaces !== "") {
      await sendAgain(open);
      return undefined;
    }
    const standing = await look(open, channel);
    switch (standing.kind) {
      case "wait":
        return standing.at;
      case "stands":
        await stands(open, standing.ids);
        return undefined;
      case "absent":
        await replanPiece(database, open.id, { notBefore: 0, error: UNKNOWN, again: false }, open.hold);
        return undefined;
      case "unknown":
        if (open.body.kind === "text" && !open.again)
          await replanPiece(database, open.id, { notBefore: 0, error: UNKNOWN, again: true }, open.hold);
        else await leave(open, { inDoubt: !standing.final });
        return undefined;
    }
  }

  async function sendAgain(open: OpenPiece): Promise<void> {
    if (open.attempts >= MOST_ATTEMPTS) return await leave(open, { inDoubt: false });
    const notBefore = open.attempts < 2 ? 0 : clock.now() + backOffMs(open.attempts - 2);
    await replanPiece(database, open.id, { notBefore, error: UNKNOWN }, open.hold);
  }

  async function doubts(
    chat: ChatId,
    hold: DeliveryHold | undefined,
  ): Promise<{ readonly at?: number; readonly left: boolean }> {
    let left = false;
    for (const open of await piecesInDoubt(database, chat, hold)) {
      const now = clock.now();
      if (open.notBefore > now && open.endedAt <= now) return { at: open.notBefore, left: true };
      const channel = by.channel(open.to.channel);
      const old = now - open.endedAt > MOST_DOUBT_MS;
      const standing = channel && !old ? await look(open, channel) : notKnown(old);
      switch (standing.kind) {
        case "wait":
          return { at: standing.at, left: true };
        case "stands":
          await stands(open, standing.ids);
          break;
        case "absent":
          await sendLate(open);
          break;
        case "unknown":
          if (!standing.final) left = true;
          else if (open.ids.length > 0) await stands(open, open.ids);
          else await leave(open, { inDoubt: false });
      }
    }
    return { left };
  }

  /** Searches the platform, if what is recorded around the piece says where. */
  async function look(open: OpenPiece, channel: Channel): Promise<Standing> {
    if (!channel.find || open.attempts >= MOST_ATTEMPTS) return notKnown(true);
    const { certain, ...known } = await boundsOf(open);
    if (known.before.length === 0) return notKnown(true);
    // What was left as unknown is looked for once, where that is sure to tell.
    if (known.after.length === 0 || (open.state === "unknown" && !certain)) return notKnown(false);
    // A search tries what stands there, and must not try what stands in another topic.
    if (await otherTopicsWritten(database, open)) return notKnown(certain);
    await noteSearch(
      database,
      open.id,
      { attempts: open.attempts + 1, notBefore: open.notBefore },
      open.hold,
    );
    const whereIs = (piece: Piece, around: KnownAround): Promise<Whereabouts> =>
      answered(by, async (signal) => {
        const where = await channel.find?.(piece, attemptOf(open), around, signal);
        return where ?? { kind: "unknown" };
      });
    try {
      const first = await whereIs(asPlanned(open), known);
      if (!open.again) return first.kind === "found" ? stoodThere(first) : missed(certain, first);
      // The second stands behind the first, which is not to be taken for it.
      const around = first.kind === "found" ? { ...known, before: first.ids } : known;
      const second = recorded(open) ?? (await whereIs(asSent(open), around));
      if (first.kind !== "found")
        return second.kind === "found" ? stoodThere(second) : missed(certain, first, second);
      if (second.kind === "found")
        await answered(by, async (signal) => channel.takeBack?.(open.to, second.ids, signal));
      return stoodThere(first);
    } catch (thrown) {
      return await notSearched(open, asError(thrown), notKnown(certain));
    }
  }

  /** Between which messages it stands, if it does. */
  async function boundsOf(open: OpenPiece): Promise<KnownAround & { readonly certain: boolean }> {
    const { to, begunAt } = open;
    const overAt = open.state === "unknown" ? open.endedAt : begunAt + EFFECT_MS;
    const around = await knownAround(database, { to, begunAt, overAt });
    return open.ids.length > 0 ? { ...around, after: open.ids, certain: true } : around;
  }

  async function notSearched(open: OpenPiece, error: Error, otherwise: Standing): Promise<Standing> {
    const { code, retryAfterMs } = error instanceof GatewayError ? error : {};
    log.warn({ chat: open.chat, piece: open.id, err: error }, "a piece could not be looked for");
    if (code === "send.refused" || code === "send.chat_closed") return otherwise;
    const now = clock.now();
    // A platform that is not reached for long is no reason to search for less.
    const reached = code !== "send.not_written";
    if (!reached && now - open.createdAt > GIVE_UP_MS) return otherwise;
    const attempts = open.attempts + (reached ? 1 : 0);
    const at = now + (retryAfterMs ?? (code ? backOffMs(open.attempts) : SEARCH_AGAIN_MS));
    await noteSearch(database, open.id, { attempts, notBefore: at }, open.hold);
    return { kind: "wait", at };
  }

  async function stands(open: OpenPiece, ids: readonly PlatformId[]): Promise<void> {
    await endPiece(database, open.id, { state: "sent", ids, now: clock.now() }, open.hold);
  }

  async function leave(open: OpenPiece, { inDoubt }: { readonly inDoubt: boolean }): Promise<void> {
    log.warn({ chat: open.chat, piece: open.id, inDoubt }, "it is not known whether a piece was sent");
    const end = { state: "unknown", error: UNKNOWN, now: clock.now() } as const;
    await endPiece(database, open.id, inDoubt ? { ...end, inDoubt } : end, open.hold);
  }

  /** It never arrived, and what was planned behind it has gone out meanwhile: now it is the last. */
  async function sendLate(open: OpenPiece): Promise<void> {
    const { id, chat, to, turn, seq, body, replyTo } = open;
    const further = { chat, to, turn, seq, body, ...(replyTo === "" ? {} : { replyTo }) };
    await endPiece(
      database,
      id,
      { state: "cancelled", error: UNKNOWN, now: clock.now(), further },
      open.hold,
    );
  }

  return { lost, doubts };
}

/** Where a piece stands that went once more. */
function recorded({ ids }: OpenPiece): Whereabouts | undefined {
  return ids.length > 0 ? { kind: "found", ids } : undefined;
}

function stoodThere({ ids }: Extract<Whereabouts, { kind: "found" }>): Standing {
  return { kind: "stands", ids };
}

function missed(certain: boolean, ...searched: readonly Whereabouts[]): Standing {
  return certain && searched.every(({ kind }) => kind === "absent") ? { kind: "absent" } : notKnown(certain);
}

function notKnown(final: boolean): Standing {
  return { kind: "unknown", final };
}
