import { createHash } from "node:crypto";
import type { PieceBody } from "../core/channel.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { InboundEvent, MessageEvent } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Rules } from "../core/rules.ts";
import { say, type SentenceKey } from "../core/sentences.ts";
import { insertAttachments } from "../store/attachments.ts";
import { addressOf, chatOf, currentThread, freshThread } from "../store/chats.ts";
import type { Database } from "../store/database.ts";
import {
  hasOpenAlbum,
  insertEvent,
  isInIntent,
  latestIntent,
  openIntent,
  type TraceStep,
  withdrawWaiting,
} from "../store/inbox.ts";
import { grant, grantOf, useClaimCode } from "../store/people.ts";
import { insertPieces, unparkChat } from "../store/pieces.ts";
import type { Queries } from "../store/tables.ts";
import { admit, type CommandName, type Granted, type Verdict } from "./admit.ts";
import { gather } from "./gather.ts";
import { isSpoken } from "./named.ts";
import { status } from "./status.ts";

/** A stranger who writes every hour is told once a day that the bot is private. */
const TOLD_FOR_MS = 24 * 3_600_000;

/** What follows a commit. Each may be lost: the sweep over the facts finds it again. */
export type Effects = {
  fetch(attachment: number): void;
  turn(chat: ChatId, at: number, agent: string): void;
  deliver(chat: ChatId): void;
  stop(chat: ChatId): void;
};

/** What a connection makes of a sentence of ours; nothing while it is not open. */
export type Words = (channel: ChannelId, text: string) => readonly PieceBody[];

/**
 * Takes events in: one transaction for all that a platform handed over, in order. Commands do their work in it, so that
 * what was said before `/new` belongs to the old thread and what comes after it to the new one.
 */
export class Intake {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #words: Words;
  readonly #effects: Effects;
  #rules: Rules;

  constructor(parts: {
    readonly database: Database;
    readonly clock: Clock;
    readonly log: Log;
    readonly rules: Rules;
    readonly words: Words;
    readonly effects: Effects;
  }) {
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#rules = parts.rules;
    this.#words = parts.words;
    this.#effects = parts.effects;
  }

  use(rules: Rules): void {
    this.#rules = rules;
  }

  /** @throws GatewayError "store.unavailable" when nothing could be committed: do not acknowledge then. */
  async accept(channel: ChannelId, events: readonly InboundEvent[]): Promise<void> {
    if (events.length === 0) return;
    const after: (() => void)[] = [];
    try {
      await this.#database.db.transaction().execute(async (trx) => {
        for (const event of events) await this.#take(trx, channel, event, after);
      });
    } catch (cause) {
      throw new GatewayError("store.unavailable", `${events.length} events could not be committed`, {
        cause,
      });
    }
    for (const effect of after) effect();
  }

  async #take(trx: Queries, channel: ChannelId, event: InboundEvent, after: (() => void)[]): Promise<void> {
    const now = this.#clock.now();
    const known = await grantOf(trx, channel, event.from.id);
    const granted: Granted = known && known.role !== "stranger" ? known.role : undefined;
    const chat = await chatOf(trx, channel, event.place);
    const verdict = await this.#verdict(trx, channel, chat, event, granted);
    const id = await this.#insert(trx, channel, chat, event, verdict, now, after);
    if (id === undefined) {
      this.#log.debug({ channel, chat }, "a repeat was recognised");
      return;
    }
    if (verdict.kind !== "refused" && verdict.kind !== "listen" && (await unparkChat(trx, chat)) > 0)
      after.push(() => this.#effects.deliver(chat));
    const toldAt = known?.role === "stranger" ? known.at : 0;
    const about: About = { trx, channel, chat, event, granted, toldAt, now, after };
    switch (verdict.kind) {
      case "turn":
      case "listen":
        return;
      case "command":
        return await this.#command(about, verdict.name, verdict.agent);
      case "stop":
        await this.#stop(about, verdict.agent);
        return;
      case "claim":
        return await this.#claim(about, verdict.code);
      case "refused":
        if (verdict.stranger) await this.#stranger(about);
    }
  }

  /**
   * In a group, what does not speak to us may still be for us: only one item of an album carries the words that do, and
   * in what is spoken they are heard later.
   */
  async #verdict(
    trx: Queries,
    channel: ChannelId,
    chat: ChatId,
    event: InboundEvent,
    granted: Granted,
  ): Promise<Verdict> {
    const rules = this.#rules.channels.get(channel);
    const verdict = admit(event, rules, granted);
    if (verdict.kind !== "refused" || event.type !== "message" || event.addressed) return verdict;
    const ifAddressed = admit({ ...event, addressed: true }, rules, granted);
    if (ifAddressed.kind !== "turn") return verdict;
    if (event.albumId !== undefined) {
      const follows = await hasOpenAlbum(trx, chat, event.from.id, event.albumId);
      return follows ? { ...ifAddressed, by: "album" } : verdict;
    }
    const hears = this.#rules.agents.get(ifAddressed.agent)?.transcriber !== undefined;
    const listens = hears && (rules?.names ?? []).length > 0 && isSpoken(event);
    return listens ? { ...ifAddressed, kind: "listen" } : verdict;
  }

  /** Undefined when the chat has seen the event already. */
  async #insert(
    trx: Queries,
    channel: ChannelId,
    chat: ChatId,
    event: InboundEvent,
    verdict: Verdict,
    now: number,
    after: (() => void)[],
  ): Promise<number | undefined> {
    const payload = JSON.stringify(event);
    const base = {
      channel,
      chat,
      key: event.id,
      payload,
      payloadHash: createHash("sha256").update(payload).digest("hex"),
      sender: event.from.id,
      ref: event.type === "message" ? event.ref : "",
      album: event.type === "message" ? (event.albumId ?? "") : "",
      receivedAt: now,
    };
    if ((verdict.kind !== "turn" && verdict.kind !== "listen") || event.type !== "message") {
      return await insertEvent(trx, {
        ...base,
        state: verdict.kind === "refused" ? "refused" : "consumed",
        why: verdict.kind === "refused" ? verdict.why : "",
        agent: verdict.kind === "refused" ? "" : verdict.agent,
        thread: "",
        intent: 0,
        dueAt: 0,
        trace: traceOf(verdict, now),
      });
    }
    const { agent } = verdict;
    const thread = await currentThread(trx, chat, agent);
    const listens = verdict.kind === "listen";
    // What may not be for us joins nothing, and nothing joins it.
    const open = listens
      ? undefined
      : await latestIntent(trx, {
          chat,
          sender: event.from.id,
          agent,
          thread,
          album: event.albumId ?? "",
        });
    const { joins, dueAt } = gather(event, open, now);
    const id = await insertEvent(trx, {
      ...base,
      state: listens ? "listening" : "waiting",
      why: "",
      agent,
      thread,
      intent: joins ?? 0,
      dueAt,
      trace: { ...traceOf(verdict, now), joins: joins ?? "nothing", windowMs: dueAt - now },
    });
    if (id === undefined) return undefined;
    if (joins === undefined && !listens) await openIntent(trx, id);
    const ref = event.quote?.media && event.quote.ref;
    const beside =
      joins !== undefined && ref !== undefined && (await isInIntent(trx, chat, { intent: joins, ref }));
    // What is quoted beside it is there already; of what is listened to, it is fetched once it is for us.
    const which = listens || beside ? "own" : "all";
    const attachments = await insertAttachments(trx, id, { chat, channel, event, which });
    after.push(() => {
      for (const attachment of attachments) this.#effects.fetch(attachment);
      if (!listens) this.#effects.turn(chat, dueAt, agent);
    });
    return id;
  }

  async #command(about: About, name: CommandName, agent: string): Promise<void> {
    const { trx, chat } = about;
    switch (name) {
      case "new":
        await freshThread(trx, chat, agent);
        return await this.#answer(about, "thread.new");
      case "stop":
        return await this.#answer(
          about,
          (await this.#stop(about, agent)) ? "turn.stopped" : "turn.nothing_to_stop",
        );
      case "status": {
        const found = await status(trx, chat, agent, this.#rules);
        return await this.#answer(about, "status.body", {
          ...found,
          agent,
          running: found.running ? "yes" : "no",
        });
      }
      case "help":
        return await this.#answer(about, "help.body");
    }
  }

  /** Ends what runs; where nothing runs yet, what waits for its window or its media is taken back. Whether there was any. */
  async #stop({ trx, chat, now, after }: About, agent: string): Promise<boolean> {
    const { running } = await status(trx, chat, agent, this.#rules);
    after.push(() => this.#effects.stop(chat));
    return running || (await withdrawWaiting(trx, chat, now)) > 0;
  }

  async #claim(about: About, code: string): Promise<void> {
    const { trx, channel, chat, event, now, after } = about;
    // A link that was printed before the operator named the owner is worth nothing afterwards.
    const named = this.#rules.channels.get(channel)?.owner !== undefined;
    if (!named && (await useClaimCode(trx, channel, code))) {
      await grant(trx, { channel, person: event.from.id, role: "owner", grantedBy: "start link", at: now });
      after.push(() =>
        this.#log.info({ channel, chat }, "the start link was used: the connection has an owner"),
      );
      return await this.#answer(about, "owner.welcome");
    }
    const known = admit(withoutText(event), this.#rules.channels.get(channel), about.granted);
    return await (known.kind === "refused" ? this.#stranger(about) : this.#answer(about, "help.body"));
  }

  /** Strangers get nothing, or one polite line a day where the operator wants that. */
  async #stranger(about: About): Promise<void> {
    const { trx, channel, event, toldAt, now } = about;
    const polite =
      this.#rules.channels.get(channel)?.strangers === "polite" && event.place.kind === "private";
    if (!polite || now - toldAt < TOLD_FOR_MS) return;
    await grant(trx, { channel, person: event.from.id, role: "stranger", grantedBy: "", at: now });
    await this.#answer(about, "stranger.refused");
  }

  async #answer(about: About, key: SentenceKey, values?: Record<string, string | number>): Promise<void> {
    const { trx, channel, chat, event, now, after } = about;
    const to = addressOf(channel, event.place.chat, event.place.topic ?? "");
    const bodies = this.#words(channel, say(key, "en", values));
    await insertPieces(
      trx,
      bodies.map((body, seq) => ({ chat, to, turn: 0, seq, body })),
      now,
    );
    after.push(() => this.#effects.deliver(chat));
  }
}

type About = {
  readonly trx: Queries;
  readonly channel: ChannelId;
  readonly chat: ChatId;
  readonly event: InboundEvent;
  readonly granted: Granted;
  /** When this stranger was last told that the bot is private; epoch ms, 0 for never. */
  readonly toldAt: number;
  readonly now: number;
  readonly after: (() => void)[];
};

function traceOf(verdict: Verdict, at: number): TraceStep {
  switch (verdict.kind) {
    case "turn":
      return { at, step: "admitted", agent: verdict.agent, by: verdict.by };
    case "listen":
      return { at, step: "listening for a name", agent: verdict.agent, by: verdict.by };
    case "command":
      return { at, step: "command", name: verdict.name };
    case "stop":
      return { at, step: "stop" };
    case "claim":
      return { at, step: "start link" };
    case "refused":
      return { at, step: "refused", why: verdict.why };
  }
}

/** The same event with nothing in it that could be a command: only who and where are asked for. */
function withoutText(event: InboundEvent): InboundEvent {
  if (event.type !== "message") return event;
  const bare: MessageEvent = { ...event, content: [] };
  return bare;
}
