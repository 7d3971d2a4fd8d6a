import type { Api } from "grammy";
import type { PlatformId, Progress } from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import { pause } from "../../src/core/clock.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import { plainText } from "../../src/core/rendered.ts";
import type { Rendered } from "../../src/core/tree.ts";
import { type GrammySignal, within } from "./deadline.ts";
import { type Failure, failureOf } from "./failures.ts";
import { stopKeyboard } from "./lost-previews.ts";
import type { Pace } from "./pace.ts";
import { entities, messageIn } from "./piece-parameters.ts";
import { actionDestination, destination } from "./place.ts";
import type { Over } from "./presses.ts";
import type { Previews } from "./previews.ts";
import { Recent } from "./recent.ts";
import { isEmpty, isUnchanged } from "./refusals.ts";
import { render } from "./render.ts";
import { isGroup, Showing, wayTo } from "./showing.ts";

// Telegram does not say how often it takes drafts and edits; with these nobody has met its flood control.
const DRAFT_MS = 1_000;
const EDIT_MS = 1_500;
const GROUP_EDIT_MS = 3_500;

const CALL_MS = 10_000;
/** So long does a message that was shown meanwhile wait for its answer. */
const LEFT_MS = 5_000;
const MOST_REMEMBERED = 1_000;

export type LiveParts = {
  readonly api: Api["raw"];
  readonly host: Pick<ChannelHost, "clock">;
  readonly pace: Pace;
  readonly previews: Previews;
  readonly closing: AbortSignal;
};

/**
 * Shows answers while they are written. One request in a chat at a time, no more often than the chat takes; what cannot be
 * shown now is left out, and the newest text is shown next. Nothing is shown once a turn is over, and a message that
 * showed it goes as soon as the answer stands there.
 */
export class Live implements Required<Over> {
  readonly #parts: LiveParts;
  /** By address, those of turns that go on. */
  readonly #showings = new Map<string, Showing>();
  /** Those that are over, and whose message may still stand there. */
  readonly #left = new Set<Showing>();
  /** What is on its way to a chat. It never rejects. */
  readonly #underWay = new Map<string, { readonly what: "text" | "typing"; readonly done: Promise<void> }>();
  /** Messages that are being sent. */
  readonly #sends = new Set<ChatAddress>();
  /** Draft ids and buttons of turns that are over. */
  readonly #over = new Recent<number | string>(MOST_REMEMBERED);
  /** Chats that take no drafts. */
  readonly #draftless = new Recent<string>(MOST_REMEMBERED);

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  /** Resolves when the next may be shown. */
  async show(to: ChatAddress, progress: Progress): Promise<void> {
    if (this.#parts.closing.aborted) return;
    if (progress.kind === "over") return this.#end(to);
    const showing = this.#showings.get(keyOf(to)) ?? new Showing(to);
    this.#showings.set(keyOf(to), showing);
    if (progress.kind === "draft") {
      showing.way ??= wayTo(to, progress.live, !this.#draftless.has(to.chat));
      showing.want(progress.tree ? render(progress.tree()) : plainText(progress.text));
    }
    await this.#go(showing);
  }

  isOver(draftId: number): boolean {
    return this.#over.has(draftId);
  }

  isOverButton(data: string): boolean {
    return this.#over.has(data);
  }

  /** Sends a message: nothing that was shown before comes behind it, and what is over goes when it stands there. */
  async around(to: ChatAddress, send: () => Promise<readonly PlatformId[]>): Promise<readonly PlatformId[]> {
    const { previews } = this.#parts;
    const sending = { ...to };
    this.#sends.add(sending);
    let isSent = false;
    try {
      await this.settled(to);
      const lost = previews.lost();
      const ids = await send();
      isSent = true;
      previews.sent(to, ids, lost);
      return ids;
    } finally {
      this.#sends.delete(sending);
      for (const showing of this.#left)
        if (keyOf(showing.to) === keyOf(to) && (isSent || showing.isLate)) void this.#takeAway(showing);
    }
  }

  /** Resolves when no text is on its way to the chat. */
  async settled({ chat }: ChatAddress): Promise<void> {
    const underWay = this.#underWay.get(chat);
    if (underWay?.what === "text") await underWay.done;
  }

  /** `closing` has cut off what was on its way. */
  async close(): Promise<void> {
    for (const { over } of this.#showings.values()) over.abort();
    for (const { waiting } of this.#left) waiting?.cancel();
    await Promise.all([...this.#underWay.values()].map(({ done }) => done));
  }

  #end(to: ChatAddress): void {
    const showing = this.#showings.get(keyOf(to));
    if (!showing) return;
    this.#showings.delete(keyOf(to));
    showing.over.abort();
    this.#over.add(showing.draftId);
    this.#over.add(showing.button);
    if (showing.message === undefined && !this.#underWay.has(to.chat)) return;
    this.#left.add(showing);
    showing.waiting = this.#parts.host.clock.after(LEFT_MS, () => {
      showing.isLate = true;
      const isSending = [...this.#sends].some((sending) => keyOf(sending) === keyOf(to));
      if (!isSending) void this.#takeAway(showing);
    });
  }

  async #takeAway(showing: Showing): Promise<void> {
    showing.waiting?.cancel();
    this.#left.delete(showing);
    // An edit that is on its way must not find the message gone, and its message may be on its way itself.
    await this.#underWay.get(showing.to.chat)?.done;
    if (showing.message !== undefined) await this.#parts.previews.remove(showing.to, [showing.message]);
  }

  async #go(showing: Showing): Promise<void> {
    const { host, pace } = this.#parts;
    const { to, over } = showing;
    const underWay = this.#underWay.get(to.chat);
    if (underWay) return await underWay.done;
    const now = host.clock.now();
    const what = showing.next(now);
    if (what === undefined) return;
    const isSending = [...this.#sends].some(({ chat }) => chat === to.chat);
    const isReady = what === "typing" ? pace.spareAt(to) <= now : this.#readyAt(showing) <= now;
    if (isReady && !isSending) {
      pace.took(to);
      const done = what === "text" ? this.#showText(showing) : this.#showTyping(showing);
      this.#underWay.set(to.chat, { what, done });
      await done;
      this.#underWay.delete(to.chat);
    }
    if (what === "text") await pause(host.clock, this.#readyAt(showing) - host.clock.now(), over.signal);
  }

  #readyAt(showing: Showing): number {
    return Math.max(showing.readyAt, this.#parts.pace.spareAt(showing.to));
  }

  async #showTyping(showing: Showing): Promise<void> {
    const { api, host, pace, closing } = this.#parts;
    showing.typed(host.clock.now());
    const where = actionDestination(showing.to);
    if (!where) return;
    try {
      const action = { ...where, action: "typing" } as const;
      await within(host.clock, CALL_MS, closing, (signal) => api.sendChatAction(action, signal));
    } catch (thrown) {
      const failure = failureOf(thrown);
      // A sign of life is worth no more than one try.
      if (failure.kind === "refused" && failure.retryAfterMs !== undefined)
        pace.blocked(showing.to, failure.retryAfterMs);
    }
  }

  async #showText(showing: Showing): Promise<void> {
    const { host, pace, closing } = this.#parts;
    const { wanted, to, way } = showing;
    let failure: Failure | undefined;
    try {
      await within(host.clock, CALL_MS, closing, (signal) => this.#call(showing, wanted, signal));
      pace.passed();
    } catch (thrown) {
      failure = failureOf(thrown);
    }
    const now = host.clock.now();
    // Telegram takes other signs for blanks than we do.
    if (!failure || isUnchanged(failure) || isEmpty(failure)) showing.shown(wanted, now);
    else this.#failed(showing, failure);
    showing.readyAt = now + (way === "draft" ? DRAFT_MS : isGroup(to) ? GROUP_EDIT_MS : EDIT_MS);
    // The chat takes no drafts, which was not known.
    if (way === "draft" && showing.way === "edit" && !showing.over.signal.aborted)
      await this.#showText(showing);
  }

  async #call(showing: Showing, wanted: Rendered, signal: GrammySignal): Promise<void> {
    const { api, previews } = this.#parts;
    const { to, draftId, button, message } = showing;
    const text = { text: wanted.text, ...entities("entities", wanted) };
    if (showing.way === "draft") {
      const draft = { ...destination(to), draft_id: draftId, ...text, can_stop: true };
      await api.sendMessageDraft(draft, signal);
      return;
    }
    const body = {
      ...text,
      link_preview_options: { is_disabled: true },
      reply_markup: stopKeyboard(button),
    };
    if (message !== undefined) {
      await api.editMessageText({ ...messageIn(to, message), ...body }, signal);
      return;
    }
    // The answer makes the sound.
    const where = { ...destination(to), disable_notification: true };
    showing.message = await previews.send(
      to,
      button,
      async () => (await api.sendMessage({ ...where, ...body }, signal)).message_id,
    );
  }

  #failed(showing: Showing, failure: Failure): void {
    const { to, way, message } = showing;
    switch (failure.kind) {
      case "not written":
      case "no file":
        return;
      case "unknown":
        // Where it may stand there, a second one must not.
        if (way === "edit" && message === undefined) showing.way = "none";
        return;
      case "refused":
        if (failure.retryAfterMs !== undefined) return this.#parts.pace.blocked(to, failure.retryAfterMs);
        if (way === "draft" && (failure.code === 404 || /TEXTDRAFT_/.test(failure.description))) {
          this.#draftless.add(to.chat);
          showing.way = "edit";
          return;
        }
        // Its answer will tell why.
        showing.way = "none";
    }
  }
}

function keyOf({ chat, topic = "" }: ChatAddress): string {
  return `${chat}/${topic}`;
}
