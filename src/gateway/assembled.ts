import type { AgentDefinition } from "../core/agent.ts";
import type { Channel, ChannelFront, PieceBody } from "../core/channel.ts";
import type { Place } from "../core/events.ts";
import type { ChannelId } from "../core/identity.ts";
import { isWorker } from "../core/role.ts";
import type { ChannelRules, Rules } from "../core/rules.ts";
import type { AttachmentLanes, AttachmentParts } from "../intake/attachments.ts";
import { Intake } from "../intake/intake.ts";
import { ownersOf } from "../intake/owners.ts";
import { gatherRules } from "../intake/waiting-rules.ts";
import { WaitingSigns } from "../intake/waiting-signs.ts";
import { type Deliver, deliver } from "../reply/deliver.ts";
import { planWords } from "../reply/plan.ts";
import type { Schedules } from "../schedules/schedules.ts";
import { liveIn } from "../turns/life.ts";
import { Tasks } from "../turns/tasks.ts";
import { Turns } from "../turns/turns.ts";
import type { Told } from "./between.ts";
import { Budgets } from "./budgets.ts";
import { Keeping } from "./keeping.ts";
import type { GatewayParts } from "./parts.ts";
import { scheduling } from "./scheduling.ts";
import type { Waking } from "./waking.ts";
import { fetching as fetchingWith, told, working } from "./working.ts";

/** Those who work on the way of a message, each handed what it needs of the others. */
export type Assembled = {
  readonly intake: Intake;
  readonly turns: Turns;
  readonly tasks: Tasks;
  readonly schedules: Schedules;
  readonly keeping: Keeping;
  readonly fetching: AttachmentParts;
  readonly deliver: Deliver;
};

export function assembled(
  parts: GatewayParts,
  by: {
    /** One that is open in this process. */
    readonly channel: (id: ChannelId) => Channel | undefined;
    readonly rules: () => Rules;
    readonly rulesIn: (
      id: ChannelId,
      place: Pick<Place, "chat" | "also">,
    ) => Promise<ChannelRules | undefined>;
    readonly wake: Waking;
    readonly tell: (told: Told) => void;
    readonly lanes: AttachmentLanes;
    /** Aborts as soon as the gateway is to stop. */
    readonly closing: AbortSignal;
    /** Aborts when the grace is over. */
    readonly cutOff: AbortSignal;
  },
): Assembled {
  const { database, cluster, clock, log } = parts;
  const { channel, closing, cutOff } = by;
  /** A connection as turns see it, wherever it is open. */
  const front = (id: ChannelId): ChannelFront | undefined => channel(id) ?? cluster?.front(id);
  const words = (id: ChannelId, text: string): readonly PieceBody[] => {
    const open = front(id);
    return open ? planWords(text, open) : [];
  };
  const budgets = new Budgets(by.rules);
  const keeping = new Keeping(parts, {
    agent: (name) => by.rules().agents.get(name),
    words,
    budgets,
    wake: by.wake,
  });
  const signs = new WaitingSigns({
    database,
    clock,
    log,
    channel,
    front,
    words,
    deliver: (chat) => by.wake.deliver(chat),
    closing: closing,
  });
  const intake = new Intake({
    database,
    clock,
    log,
    rules: parts.rules,
    words,
    connections: parts.connections,
    effects: {
      fetch: (attachment) => by.wake.fetch(attachment),
      turn: (chat, at, agent) => {
        by.wake.turn(chat, at);
        const definition = by.rules().agents.get(agent);
        if (definition && isWorker(cluster?.role ?? "all")) parts.runner.prepare(definition);
      },
      deliver: (chat) => by.wake.deliver(chat),
      stop: (chat) => by.tell({ is: "stop", chat }),
      resumed: (chat) => {
        by.tell({ is: "over", chat });
        by.wake.turn(chat);
      },
      interrupt: (chat) => by.tell({ is: "interrupt", chat }),
      sign: (waiting) => signs.show(waiting),
      unsign: (to, refs) => signs.takeBack(to, refs),
      correct: (chat, correction) => by.tell({ is: "correct", chat, correction }),
      forget: (chat, at) => {
        keeping.forgetting.begin(chat, at);
        by.tell({ is: "forget", chat });
        by.wake.forget(chat);
      },
    },
  });
  const agent = (name: string): AgentDefinition | undefined => by.rules().agents.get(name);
  const shared = working(parts, { channel: front, agent, lanes: by.lanes, budgets, cutOff });
  const schedules = scheduling(parts, {
    channel: front,
    rules: by.rules,
    rulesIn: (id, place) => by.rulesIn(id, place),
    wake: (id, at) => by.wake.schedule(id, at),
    turn: (chat) => by.wake.turn(chat),
  });
  const turns = new Turns({
    ...shared,
    schedules: (origin, who) => schedules.deskFor(origin, who),
    owner: parts.owner,
    others: parts.others,
    live: async (to) => liveIn(await by.rulesIn(to.channel, to), to.chat),
    kind: (id) => parts.connections().find((shown) => shown.id === id)?.kind ?? id,
    timeZone: () => by.rules().timeZone,
    owners: (id) => ownersOf(database.db, id, by.rules().channels.get(id)?.owner),
    deliver: (chat) => by.wake.deliver(chat),
    tasks: (origin) => tasks.deskFor(origin),
    memory: keeping.memory,
    exporting: (turn) => keeping.exporting(turn),
    mostTogether: async (to) => {
      const rules = await by.rulesIn(to.channel, to);
      return rules ? gatherRules(to, rules).messages : 1;
    },
    unsign: (to, refs) => signs.takeBack(to, refs),
    cutOff,
  });
  const tasks = new Tasks({
    ...shared,
    owner: parts.owner,
    unasked: (to) => schedules.forTask(to),
    wake: (row, at) => by.wake.task(row, at),
    changed: (row) => by.tell({ is: "task", row }),
    deliver: (chat) => by.wake.deliver(chat),
    closing: closing,
  });
  const fetching = fetchingWith(parts, {
    channel,
    agent,
    rules: by.rules,
    rulesIn: (id, place) => by.rulesIn(id, place),
    lanes: by.lanes,
    budgets,
    closing: closing,
  });
  const sender = parts.others ? { owner: parts.owner } : {};
  const sending = deliver({ ...told(parts), database, channel, clock, log, cutOff, ...sender });
  return { intake, turns, tasks, schedules, keeping, fetching, deliver: sending };
}
