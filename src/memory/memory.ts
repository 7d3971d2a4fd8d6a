import type { AgentDefinition, AgentDesk, Distilled } from "../core/agent.ts";
import type { Bounded } from "../core/bounds.ts";
import type { Clock } from "../core/clock.ts";
import { asError, GatewayError, hasCode } from "../core/errors.ts";
import type { ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { FactOwner, MemorySignal } from "../core/memory.ts";
import { unlessAborted } from "../core/unless-aborted.ts";
import { allowanceOf } from "../store/allowance.ts";
import type { Database } from "../store/database.ts";
import {
  beginWork,
  type BegunWork,
  finishWork,
  giveUp,
  nextDue,
  openMemory,
  ownersWaiting,
  putOff,
  type Touch,
} from "../store/memory.ts";
import { factsOf } from "../store/memory-facts.ts";
import { saidByOthers, unsaidIn } from "../store/unsaid.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { merged } from "./merge.ts";
import { chatIn, keyOf, ownersOf } from "./owners.ts";
import { recalled } from "./recall.ts";
import { signalsIn } from "./signals.ts";

/** How many owners' threads are gone through at once: it is nothing that anybody waits for. */
export const DISTILLED_AT_ONCE = 2;
/** After so many tries nothing is tried before the next turn. */
const TRIES = 5;
/** After the first failure; twice as long after each further one. */
const FIRST_RETRY_MS = 30_000;
/** A model that takes longer does not answer. */
const LONGEST_MS = 180_000;
/** Of what waits when the process is to end, as long as its grace lasts; the rest is done after the next start. */
const FLUSHED = 20;

export type MemoryParts = {
  readonly database: Database;
  readonly desk: Pick<AgentDesk, "distil">;
  readonly agent: (name: string) => AgentDefinition | undefined;
  /** The folder of a chat, absolute. */
  readonly folder: (chat: ChatId) => string;
  /** What bounds who is remembered; undefined where nothing does. */
  readonly bounded: (owner: FactOwner, chat: ChatId) => Promise<Bounded | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  /** Makes sure that `run` is called with the key, at `at` (epoch ms) or later. */
  readonly wake: (key: string, at: number) => void;
};

/**
 * What agents remember of people and groups. After a turn its thread is marked; once it is quiet there, it is gone through
 * once for all turns since, on its newest state. What is to be done is a fact: a lost wake-up is only late.
 */
export class Memory {
  readonly #parts: MemoryParts;
  readonly #running = new Set<AbortController>();
  #closed = false;

  constructor(parts: MemoryParts) {
    this.#parts = parts;
  }

  /** What a turn that is done leaves to be gone through; none where its agent does not remember. */
  touched(turn: ClaimedTurn, { memory }: AgentDefinition): readonly Touch[] {
    if (!memory?.facts) return [];
    const quietMs = memory.quietSeconds * 1_000;
    const mostMs = memory.mostSeconds * 1_000;
    return ownersOf(turn).map((owner) => ({
      owner,
      thread: turn.thread,
      chat: turn.hold.chat,
      signals: signalsOf(turn, owner),
      quietMs,
      mostMs,
    }));
  }

  /** What `touched` gave is committed. */
  committed(touches: readonly Touch[]): void {
    const now = this.#parts.clock.now();
    for (const { chat, owner, quietMs, mostMs } of touches)
      this.#parts.wake(keyOf(chat, owner.agent), now + Math.min(quietMs, mostMs));
  }

  /**
   * What is remembered, for a turn: of a group only what was said there, and in private of the one who writes; where
   * several do, nothing, for what one has said is not the other's. Never rejects.
   */
  async recall(turn: ClaimedTurn, agent: AgentDefinition): Promise<string> {
    const [owner, ...others] = agent.memory?.facts ? ownersOf(turn) : [];
    if (!owner || others.length > 0) return "";
    const { database, log } = this.#parts;
    const { chat } = turn.hold;
    const unread = (count: number): void =>
      log.warn({ chat, count }, "something that is remembered could not be read");
    try {
      return recalled(await factsOf(database.db, owner, unread), owner.scope);
    } catch (err) {
      log.warn({ chat, err }, "what is remembered could not be read");
      return "";
    }
  }

  /** Wakes all that waits. `soon` bounds a time that lies too far ahead. */
  async wakeAll(soon: (at: number) => number): Promise<void> {
    for (const { owner, chat, at } of await openMemory(this.#parts.database.db))
      this.#parts.wake(keyOf(chat, owner.agent), soon(at));
  }

  /** Goes through what is due in a chat with an agent. Never rejects. */
  async run(key: string): Promise<void> {
    const { clock, log, wake } = this.#parts;
    try {
      const { chat, agent } = chatIn(key);
      for (const owner of await ownersWaiting(this.#parts.database.db, chat, agent)) {
        const next = await this.#runDue(owner);
        if (next !== undefined) wake(key, next);
      }
    } catch (err) {
      if (this.#closed) return;
      log.error({ err }, "what is to be remembered could not be written down, again after a wait");
      wake(key, clock.now() + FIRST_RETRY_MS);
    }
  }

  async #runDue(owner: FactOwner): Promise<number | undefined> {
    const { database, clock } = this.#parts;
    while (!this.#closed) {
      const now = clock.now();
      const work = await beginWork(database, owner, { due: now, now });
      if (!work) return await nextDue(database.db, owner);
      await this.#distil(work);
    }
    return undefined;
  }

  /** No new work; what runs is given back at once, to be done by `flush` or after the next start. */
  interrupt(): void {
    this.#closed = true;
    for (const controller of this.#running) controller.abort(new Error("the gateway is stopping"));
  }

  /** At the end of the process: goes through what waits, bounded, and no longer than until `cutOff`. Never rejects. */
  async flush(cutOff: AbortSignal): Promise<void> {
    const { database, clock, log } = this.#parts;
    const end = (): void => this.interrupt();
    cutOff.addEventListener("abort", end, { once: true });
    try {
      const waiting = (await openMemory(database.db)).slice(0, FLUSHED);
      const worker = async (): Promise<void> => {
        for (let next = waiting.shift(); next && !cutOff.aborted; next = waiting.shift()) {
          const work = await beginWork(database, next.owner, { now: clock.now() });
          if (work) await this.#distil(work);
        }
      };
      await Promise.all(Array.from({ length: DISTILLED_AT_ONCE }, worker));
    } catch (err) {
      log.warn({ err }, "what was said last is gone through for memory after the next start");
    } finally {
      cutOff.removeEventListener("abort", end);
    }
  }

  async #distil(work: BegunWork): Promise<void> {
    const { database, clock, log } = this.#parts;
    const { owner, chat } = work;
    const agent = this.#parts.agent(owner.agent);
    // It remembers no more, or is no more.
    if (!agent?.memory?.facts) return await giveUp(database, work);
    const { mostFacts } = agent.memory;
    const controller = new AbortController();
    const tooLong = clock.after(LONGEST_MS, () =>
      controller.abort(new GatewayError("model.failed", `took longer than ${LONGEST_MS / 1_000} s`)),
    );
    this.#running.add(controller);
    try {
      const distilled = await this.#ask(work, agent, controller.signal);
      const { facts, upTo } = distilled;
      const fields = { chat, agent: owner.agent, ...tokensOf(distilled) };
      if (!facts) {
        log.warn(fields, "a model said nothing that could be remembered; tried again with the next turn");
        return await giveUp(database, work);
      }
      const taken = await finishWork(database, work, {
        upTo,
        more: distilled.more && upTo !== work.after,
        now: clock.now(),
        decide: (known, since) =>
          merged(known, facts, { now: clock.now(), firstAt: work.firstAt, mostFacts, since }),
      });
      log.info({ ...fields, facts: facts.length, taken }, "a conversation was gone through for memory");
    } catch (thrown) {
      await this.#failed(work, asError(thrown));
    } finally {
      tooLong.cancel();
      this.#running.delete(controller);
    }
  }

  async #ask(work: BegunWork, agent: AgentDefinition, signal: AbortSignal): Promise<Distilled> {
    const { database, desk, folder } = this.#parts;
    const { owner, thread, chat, after, signals } = work;
    const bounded = await this.#parts.bounded(owner, chat);
    const asked = {
      agent,
      thread,
      folder: folder(chat),
      after,
      others: await saidByOthers(database.db, work),
      unsaid: await unsaidIn(database.db, work),
      known: await factsOf(database.db, owner),
      signals,
      about: owner.scope === "person" ? ("person" as const) : ("group" as const),
      ...(bounded ? { allowance: allowanceOf(database, bounded, this.#parts) } : {}),
    };
    return await unlessAborted(desk.distil(asked, signal), signal);
  }

  async #failed(work: BegunWork, error: Error): Promise<void> {
    const { database, clock, log } = this.#parts;
    // Its message may be a provider's, and hold what was said.
    const code = error instanceof GatewayError ? error.code : error.name;
    const fields = { chat: work.chat, agent: work.owner.agent, code, attempt: work.attempt };
    if (this.#closed) return await putOff(database, work, { until: clock.now(), counted: false });
    // Soon there is no more room than now; the next turn marks its thread anew.
    if (hasCode(error, "budget.spent")) {
      log.info(fields, "a conversation is not gone through for memory: a budget is used up");
      return await giveUp(database, work);
    }
    if (work.attempt >= TRIES) {
      log.warn(fields, "a conversation could not be gone through for memory; tried again with the next turn");
      return await giveUp(database, work);
    }
    const waitMs = FIRST_RETRY_MS * 2 ** (work.attempt - 1);
    log.debug({ ...fields, waitMs }, "going through a conversation for memory failed, again after a wait");
    await putOff(database, work, { until: clock.now() + waitMs, counted: true });
  }
}

/** In whose own words; what they forward or quote is others'. */
function signalsOf({ messages }: ClaimedTurn, owner: FactOwner): readonly MemorySignal[] {
  const found = messages.flatMap(({ event }) => {
    if (event.type === "reaction" || event.type === "scheduled" || event.forward) return [];
    if (owner.scope === "person" && event.from.id !== owner.subject) return [];
    return event.content.flatMap((part) => (part.type === "text" ? signalsIn(part.text) : []));
  });
  return [...new Set(found)];
}

function tokensOf({ uses }: Distilled): Readonly<Record<string, number>> {
  const sum = (count: (use: Distilled["uses"][number]) => number): number =>
    uses.reduce((total, use) => total + count(use), 0);
  return {
    calls: uses.length,
    inputTokens: sum((use) => use.inputTokens),
    outputTokens: sum((use) => use.outputTokens),
    costMicros: sum((use) => use.costMicros),
  };
}
