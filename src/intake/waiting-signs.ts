import type { Channel, ChannelFront, PieceBody } from "../core/channel.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { ChannelId, ChatAddress, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import { say } from "../core/sentences.ts";
import { languageOfChat } from "../store/chats.ts";
import { ANSWER_WITHIN_MS, choiceKey, insertQuestion } from "../store/choices.ts";
import type { Database } from "../store/database.ts";
import { insertPieces } from "../store/pieces.ts";
import { markSigned, stillWaits } from "../store/signs.ts";
import type { Queries } from "../store/tables.ts";
import type { SignedMessage } from "./about.ts";

/** What is taken up within this is not worth a sign that goes at once. */
const PATIENCE_MS = 1_000;
/** Every platform that has reactions at all allows this one. */
const SIGN = "👀";

type SignParts = {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** One that is open in this process, where its messages are taken in. */
  readonly channel: (id: ChannelId) => Channel | undefined;
  /** One that is open anywhere: whoever takes a message up may be elsewhere. */
  readonly front: (id: ChannelId) => Pick<ChannelFront, "react"> | undefined;
  readonly words: (channel: ChannelId, text: string) => readonly PieceBody[];
  readonly deliver: (chat: ChatId) => void;
  /** Aborts when nothing more is to be shown. */
  readonly closing: AbortSignal;
};

/** Shows whoever waits that they were heard, and takes that back when it is their turn. Nothing here is worth a failure. */
export class WaitingSigns {
  readonly #parts: SignParts;
  readonly #timers = new Set<Timer>();
  /** By place and message, so that a sign is never taken back before it was shown. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(parts: SignParts) {
    this.#parts = parts;
    parts.closing.addEventListener("abort", () => {
      for (const timer of this.#timers) timer.cancel();
      this.#timers.clear();
    });
  }

  /** Shows it once the message has waited for a moment; at most once a message, also after a restart. */
  show(waiting: SignedMessage): void {
    const { clock, closing } = this.#parts;
    if (closing.aborted) return;
    const timer = clock.after(waiting.at - clock.now() + PATIENCE_MS, () => {
      this.#timers.delete(timer);
      this.#inTurn(waiting.to, waiting.ref, () => this.#show(waiting));
    });
    this.#timers.add(timer);
  }

  /** The messages do not wait any more. */
  takeBack(to: ChatAddress, refs: readonly string[]): void {
    const { front, closing } = this.#parts;
    for (const ref of refs)
      this.#inTurn(to, ref, async () => await front(to.channel)?.react?.(to, ref, undefined, closing));
  }

  async #show(waiting: SignedMessage): Promise<void> {
    const { database, channel, closing, deliver } = this.#parts;
    const { chat, row, to, ref, as } = waiting;
    const open = channel(to.channel);
    if (!open || (as === "reaction" && !open.react)) return;
    const shown = await database.db.transaction().execute(async (trx) => {
      if (!(await markSigned(trx, { chat, row, sign: as }))) return false;
      if (as === "line") await this.#plan(trx, waiting, (open.limits.choices ?? 0) > 0);
      return true;
    });
    if (!shown) return;
    if (as === "line") return deliver(chat);
    await open.react?.(to, ref, SIGN, closing);
    // Another process has taken it up meanwhile, and may have taken back what was not shown yet.
    if (!(await stillWaits(database.db, row))) await open.react?.(to, ref, undefined, closing);
  }

  async #plan(trx: Queries, waiting: SignedMessage, presses: boolean): Promise<void> {
    const { clock, words } = this.#parts;
    const { chat, row, to, ref } = waiting;
    const language = await languageOfChat(trx, chat);
    const [body] = words(to.channel, say("waiting.line", language));
    if (body?.kind !== "text") return;
    const now = clock.now();
    const choice = { key: choiceKey(), label: say("waiting.cancel", language) };
    const asking = presses ? { ...body, choices: [choice] } : body;
    await insertPieces(trx, [{ chat, to, turn: 0, seq: 0, body: asking, replyTo: ref }], now);
    if (!presses) return;
    await insertQuestion(trx, {
      chat,
      // Whether whoever presses it may, the message says.
      person: "",
      subject: String(row),
      rendered: body.rendered,
      choices: [{ ...choice, means: "cancel" }],
      expiresAt: now + ANSWER_WITHIN_MS,
    });
  }

  #inTurn({ channel, chat }: ChatAddress, ref: string, work: () => Promise<void>): void {
    const key = JSON.stringify([channel, chat, ref]);
    const before = this.#underWay.get(key) ?? Promise.resolve();
    const done = before
      .then(work)
      .catch((err: unknown) => {
        this.#parts.log.debug({ channel, err }, "a sign of waiting could not be shown");
      })
      .finally(() => {
        if (this.#underWay.get(key) === done) this.#underWay.delete(key);
      });
    this.#underWay.set(key, done);
  }
}
