import type { AgentDefinition, AgentDesk, Look } from "../core/agent.ts";
import type { TaskDesk } from "../core/background.ts";
import type { ChannelFront, PieceBody } from "../core/channel.ts";
import { type Clock, deadline } from "../core/clock.ts";
import { asError, type ErrorCode, GatewayError, hasCode } from "../core/errors.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
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
  retryTask,
  taskEffects,
  tellTask,
} from "../store/background-runs.ts";
import { changeTask, findTask, insertTask, type TaskOrigin, tasksOf } from "../store/background.ts";
import type { Database } from "../store/database.ts";
import { insist } from "../store/insist.ts";
import { NOTHING_SPENT, type Spent, spentWith } from "../store/thread-facts.ts";
import type { Pieces } from "./parts.ts";

export type TaskParts = {
  readonly database: Database;
  readonly runner: Pick<AgentDesk, "work">;
  readonly clock: Clock;
  readonly log: Log;
  readonly channel: (id: ChannelId) => ChannelFront | undefined;
  readonly agent: (name: string) => AgentDefinition | undefined;
  readonly pieces: Pick<Pieces, "answer" | "words">;
  /** The folder of a chat, absolute. */
  readonly folder: (chat: ChatId) => string;
  readonly look: (chat: ChatId, agent: AgentDefinition) => Look;
  /** Has `run` called for a task, by its row, at or after `at` (epoch ms). */
  readonly wake: (row: number, at: number) => void;
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
        this.#end(changed.row);
        wake(changed.row, clock.now());
        return changed.task;
      },
      cancel: async (id) => {
        const changed = await changeTask(database, chat, id, { cancelledAt: clock.now() });
        if (changed) this.#end(changed.row);
        return changed?.task;
      },
    };
  }

  /** Ends what runs for a chat whose tasks are gone from the store. */
  drop(chat: ChatId): void {
    for (const [row, running] of this.#running) if (running.chat === chat) this.#end(row);
    this.#afterTurn.delete(chat);
  }

  /** A turn of the chat is over: what has ended meanwhile is told. */
  turnEnded(chat: ChatId): void {
    const rows = this.#afterTurn.get(chat);
    this.#afterTurn.delete(chat);
    for (const row of rows ?? []) this.#parts.wake(row, this.#parts.clock.now());
  }

  #end(row: number): void {
    this.#running.get(row)?.controller.abort(new GatewayError("turn.stopped", "the task was changed"));
  }

  /** Does what is next about a task; gives the time (epoch ms) to come again, if there is one. */
  async run(row: number): Promise<number | undefined> {
    const { database, clock, channel } = this.#parts;
    const claim = await claimTask(database, row, {
      now: clock.now(),
      isOpen: (id) => channel(id) !== undefined,
      givenUp: `it ended the process ${CRASHES_BEFORE_ERROR} times and is given up`,
    });
    switch (claim.kind) {
      case "idle":
        return undefined;
      case "wait":
        return claim.at;
      case "after turn":
        this.#afterTurn.set(claim.chat, (this.#afterTurn.get(claim.chat) ?? new Set()).add(row));
        return claim.at;
      case "tell":
        await this.#tell(claim.open);
        return undefined;
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
    let spent = NOTHING_SPENT;
    try {
      if (closing.aborted) controller.abort(closing.reason);
      // What was changed since the claim has found nothing here to end.
      if (!(await isNewest(database, open))) return clock.now();
      const asked = {
        agent,
        prompt: promptOf(open),
        id: `task-${row}-${open.epoch}`,
        folder: folder(chat),
        look: look(chat, agent),
        behind: { thread: open.thread },
        effects: taskEffects(database, open, { clock, log, closing }),
        onUse: (use: ModelUse) => void (spent = spentWith(spent, use)),
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
      this.#running.delete(row);
      await this.#count(open, spent);
    }
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

  async #tell(open: OpenTask): Promise<void> {
    const { database, clock, channel: find, deliver } = this.#parts;
    const channel = find(open.to.channel);
    if (!channel) return; // it was closed just now; opening it wakes all work
    const bodies = await this.#wordsOf(open, channel);
    const chat = await this.#insist(() => tellTask(database, open, bodies, clock.now()));
    if (chat !== undefined) deliver(chat);
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
