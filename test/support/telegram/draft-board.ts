import type { Clock } from "../../../src/core/clock.ts";
import type { Draft } from "./sent-log.ts";

const DRAFT_MS = 30_000; // Bot API sendMessageDraft: a 30-second preview

/** What private chats show while the bot writes: one draft in a chat and topic, for 30 s or until a message is sent. */
export class DraftBoard {
  readonly #clock: Clock;
  readonly #shown = new Map<string, Draft>();
  readonly #stopped = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A draft that a person has stopped is not shown again. */
  show(draft: Draft): void {
    const place = placeOf(draft);
    if (this.#stopped.get(place) === draft.draftId) return;
    this.#shown.delete(place); // so that the newest is the last
    this.#shown.set(place, draft);
  }

  shown(chatId: number, threadId: number | undefined): Draft | undefined {
    const draft = this.#shown.get(placeOf({ chatId, threadId }));
    return draft && this.#clock.now() - draft.at < DRAFT_MS ? draft : undefined;
  }

  /** All that a chat shows, in whatever topic, the newest last. */
  inChat(chatId: number): readonly Draft[] {
    return [...this.#shown.values()].filter(
      (draft) => draft.chatId === chatId && this.shown(chatId, draft.threadId),
    );
  }

  /** A message was sent. */
  end(chatId: number, threadId: number | undefined): void {
    const place = placeOf({ chatId, threadId });
    this.#shown.delete(place);
    this.#stopped.delete(place);
  }

  /** A person pressed Stop. @throws Error when there is no such button. */
  stop(chatId: number, threadId: number | undefined, draftId: number): void {
    const draft = this.shown(chatId, threadId);
    if (draft?.draftId !== draftId || !draft.canStop) {
      throw new Error(`chat ${chatId} shows no draft ${draftId} with a Stop button`);
    }
    const place = placeOf(draft);
    this.#stopped.set(place, draftId);
    if (draft.keepOnStop) this.#shown.set(place, { ...draft, canStop: false });
    else this.#shown.delete(place);
  }
}

function placeOf({ chatId, threadId }: Pick<Draft, "chatId" | "threadId">): string {
  return `${chatId}/${threadId ?? ""}`;
}
