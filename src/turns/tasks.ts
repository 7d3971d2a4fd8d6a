import type { AgentDefinition, AgentDesk, Look } from "../core/agent.ts";
import type { TaskDesk } from "../core/background.ts";
import type { Bounded } from "../core/bounds.ts";
import type { ChannelFront, PieceBody } from "../core/channel.ts";
import { type Clock, deadline } from "../core/clock.ts";
import { asError, type ErrorCode, GatewayError, hasCode } from "../core/errors.ts";
import type { ChannelId, ChatAddress, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Meter } from "../core/meter.ts";
import { say, type SentenceKey } from "../core/sentences.ts";
import type { ModelUse } from "../core/usage.ts";
import {
  claimTask,
  countRun,
  CRASHES_BEFORE_ERROR,
  endTask,
  giveTaskBack,
  isNewest,
  type OpenTask,
  renewTask,
  retryTask,
  taskEffects,
  tellTask,
} from "../store/background-runs.ts";
import { changeTask, findTask, insertTask, type TaskOrigin, tasksOf } from "../store/background.ts";
import { allowanceOf } from "../store/allowance.ts";
import type { Database } from "../store/database.ts";
import { insist } from "../store/insist.ts";
import { HOLD_MS, keepRenewed } from "../store/renew.ts";
import type { TaskHold } from "../store/task-holds.ts";
import { NOTHING_SPENT, type Spent, spentWith } from "../store/thread-facts.ts";
import type { Budgeting, Pieces } from "./parts.ts";

/** So often it is looked at whether the turn is over that a task waits for, to tell of its end. */
const AFTER_TURN_MS = 5_000;

export type TaskParts = {
  readonly database: Database;
  /** Names this process among those that work on tasks. */
  readonly owner: string;
  readonly runner: Pick<AgentDesk, "work">;
  readonly clock: Clock;
  readonly log: Log;
  readonly channel: (id: ChannelId) => ChannelFront | undefined;
  readonly agent: (name: string) => AgentDefinition | undefined;
  readonly pieces: Pick<Pieces, "answer" | "words">;
  readonly budgets: Pick<Budgeting, "ofPayer">;
  /** The folder of a chat, absolute. */
  readonly folder: (chat: ChatId) => string;
  readonly look: (chat: ChatId, agent: AgentDefinition, bounded?: Bounded) => Look;
  /** Has `run` called for a task, by its row, at or after `at` (epoch ms). */
  readonly wake: (row: number, at: number) => void;
  /** What a result meets in its chat, where nobody may be waiting for it; undefined where nothing holds it up. */
  readonly unasked: (to: ChatAddress) => Promise<TaskHold | undefined>;
  /** Where the work of models is counted, if anywhere. */
  readonly meter?: Meter;
  /** A task was changed: `end` is to be called wherever it runs. */
  readonly changed: (row: number) => void;
  /** Something was planned to be sent there. */
  readonly deliver: (chat: ChatId) => void;
  /** Aborts as soon as the gateway is to stop: a task takes minutes, and no stop waits for it. */
  readonly closing: AbortSignal;
};

/**
 * Background tasks: what an agent has handed to a subagent and does not wait for. A row of the store says how each stands; here
 * is only what runs now. That a task has ended is committed at once, and then its chat is told: both survive the end of
 * the process, and the second waits for a turn that is running there.
 */
export class Tasks {
  readonly #parts: TaskParts;
  readonly #running = new Map<number, { readonly chat: ChatId; readonly controller: AbortController }>();
  /** Tasks whose end is to be told when the turn of their chat is over. */
  readonly #afterTurn = new Map<ChatId, Set<number>>();

  constructor(parts: TaskParts) {
    this.#parts = parts;
    // Once for all tasks: a signal that others are made of remembers each of them for ever.
    parts.closing.addEventListener("abort", () => {
      for (const { controller } of this.#running.values()) controller.abort(parts.closing.reason);
    });
  }

  /** The tasks of a chat, for a turn in it; those of another chat are out of its reach. */
  deskFor(origin: TaskOrigin): TaskDesk {
    const { database, clock, wake } = this.#parts;
    const { chat } = origin;
    return {
      start: async (task) => {
        const begun = await insertTask(database, origin, task, clock.now());
        if (begun) wake(begun.row, clock.now());
        return begun?.task;
      },
      find: (id) => findTask(database, chat, id),
      list: () => tasksOf(database, chat),
      update: async (id, addition) => {
        const changed = await changeTask(database, chat, id, { addition });
        if (!changed) return undefined;
        this.#parts.changed(changed.row);
        wake(changed.row, clock.now());
        return changed.task;
      },
      cancel: async (id) => {
        const changed = await changeTask(database, chat, id, { cancelledAt: clock.now() });
        if (changed) this.#parts.changed(changed.row);
        return changed?.task;
      },
    };
  }

  /** Ends what runs for a chat whose tasks are gone from the store. */
  drop(chat: ChatId): void {
    for (const [row, running] of this.#running) if (running.chat === chat) this.end(row);
    this.#afterTurn.delete(chat);
  }

  /** A turn of the chat is over: what has ended meanwhile is told. */
  turnEnded(chat: ChatId): void {
    const rows = this.#afterTurn.get(chat);
    this.#afterTurn.delete(chat);
    for (const row of rows ?? []) this.#parts.wake(row, this.#parts.clock.now());
  }

  /** Ends what runs of a task that was changed. */
  end(row: number): void {
    this.#running.get(row)?.controller.abort(new GatewayError("turn.stopped", "the task was changed"));
  }

  /** Does what is next about a task; gives the time (epoch ms) to come again, if there is one. */
  async run(row: number): Promise<number | undefined> {
    const { database, clock, channel, owner } = this.#parts;
    const now = clock.now();
    const claim = await claimTask(database, row, {
      owner,
      now,
      until: now + HOLD_MS,
      isOpen: (id) => channel(id) !== undefined,
      givenUp: `it ended the process ${CRASHES_BEFORE_ERROR} times and is given up`,
    });
    switch (claim.kind) {
      case "idle":
        return undefined;
      case "wait":
        return claim.at;
      case "after turn":
        this.#tellAfterTurn(claim.chat, row);
        // Its turn may run in another process, whose end is not heard of here.
        return Math.min(claim.at, now + AFTER_TURN_MS);
      case "tell":
        return await this.#tell(claim.open);
      case "run":
        return await this.#work(claim.open);
    }
  }

  async #work(open: OpenTask): Promise<number | undefined> {
    const { database, runner, clock, log, folder, look, closing } = this.#parts;
    const { row, chat, task } = open;
    const agent = this.#whoDoes(open);
    if (!agent) return await this.#failed(open, new Gone());
    const { turnSeconds } = agent.limits;
    const controller = new AbortController();
    const reason = new GatewayError("turn.timed_out", `it took longer than ${turnSeconds} s`);
    const late = deadline(clock, turnSeconds * 1_000, reason);
    late.signal.addEventListener("abort", () => controller.abort(reason), { once: true });
    this.#running.set(row, { chat, controller });
    const renewal = keepRenewed(
      { clock, log },
      (until) => renewTask(database, open, until),
      () => controller.abort(new GatewayError("store.hold_lost", `task ${row} was changed meanwhile`)),
    );
    let spent = NOTHING_SPENT;
    try {
      if (closing.aborted) controller.abort(closing.reason);
      // What was changed since the claim has found nothing here to end.
      if (!(await isNewest(database, open))) return clock.now();
      const bounded = await this.#boundsOf(open);
      const asked = {
        agent,
        prompt: promptOf(open),
        id: `task-${row}-${open.epoch}`,
        folder: folder(chat),
        look: look(chat, agent, bounded),
        behind: { thread: open.thread },
        effects: taskEffects(database, open, { clock, log, closing }),
        onUse: (use: ModelUse) => {
          spent = spentWith(spent, use);
          this.#parts.meter?.used(use);
        },
        ...(bounded ? { allowance: allowanceOf(database, bounded, this.#parts) } : {}),
      };
      const result = await runner.work(asked, controller.signal);
      return await this.#ended(open, { status: "success", result, error: "" });
    } catch (thrown) {
      // It is given back, or was changed, which is committed: whatever it came to is not wanted.
      if (closing.aborted) return void (await giveTaskBack(database, open));
      const error = controller.signal.aborted ? asError(controller.signal.reason) : asError(thrown);
      if (hasCode(error, "turn.stopped") || hasCode(error, "store.hold_lost")) return clock.now();
      log.error({ chat, task: task.id, attempt: task.attempts, err: error }, "a background task failed");
      return await this.#failed(open, error);
    } finally {
      late.clear();
      renewal.cancel();
      this.#running.delete(row);
      await this.#count(open, spent);
    }
  }

  /** What it has to be within is what bounds whoever has asked for it. */
  async #boundsOf({ chat, to, agent, person, byOwner }: OpenTask): Promise<Bounded | undefined> {
    const { database, budgets } = this.#parts;
    const whose = person === "" ? {} : { person, owner: byOwner };
    const payer = { channel: to.channel, chat, place: to.chat, agent, ...whose };
    return await budgets.ofPayer(database.db, payer);
  }

  async #count(open: OpenTask, spent: Spent): Promise<void> {
    const { database, clock, log } = this.#parts;
    const { chat, task } = open;
    if (spent === NOTHING_SPENT) return;
    log.info(
      { chat, task: task.id, agent: task.agent, attempt: task.attempts, ...spent },
      "a background task was at work",
    );
    try {
      await countRun(database, open, spent, clock.now());
    } catch (err) {
      log.warn({ chat, task: task.id, err }, "what a background task took could not be counted");
    }
  }

  /** It is tried again, unless that would come to the same or was done often enough. */
  async #failed(open: OpenTask, error: Error): Promise<number | undefined> {
    const { database, clock, agent } = this.#parts;
    const code = codeOf(error);
    const { retries = 0, retrySeconds = 0 } = agent(open.agent)?.background ?? {};
    if (FINAL.has(code) || open.failures >= retries) {
      const result = error instanceof GatewayError || error instanceof Gone ? error.message : "it failed";
      return await this.#ended(open, { status: "error", result, error: code });
    }
    const at = clock.now() + retrySeconds * 1_000;
    return (await this.#insist(() => retryTask(database, open, at))) ? at : clock.now();
  }

  /** Comes again at once, to tell of it. */
  async #ended(open: OpenTask, end: Parameters<typeof endTask>[2]): Promise<number> {
    const { database, clock } = this.#parts;
    await this.#insist(() => endTask(database, open, end, clock.now()));
    return clock.now();
  }

  async #tell(open: OpenTask): Promise<number | undefined> {
    const { database, clock, channel: find, deliver, unasked } = this.#parts;
    const channel = find(open.to.channel);
    if (!channel) return undefined; // it was closed just now; opening it wakes all work
    const hold = await unasked(open.to);
    const bodies = await this.#wordsOf(open, channel);
    const told = await this.#insist(() => tellTask(database, open, bodies, { hold, now: clock.now() }));
    if (told?.held === undefined) {
      if (told) deliver(told.chat);
      return undefined;
    }
    // Whoever speaks there before that is told behind the answer to it.
    this.#tellAfterTurn(told.chat, open.row);
    return told.held;
  }

  #tellAfterTurn(chat: ChatId, row: number): void {
    this.#afterTurn.set(chat, (this.#afterTurn.get(chat) ?? new Set()).add(row));
  }

  async #wordsOf(open: OpenTask, channel: ChannelFront): Promise<readonly PieceBody[]> {
    const { pieces, log, closing } = this.#parts;
    const { task, chat } = open;
    const head = say(sentenceFor(open), open.language, {
      task: task.id,
      agent: task.agent,
      times: CRASHES_BEFORE_ERROR,
    });
    if (task.status !== "success") return pieces.words(channel, head);
    const markdown = `${head}\n\n${task.result}`;
    const agent = this.#whoDoes(open);
    try {
      if (agent) return (await pieces.answer(channel, chat, agent, { markdown })).bodies;
    } catch (err) {
      if (closing.aborted) throw err;
      log.error({ chat, task: task.id, err }, "the result of a background task is told as plain text");
    }
    return pieces.words(channel, markdown);
  }

  #whoDoes({ agent, task }: OpenTask): AgentDefinition | undefined {
    return this.#parts.agent(agent)?.subagents?.agents.find(({ name }) => name === task.agent);
  }

  async #insist<T>(commit: () => Promise<T>): Promise<T> {
    const { clock, log, closing } = this.#parts;
    return await insist(commit, { clock, log, closing });
  }
}

/** Whoever was to do a task, or has begun it, is not in the configuration any more. */
class Gone extends Error {
  override readonly message = "the subagent is not there any more";
}

type Fault = ErrorCode | "gone" | "unexpected";

/** What comes to the same however often it is tried. */
const FINAL: ReadonlySet<Fault> = new Set<Fault>([
  "gone",
  "budget.spent",
  "agent.invalid",
  "model.missing_package",
  "model.unknown",
]);

function codeOf(error: Error): Fault {
  if (error instanceof Gone) return "gone";
  return error instanceof GatewayError ? error.code : "unexpected";
}

function sentenceFor({ task, error }: OpenTask): SentenceKey {
  if (task.status === "success") return "task.done";
  switch (error) {
    case "crashed":
      return "task.crashed";
    case "gone":
      return "task.gone";
    case "turn.timed_out":
      return "task.timed_out";
    case "budget.spent":
      return "task.budget";
    case "model.failed":
    case "model.missing_package":
    case "model.unknown":
      return "task.model_failed";
    default:
      return "task.failed";
  }
}

function promptOf({ task, epoch }: OpenTask): string {
  return epoch > 1 ? `${task.prompt}\n\n${BEGUN_BEFORE}` : task.prompt;
}

const BEGUN_BEFORE =
  "[This task may have been begun before and cut off: what was written or done then is still there.]";
