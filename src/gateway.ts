import { setMaxListeners } from "node:events";
import type { Channel } from "./core/channel.ts";
import type { CommandWords } from "./core/host.ts";
import { closeChannel } from "./core/close-channel.ts";
import type { Dispatcher, Works } from "./core/dispatcher.ts";
import { asError } from "./core/errors.ts";
import type { InboundEvent, Place } from "./core/events.ts";
import type { ChannelId, ChatId } from "./core/identity.ts";
import type { ChannelRules, Rules } from "./core/rules.ts";
import { isWorker } from "./core/role.ts";
import type { Language } from "./core/sentences.ts";
import { assembled } from "./gateway/assembled.ts";
import { Between } from "./gateway/between.ts";
import type { Keeping } from "./gateway/keeping.ts";
import type { GatewayParts } from "./gateway/parts.ts";
import { runSuspects } from "./gateway/suspects.ts";
import { placesIn, Waking } from "./gateway/waking.ts";
import { AttachmentLanes, type AttachmentParts, fetchAttachment } from "./intake/attachments.ts";
import { commandWords } from "./intake/command-words.ts";
import { rulesByEachId } from "./intake/moves.ts";
import type { Intake } from "./intake/intake.ts";
import { DISTILLED_AT_ONCE } from "./memory/memory.ts";
import type { Deliver } from "./reply/deliver.ts";
import type { Schedules } from "./schedules/schedules.ts";
import { answers } from "./store/answers.ts";
import { openWork, recover } from "./store/upkeep.ts";
import type { Tasks } from "./turns/tasks.ts";
import type { Turns } from "./turns/turns.ts";

/** Wake-ups may be lost; the facts are gone over this often. */
const SWEEP_MS = 30_000;
const DELIVERIES_AT_ONCE = 64;
const TASKS_AT_ONCE = 8;
const SCHEDULES_AT_ONCE = 4;

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
  readonly #wake: Waking;
  readonly #between: Between;
  readonly #intake: Intake;
  readonly #lanes = new AttachmentLanes();
  readonly #turns: Turns;
  readonly #tasks: Tasks;
  readonly #schedules: Schedules;
  readonly #keeping: Keeping;
  readonly #fetching: AttachmentParts;
  readonly #deliver: Deliver;
  #rules: Rules;
  #beginning: Promise<void> | undefined;
  #firstOver: Promise<void> | undefined;
  #begun = false;
  #draining = false;
  #intakeFault: string | undefined;

  constructor(parts: GatewayParts) {
    const { database, clock, log } = parts;
    const channel = (id: ChannelId): Channel | undefined => this.#channels.get(id);
    setMaxListeners(0, this.#closing.signal); // all attachments that wait listen to it
    this.#parts = parts;
    this.#rules = parts.rules;
    const { cluster } = parts;
    const role = cluster?.role ?? "all";
    const placed = cluster !== undefined;
    const atConnections: Works = {
      // Whoever waits costs next to nothing; how much is done at once, the lanes say.
      fetch: { concurrency: Infinity, placed, run: (key) => this.#fetch(Number(key)) },
      deliver: { concurrency: DELIVERIES_AT_ONCE, placed, run: (key) => this.#send(toChat(key)) },
    };
    const ofAgents: Works = {
      turn: { concurrency: parts.turnsAtOnce, run: (key) => this.#turn(toChat(key)) },
      task: { concurrency: TASKS_AT_ONCE, run: (key) => this.#task(Number(key)) },
      memory: { concurrency: DISTILLED_AT_ONCE, run: (key) => this.#distil(key) },
      schedule: { concurrency: SCHEDULES_AT_ONCE, run: (key) => this.#schedule(Number(key)) },
      forget: { concurrency: 1, run: (key) => this.#forget(toChat(key)) },
      sweep: { concurrency: 1, run: () => this.#goOver() },
    };
    const works = { ...(role === "workers" ? {} : atConnections), ...(isWorker(role) ? ofAgents : {}) };
    this.#dispatcher = parts.dispatcher(works, clock, log);
    this.#wake = new Waking({
      dispatcher: this.#dispatcher,
      clock,
      log,
      ...(placed ? { places: placesIn(database) } : {}),
    });
    this.#between = new Between(cluster?.wire, {
      atWork: () => ({ turns: this.#turns, tasks: this.#tasks }),
      channel,
      closing: this.#closing.signal,
    });
    const made = assembled(parts, {
      channel,
      rules: () => this.#rules,
      rulesIn: (id, place) => this.#rulesIn(id, place),
      wake: this.#wake,
      tell: (told) => this.#between.tell(told),
      lanes: this.#lanes,
      closing: this.#closing.signal,
      cutOff: this.#cutOff.signal,
    });
    this.#intake = made.intake;
    this.#turns = made.turns;
    this.#tasks = made.tasks;
    this.#schedules = made.schedules;
    this.#keeping = made.keeping;
    this.#fetching = made.fetching;
    this.#deliver = made.deliver;
  }

  /** Takes over what an earlier process left; work begins with `begin`, when the connections are open. */
  async start(): Promise<void> {
    const { database, clock, log, others } = this.#parts;
    const recovered = others ? undefined : await recover(database, clock.now());
    await this.#keeping.forgetting.beginAll();
    await this.#schedules.takeUp(this.#rules);
    if (recovered && recovered.turns > 0)
      log.warn({ ...recovered }, "an earlier process ended in the middle of turns; they go on");
  }

  /** Begins the work that the facts know of: first, alone, what was in flight when earlier processes ended. */
  async begin(): Promise<void> {
    this.#beginning = runSuspects(this.#parts, {
      fetch: (attachment) => this.#fetchOne(attachment, { alone: true }),
      turn: async (chat) => {
        await this.#turns.run(chat);
        this.#wake.deliver(chat);
      },
      draining: () => this.#draining,
    });
    await this.#beginning;
    this.#begun = true;
    this.#firstOver = this.#goOver();
    await this.#firstOver;
    if (!this.#draining) this.#dispatcher.every("sweep", SWEEP_MS);
  }

  /** A channel that was opened: what waits for it goes on. Never rejects. */
  async opened(id: ChannelId, channel: Channel): Promise<void> {
    this.#channels.set(id, channel);
    this.#wake.renamed();
    this.#dispatcher.serve(id);
    if (!this.#begun) return;
    await this.wakeAll().catch((err: unknown) => {
      this.#parts.log.warn({ channel: id, err }, "what waits for a connection is found a little later");
    });
  }

  /** Resolves when nothing is done at the connection any more. */
  async closed(id: ChannelId): Promise<void> {
    this.#channels.delete(id);
    await this.#dispatcher.leave(id);
  }

  /** A changed configuration: the next event and the next turn go by it. */
  use(rules: Rules): void {
    this.#rules = rules;
    this.#intake.use(rules);
    void this.#schedules.use(rules);
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
      this.#parts.meter?.accepted(channel, events.length);
      return shown;
    } catch (error) {
      this.#intakeFault = asError(error).message;
      this.#parts.meter?.refused(channel, events.length);
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
    const fetched = await fetchAttachment(attachment, this.#fetching, how);
    if (!fetched) return;
    for (const further of fetched.further) this.#wake.fetch(further);
    this.#wake.turn(fetched.chat);
  }

  async #turn(chat: ChatId): Promise<void> {
    if (!this.#working) return;
    const again = await this.#turns.run(chat);
    this.#wake.deliver(chat);
    this.#between.tell({ is: "over", chat });
    if (again !== undefined) this.#wake.turn(chat, again);
    await this.#wake.settled();
  }

  async #task(row: number): Promise<void> {
    if (!this.#working) return;
    const again = await this.#tasks.run(row);
    if (again !== undefined) this.#wake.task(row, again);
    await this.#wake.settled();
  }

  async #schedule(id: number): Promise<void> {
    if (!this.#working) return;
    const again = await this.#schedules.run(id);
    if (again !== undefined) this.#wake.schedule(id, again);
  }

  async #distil(key: string): Promise<void> {
    if (this.#working) await this.#keeping.memory.run(key);
  }

  async #forget(chat: ChatId): Promise<void> {
    if (!this.#working) return;
    const again = await this.#keeping.forgetting.run(chat);
    if (again !== undefined) this.#wake.forget(chat, again);
  }

  async #send(chat: ChatId): Promise<void> {
    // While suspects run alone, commands are answered: what is sent cannot be taken for what ended the process.
    if (!this.#beginning) return;
    const again = await this.#deliver.run(chat);
    if (again !== undefined) this.#wake.deliver(chat, again);
  }

  /** Wakes all work that the facts know of. */
  async wakeAll(): Promise<void> {
    const now = this.#parts.clock.now();
    const work = await openWork(this.#parts.database, now);
    // Not later than the next time over: a clock that was set back makes times of hours ahead.
    const soon = (at: number): number => Math.min(at, now + SWEEP_MS);
    for (const { chat, at } of work.turns) this.#wake.turn(chat, soon(at));
    for (const { chat, at, channel } of work.deliveries) this.#wake.deliver(chat, soon(at), channel);
    for (const { row, at } of work.tasks) this.#wake.task(row, soon(at));
    for (const { id, channel } of work.attachments) this.#wake.fetch(id, channel);
    await this.#keeping.wakeAll(soon);
    await this.#schedules.wakeAll(soon);
  }

  async #goOver(): Promise<void> {
    const { log } = this.#parts;
    if (!this.#working) return;
    try {
      await this.wakeAll();
      await this.#keeping.goOver();
    } catch (err) {
      log.error({ err }, "the facts could not be gone over, again soon");
    }
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

  /**
   * What `/readyz` says: whether what comes in now can be committed and worked on. While it is not, platforms keep what they
   * have.
   */
  async ready(): Promise<{ readonly ok: boolean; readonly [detail: string]: unknown }> {
    const { database, clock } = this.#parts;
    const store = await answers(database, clock);
    const dispatcher = await this.#dispatcher.away();
    const draining = this.#draining;
    return {
      ok: store === undefined && dispatcher === undefined && this.#begun && !draining,
      begun: this.#begun,
      draining,
      ...(store === undefined ? {} : { store }),
      ...(dispatcher === undefined ? {} : { dispatcher }),
    };
  }

  /** What the last turns have planned is sent while the grace lasts. */
  async #sendLast(): Promise<void> {
    const { database, log } = this.#parts;
    try {
      const { deliveries } = await openWork(database, this.#parts.clock.now());
      const ours = deliveries.filter(({ channel }) => this.#channels.has(channel));
      await Promise.all(ours.map(({ chat }) => this.#deliver.runOut(chat)));
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
    this.#closing.abort(new Error("the gateway is stopping"));
    this.#keeping.memory.interrupt();
    const grace = this.#parts.clock.after(graceMs, () =>
      this.#cutOff.abort(new Error("the grace of the stop is over")),
    );
    await Promise.all([this.#dispatcher.close(), this.#beginning, this.#firstOver]);
    await this.#sendLast();
    // Beside others it is not the end: they go through it when it is quiet.
    if (graceMs > 0 && !this.#parts.cluster) await this.#keeping.memory.flush(this.#cutOff.signal);
    grace.cancel();
    this.#cutOff.abort(new Error("the gateway has stopped"));
    this.#between.close();
    await Promise.all([...this.#channels.values()].map((channel) => closeChannel(channel, this.#parts)));
    this.#channels.clear();
  }
}

function toChat(key: string): ChatId {
  return Number(key) as ChatId; // keys of these topics are made from chat numbers
}
