import type { Message, Update } from "grammy/types";
import type { Account } from "./account.ts";
import type { Outcomes } from "./outcomes.ts";
import type { Call } from "./request.ts";
import type {
  BotReaction,
  CallbackAnswer,
  ChatAction,
  Deletion,
  Draft,
  Edit,
  GuestAnswer,
  Happening,
  SentMessage,
} from "./sent-log.ts";

/** What the bot did, and waiting for it. With `keepLast` only the newest of each kind are here. */
export class Watching {
  readonly #account: Account;
  readonly #outcomes: Outcomes;

  constructor(account: Account, outcomes: Outcomes) {
    this.#account = account;
    this.#outcomes = outcomes;
  }

  get sent(): readonly SentMessage[] {
    return this.#account.log.sent.items;
  }

  get edits(): readonly Edit[] {
    return this.#account.log.edits.items;
  }

  get deletions(): readonly Deletion[] {
    return this.#account.log.deletions.items;
  }

  get chatActions(): readonly ChatAction[] {
    return this.#account.log.chatActions.items;
  }

  get drafts(): readonly Draft[] {
    return this.#account.log.drafts.items;
  }

  get callbackAnswers(): readonly CallbackAnswer[] {
    return this.#account.log.callbackAnswers.items;
  }

  get guestAnswers(): readonly GuestAnswer[] {
    return this.#account.log.guestAnswers.items;
  }

  /** Those of the bot. */
  get reactions(): readonly BotReaction[] {
    return this.#account.log.reactions.items;
  }

  /** Every call of a known method with the right token, also those that were refused or dropped. */
  get calls(): readonly Call[] {
    return this.#account.log.calls.items;
  }

  sentTo(chatId: number): readonly SentMessage[] {
    return this.sent.filter((message) => message.chatId === chatId);
  }

  editsOf(chatId: number, messageId: number): readonly Edit[] {
    return this.edits.filter((edit) => edit.chatId === chatId && edit.messageId === messageId);
  }

  /** What a message of the bot has said, from its sending on. */
  history(
    chatId: number,
    messageId: number,
  ): readonly { readonly at: number; readonly text: string | undefined }[] {
    const sent = this.sentTo(chatId)
      .filter((message) => message.messageId === messageId)
      .map(({ at, text, caption, rich }) => ({ at, text: text ?? caption ?? rich?.text }));
    return [...sent, ...this.editsOf(chatId, messageId).map(({ at, text }) => ({ at, text }))];
  }

  /** What stands in a chat now, of people and of the bot, after edits and deletions. */
  shown(chatId: number): readonly Message[] {
    return [...this.#account.find(chatId).messages.values()].toSorted((a, b) => a.message_id - b.message_id);
  }

  /** The text of the newest draft that a private chat shows now; 30 s or a sent message end it. */
  draftIn(chatId: number): string | undefined {
    return this.draftShown(chatId)?.text;
  }

  draftShown(chatId: number): Draft | undefined {
    return this.#account.drafts.inChat(chatId).at(-1);
  }

  /** What the bot has not confirmed. */
  pending(): readonly Update[] {
    return this.#account.queue.pending();
  }

  /**
   * How calls ended, of one method or of all: "ok", the code of a refusal, or the fault that the client met
   * ("drop after", "html 502 before", "cut"). Polls whose client hung up count as "client gone".
   */
  outcomes(method?: string): Readonly<Record<string, number>> {
    return this.#outcomes.counts(method);
  }

  /** What a chat saw the bot do, in the order in which it came: messages, edits, deletions and drafts. */
  timeline(chatId: number): readonly Happening[] {
    return this.#account.log.timeline.items.filter((item) => item.chatId === chatId);
  }

  // Waiting: by event; rejects after 20 s of real time and says what there was instead.

  /** The next message that is accepted after this call. */
  nextSent(matches: (message: SentMessage) => boolean = () => true): Promise<SentMessage> {
    const { log } = this.#account;
    return log.first(log.sent, log.sent.count, matches, "a sent message");
  }

  /** The first message of all that matches: now, or as soon as there is one. */
  sentMatching(matches: (message: SentMessage) => boolean): Promise<SentMessage> {
    const { log } = this.#account;
    return log.first(log.sent, 0, matches, "a sent message that matches");
  }

  /** All messages of a chat, once there are at least `count`. */
  async untilSent(chatId: number, count: number): Promise<readonly SentMessage[]> {
    await this.until(() => this.sentTo(chatId).length >= count, `message ${count} to chat ${chatId}`);
    return this.sentTo(chatId);
  }

  nextEdit(matches: (edit: Edit) => boolean = () => true): Promise<Edit> {
    const { log } = this.#account;
    return log.first(log.edits, log.edits.count, matches, "an edit that matches");
  }

  nextDraft(matches: (draft: Draft) => boolean = () => true): Promise<Draft> {
    const { log } = this.#account;
    return log.first(log.drafts, log.drafts.count, matches, "a draft that matches");
  }

  /** The next call that arrives after this one; its effects may still be to come. */
  nextCall(matches: (call: Call) => boolean): Promise<Call> {
    const { log } = this.#account;
    return log.first(log.calls, log.calls.count, matches, "a call that matches");
  }

  /** The next action or draft, whatever its kind. */
  nextProgress(): Promise<void> {
    const { chatActions, drafts } = this.#account.log;
    const before = chatActions.count + drafts.count;
    return this.until(() => chatActions.count + drafts.count > before, "a chat action or draft");
  }

  /** Resolves when `holds` does, looked at whenever the bot has done something. */
  until(holds: () => boolean, wanted: string): Promise<void> {
    return this.#account.log.until(holds, wanted);
  }
}
