import { setMaxListeners } from "node:events";
import type { AgentDefinition } from "./core/agent.ts";
import type { Channel, PieceBody } from "./core/channel.ts";
import type { CommandWords } from "./core/host.ts";
import { closeChannel } from "./core/close-channel.ts";
import type { Timer } from "./core/clock.ts";
import type { Dispatcher } from "./core/dispatcher.ts";
import { asError } from "./core/errors.ts";
import type { InboundEvent, Place } from "./core/events.ts";
import type { ChannelId, ChatId } from "./core/identity.ts";
import type { ChannelRules, Rules } from "./core/rules.ts";
import type { Language } from "./core/sentences.ts";
import { Keeping } from "./gateway/keeping.ts";
import type { GatewayParts } from "./gateway/parts.ts";
import { runSuspects } from "./gateway/suspects.ts";
import { fetching, working } from "./gateway/working.ts";
import { AttachmentLanes, type AttachmentParts, fetchAttachment } from "./intake/attachments.ts";
import { commandWords } from "./intake/command-words.ts";
import { rulesByEachId } from "./intake/moves.ts";
import { Intake } from "./intake/intake.ts";
import { DISTILLED_AT_ONCE } from "./memory/memory.ts";
import { type Deliver, deliver } from "./reply/deliver.ts";
import { planWords } from "./reply/plan.ts";
import { openWork, recover } from "./store/upkeep.ts";
import { liveIn } from "./turns/life.ts";
import { Tasks } from "./turns/tasks.ts";
import { Turns } from "./turns/turns.ts";

/** Wake-ups may be lost; the facts are gone over this often. */
const SWEEP_MS = 30_000;
const DELIVERIES_AT_ONCE = 64;
const TASKS_AT_ONCE = 8;

/**
 * The way of a message, top to bottom: accepted (committed, then acknowledged), fetched, answered, delivered. Each step
 * is work that the dispatcher wakes and that the facts alone describe, so any of them can be cut off at any line.
 */
export class Gateway {
  readonly #parts: GatewayParts;
  readonly #channels = new Map<ChannelId, Channel>();
  /** No new work: aborts as soon as the gateway is to stop. */
  readonly #closing = new AbortController();
  /** No more work: aborts when the grace is over. */
  readonly #cutOff = new AbortController();
  readonly #dispatcher: Dispatcher;
  readonly #intake: Intake;
  readonly #lanes = new AttachmentLanes();
  readonly #turns: Turns;
  readonly #tasks: Tasks;
  readonly #keeping: Keeping;
  readonly #fetching: AttachmentParts;
  readonly #deliver: Deliver;
  #rules: Rules;
  #sweep: Timer | undefined;
  #beginning: Promise<void> | undefined;
  #begun = false;
  #draining = false;
  #intakeFault: string | undefined;

  constructor(parts: GatewayParts) {
    const { database, clock, log } = parts;
    const channel = (id: ChannelId): Channel | undefined => this.#channels.get(id);
    const cutOff = this.#cutOff.signal;
    setMaxListeners(0, this.#closing.signal); // all attachments that wait listen to it
    this.#parts = parts;
    this.#rules = parts.rules;
    this.#dispatcher = parts.dispatcher(
      {
        // Whoever waits costs next to nothing; how much is done at once, the lanes say.
        fetch: { concurrency: Infinity, run: (key) => this.#fetch(Number(key)) },
        turn: { concurrency: parts.turnsAtOnce, run: (key) => this.#turn(toChat(key)) },
        deliver: { concurrency: DELIVERIES_AT_ONCE, run: (key) => this.#send(toChat(key)) },
        task: { concurrency: TASKS_AT_ONCE, run: (key) => this.#task(Number(key)) },
        memory: { concurrency: DISTILLED_AT_ONCE, run: (key) => this.#distil(key) },
        forget: { concurrency: 1, run: (key) => this.#forget(toChat(key)) },
      },
      clock,
      log,
    );
    const words = (id: ChannelId, text: string): readonly PieceBody[] => {
      const open = channel(id);
      return open ? planWords(text, open) : [];
    };
    this.#keeping = new Keeping(parts, {
      agent: (name) => this.#rules.agents.get(name),
      words,
      wake: (topic, key, at) => this.#dispatcher.wake(topic, key, at),
    });
    this.#intake = new Intake({
      database,
      clock,
      log,
      rules: parts.rules,
      words,
      connections: parts.connections,
      effects: {
        fetch: (attachment) => this.#dispatcher.wake("fetch", String(attachment), clock.now()),
        turn: (chat, at, agent) => {
          this.#dispatcher.wake("turn", String(chat), at);
          const definition = this.#rules.agents.get(agent);
          if (definition) parts.runner.prepare(definition);
        },
        deliver: (chat) => this.#dispatcher.wake("deliver", String(chat), clock.now()),
        stop: (chat) => void this.#turns.stop(chat),
        correct: (chat, correction) => this.#turns.correct(chat, correction),
        forget: (chat, at) => {
          this.#keeping.forgetting.begin(chat, at);
          this.#turns.letGo(chat);
          this.#tasks.drop(chat);
          this.#dispatcher.wake("forget", String(chat), clock.now());
        },
      },
    });
    const agent = (name: string): AgentDefinition | undefined => this.#rules.agents.get(name);
    const shared = working(parts, { channel, agent, lanes: this.#lanes, cutOff });
    this.#turns = new Turns({
      ...shared,
      owner: parts.owner,
      live: async (to) => liveIn(await this.#rulesIn(to.channel, to), to.chat),
      kind: (id) => parts.connections().find((shown) => shown.id === id)?.kind ?? id,
      timeZone: () => this.#rules.timeZone,
      tasks: (origin) => this.#tasks.deskFor(origin),
      memory: this.#keeping.memory,
      exporting: (turn) => this.#keeping.exporting(turn),
      cutOff,
    });
    this.#tasks = new Tasks({
      ...shared,
      wake: (row, at) => this.#dispatcher.wake("task", String(row), at),
      deliver: (chat) => this.#dispatcher.wake("deliver", String(chat), clock.now()),
      closing: this.#closing.signal,
    });
    this.#fetching = fetching(parts, {
      channel,
      agent,
      rules: () => this.#rules,
      rulesIn: (id, place) => this.#rulesIn(id, place),
      lanes: this.#lanes,
      closing: this.#closing.signal,
    });
    this.#deliver = deliver({ database, channel, clock, log, cutOff });
  }

  /** Takes over what an earlier process left; work begins with `begin`, when the connections are open. */
  async start(): Promise<void> {
    const { database, clock, log } = this.#parts;
    const recovered = await recover(database, clock.now());
    await this.#keeping.forgetting.beginAll();
    if (recovered.turns > 0)
      log.warn({ ...recovered }, "an earlier process ended in the middle of turns; they go on");
  }

  /** Begins the work that the facts know of: first, alone, what was in flight when earlier processes ended. */
  async begin(): Promise<void> {
    this.#beginning = runSuspects(this.#parts, {
      fetch: (attachment) => this.#fetchOne(attachment, { alone: true }),
      turn: async (chat) => {
        await this.#turns.run(chat);
        this.#dispatcher.wake("deliver", String(chat), this.#parts.clock.now());
      },
      draining: () => this.#draining,
    });
    await this.#beginning;
    this.#begun = true;
    await this.#goOver();
  }

  /** A channel that was opened: what waits for it goes on. */
  async opened(id: ChannelId, channel: Channel): Promise<void> {
    this.#channels.set(id, channel);
    if (this.#begun) await this.wakeAll();
  }

  closed(id: ChannelId): void {
    this.#channels.delete(id);
  }

  /** A changed configuration: the next event and the next turn go by it. */
  use(rules: Rules): void {
    this.#rules = rules;
    this.#intake.use(rules);
  }

  /** What holds in a chat, also where the operator knows it by an earlier id. */
  async #rulesIn(channel: ChannelId, place: Pick<Place, "chat" | "also">): Promise<ChannelRules | undefined> {
    const here = { trx: this.#parts.database.db, rules: this.#rules, channel };
    return (await rulesByEachId(here, place)).channels.get(channel);
  }

  /** Commits what a platform handed over. When it throws, the platform must keep it. */
  async accept(channel: ChannelId, events: readonly InboundEvent[]): Promise<ReadonlyMap<string, string>> {
    try {
      const shown = await this.#intake.accept(channel, events);
      this.#intakeFault = undefined;
      return shown;
    } catch (error) {
      this.#intakeFault = asError(error).message;
      throw error;
    }
  }

  /** What people of a connection can ask for with "/". */
  commands(channel: ChannelId, language: Language): readonly CommandWords[] {
    return commandWords(this.#rules.channels.get(channel), language);
  }

  /** Wake-ups before `begin` and during the stop find nothing to do; the facts keep what they were about. */
  get #working(): boolean {
    return this.#begun && !this.#draining;
  }

  async #fetch(attachment: number): Promise<void> {
    if (this.#working) await this.#fetchOne(attachment, { alone: false });
  }

  async #fetchOne(attachment: number, how: { readonly alone: boolean }): Promise<void> {
    const { clock } = this.#parts;
    const fetched = await fetchAttachment(attachment, this.#fetching, how);
    if (!fetched) return;
    for (const further of fetched.further) this.#dispatcher.wake("fetch", String(further), clock.now());
    this.#dispatcher.wake("turn", String(fetched.chat), clock.now());
  }

  async #turn(chat: ChatId): Promise<void> {
    if (!this.#working) return;
    const again = await this.#turns.run(chat);
    this.#dispatcher.wake("deliver", String(chat), this.#parts.clock.now());
    this.#tasks.turnEnded(chat);
    if (again !== undefined) this.#dispatcher.wake("turn", String(chat), again);
  }

  async #task(row: number): Promise<void> {
    if (!this.#working) return;
    const again = await this.#tasks.run(row);
    if (again !== undefined) this.#dispatcher.wake("task", String(row), again);
  }

  async #distil(key: string): Promise<void> {
    if (this.#working) await this.#keeping.memory.run(key);
  }

  async #forget(chat: ChatId): Promise<void> {
    if (!this.#working) return;
    const again = await this.#keeping.forgetting.run(chat);
    if (again !== undefined) this.#dispatcher.wake("forget", String(chat), again);
  }

  async #send(chat: ChatId): Promise<void> {
    // While suspects run alone, commands are answered: what is sent cannot be taken for what ended the process.
    if (!this.#beginning) return;
    const again = await this.#deliver.run(chat);
    if (again !== undefined) this.#dispatcher.wake("deliver", String(chat), again);
  }

  /** Wakes all work that the facts know of. */
  async wakeAll(): Promise<void> {
    const work = await openWork(this.#parts.database);
    const now = this.#parts.clock.now();
    // Not later than the next time over: a clock that was set back makes times of hours ahead.
    const soon = (at: number): number => Math.min(at, now + SWEEP_MS);
    for (const { chat, at } of work.turns) this.#dispatcher.wake("turn", String(chat), soon(at));
    for (const { chat, at } of work.deliveries) this.#dispatcher.wake("deliver", String(chat), soon(at));
    for (const { row, at } of work.tasks) this.#dispatcher.wake("task", String(row), soon(at));
    for (const id of work.attachments) this.#dispatcher.wake("fetch", String(id), now);
    await this.#keeping.wakeAll(soon);
  }

  async #goOver(): Promise<void> {
    const { clock, log } = this.#parts;
    try {
      await this.wakeAll();
      await this.#keeping.goOver();
    } catch (err) {
      log.error({ err }, "the facts could not be gone over, again soon");
    }
    if (!this.#draining) this.#sweep = clock.after(SWEEP_MS, () => void this.#goOver());
  }

  /** What `/healthz` says. */
  health(): {
    readonly ok: boolean;
    readonly intake: string;
    readonly turns: number;
    readonly channels: readonly string[];
  } {
    return {
      ok: this.#intakeFault === undefined && !this.#draining,
      intake: this.#draining ? "draining" : (this.#intakeFault ?? "open"),
      turns: this.#turns.running,
      channels: [...this.#channels.keys()],
    };
  }

  /** What the last turns have planned is sent while the grace lasts. */
  async #sendLast(): Promise<void> {
    const { database, log } = this.#parts;
    try {
      const { deliveries } = await openWork(database);
      await Promise.all(deliveries.map(({ chat }) => this.#deliver.runOut(chat)));
    } catch (err) {
      log.warn({ err }, "what was left to send is sent at the next start");
    }
  }

  /**
   * No new work is begun; running turns and sends get `graceMs` to end, and what is left is given back for the next
   * start. What still comes in is committed. The database is open when it resolves.
   */
  async stop(graceMs: number): Promise<void> {
    this.#draining = true;
    this.#sweep?.cancel();
    this.#closing.abort(new Error("the gateway is stopping"));
    this.#keeping.memory.interrupt();
    const grace = this.#parts.clock.after(graceMs, () =>
      this.#cutOff.abort(new Error("the grace of the stop is over")),
    );
    await Promise.all([this.#dispatcher.close(), this.#beginning]);
    await this.#sendLast();
    if (graceMs > 0) await this.#keeping.memory.flush(this.#cutOff.signal);
    grace.cancel();
    this.#cutOff.abort(new Error("the gateway has stopped"));
    await Promise.all([...this.#channels.values()].map((channel) => closeChannel(channel, this.#parts)));
    this.#channels.clear();
  }
}

function toChat(key: string): ChatId {
  return Number(key) as ChatId; // keys of these topics are made from chat numbers
}
