import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  AgentAnswer,
  AgentDefinition,
  AgentDesk,
  AgentRunner,
  AgentTurn,
} from "../../src/core/agent.ts";
import type { ConnectionShown } from "../../src/core/standing.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { Meter } from "../../src/core/meter.ts";
import type { Tracer } from "../../src/core/tracing.ts";
import type { ChannelRules, Rules } from "../../src/core/rules.ts";
import { inProcess } from "../../src/dispatch/in-process.ts";
import { Gateway } from "../../src/gateway.ts";
import type { AnswerSettings } from "../../src/reply/plan.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { channelState } from "../../src/store/channel-state.ts";
import type { Database } from "../../src/store/database.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { Workspaces } from "../../src/store/workspace.ts";
import type { Programs } from "../../src/media/programs.ts";
import { inThisProcess, type Workshop } from "../../src/media/workshop.ts";
import { MEDIA_LIMITS } from "./media.ts";
import { manualClock } from "./clock.ts";
import { serverAgain } from "./database.ts";
import { type LoggedLine, memoryJournal, memoryLog, NO_STUDIO } from "./channel-host.ts";
import { ToyPlatform, toyKind } from "./toy-channel.ts";

export const AGENT: AgentDefinition = {
  name: "helper",
  prompt: "",
  model: { provider: "demo", name: "" },
  files: false,
  limits: { turnSeconds: 600, messages: 100, characters: 100_000, mediaTurns: 3 },
};

export const OPEN_TO_ADA: ChannelRules = {
  allow: ["ada", "bob"],
  deny: [],
  open: false,
  strangers: "silent",
  turnsPerHour: 20,
  agent: "helper",
  names: [],
  edits: { running: "wait", answered: "note" },
  reactions: "note",
  context: 0,
  away: { answerMs: 24 * 3_600_000, digestMs: 7 * 24 * 3_600_000 },
  pauseMs: 0,
  unaskedPerDay: 20,
  gather: {
    textMs: 300,
    fragmentMs: 1_500,
    mediaMs: 1_500,
    albumMs: 1_000,
    forwardMs: 300,
    longestMs: 10_000,
    messages: 12,
    characters: 50_000,
  },
  during: "steer",
  queueLimit: 20,
  waitingSign: "reaction",
  commands: {},
  chats: {},
};

export type TestGateway = {
  readonly gateway: Gateway;
  readonly platform: ToyPlatform;
  readonly database: Database;
  readonly blobs: FileBlobs;
  readonly folder: string;
  /** To open the connection again. */
  readonly host: ChannelHost;
  readonly kind: ReturnType<typeof toyKind>;
  readonly logged: LoggedLine[];
  /** What the agent was asked, in order. */
  readonly asked: AgentTurn[];
  /** The agents that were to be loaded ahead. */
  readonly prepared: string[];
  /** Ends it as `kill -9` would: nothing is told, nothing is given back. */
  kill(): Promise<void>;
  close(): Promise<void>;
};

export type TestGatewayOptions = {
  readonly clock?: Clock;
  /** Of an earlier gateway, to go on as after a restart. */
  readonly folder?: string;
  /** Whether other processes may be at the same facts. */
  readonly others?: true;
  readonly platform?: ToyPlatform;
  readonly idempotent?: true;
  readonly rules?: Partial<ChannelRules>;
  /** IANA, of the agents; this machine's without it. */
  readonly timeZone?: string;
  readonly schedules?: Rules["schedules"];
  readonly budgets?: Rules["budgets"];
  readonly agents?: readonly AgentDefinition[];
  /** A real runner, where the test is about threads. */
  readonly runner?: (database: Database, blobs: FileBlobs) => AgentRunner & Partial<AgentDesk>;
  /** What the scripted agent does beside its turns; see `NO_DESK`. */
  readonly desk?: Partial<DeskWork>;
  readonly answers?: Partial<AnswerSettings>;
  /** False where the work that it begins with never ends. */
  readonly awaitBegin?: false;
  readonly limits?: Partial<typeof MEDIA_LIMITS>;
  /** Where untrusted bytes are read; in this process without one. */
  readonly workshop?: (blobs: FileBlobs) => Workshop;
  /** No ffmpeg without it. */
  readonly programs?: Programs;
  /** Where the connections stand, as the owner is told. */
  readonly connections?: () => readonly ConnectionShown[];
  /** Where its work is counted and told of. */
  readonly told?: { readonly meter: Meter; readonly tracer: Tracer };
  readonly answer?: (turn: AgentTurn, signal: AbortSignal) => Promise<string> | string;
};

const onServer = serverAgain();
/** By the folder that belongs to it. */
const databases = new Map<string, Database>();

/** What was opened with the folder before, or a new one. */
async function openIn(folder: string): Promise<Database> {
  if (!onServer) return await openSqlite(join(folder, "perch.db"));
  const database = await onServer(databases.get(folder));
  databases.set(folder, database);
  return database;
}

/** The real gateway on a real database, with a toy platform and an agent that says what the test wants. */
export async function testGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const clock = options.clock ?? manualClock();
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), "perch-gateway-")));
  const platform = options.platform ?? new ToyPlatform();
  const database = await openIn(folder);
  const blobs = new FileBlobs(join(folder, "blobs"));
  const logged: LoggedLine[] = [];
  const asked: AgentTurn[] = [];
  const prepared: string[] = [];
  const scripted: AgentRunner = {
    prepare: (agent) => void prepared.push(agent.name),
    senses: async () => ({ images: true, pdf: true, audio: false }),
    async run(turn, signal): Promise<AgentAnswer> {
      asked.push(turn);
      const answer = options.answer ?? ((of) => `heard: ${textOf(of)}`);
      return { markdown: await answer(turn, signal), replayed: false, refused: [] };
    },
  };
  const runner: AgentDesk = {
    ...NO_DESK,
    ...(options.runner?.(database, blobs) ?? scripted),
    ...options.desk,
  };
  const agents = options.agents ?? [AGENT];
  const rules: Rules = {
    channels: new Map([["toy", { ...OPEN_TO_ADA, ...options.rules }]]),
    agents: new Map(agents.map((agent) => [agent.name, agent])),
    ...(options.timeZone === undefined ? {} : { timeZone: options.timeZone }),
    ...(options.schedules === undefined ? {} : { schedules: options.schedules }),
    ...(options.budgets === undefined ? {} : { budgets: options.budgets }),
  };
  const log = memoryLog(logged);
  const gateway = new Gateway({
    database,
    blobs,
    runner,
    rules,
    workspaces: new Workspaces(join(folder, "chats"), blobs),
    workshop: options.workshop?.(blobs) ?? inThisProcess(blobs),
    programs: options.programs ?? { environment: {}, ffmpeg: undefined },
    media: { ...MEDIA_LIMITS, ...options.limits },
    answers: { mediaHosts: [], ...options.answers },
    turnsAtOnce: 16,
    connections: options.connections ?? (() => []),
    dispatcher: inProcess,
    ...options.told,
    clock,
    log,
    owner: `test-${Math.random()}`,
    others: options.others ?? false,
  });
  await gateway.start();
  const host: ChannelHost = {
    id: "toy",
    stateDir: folder,
    log,
    clock,
    accept: (events) => gateway.accept("toy", events),
    commands: (language) => gateway.commands("toy", language),
    state: channelState(database, "toy", { owner: "test", clock }),
    journal: memoryJournal,
    studio: NO_STUDIO,
    blobs,
    http: { origin: "", loopback: true, mount: () => () => {} },
    failed: () => {},
    recovered: () => {},
    stands: () => {},
  };
  const kind = toyKind(platform, options.idempotent ? { idempotent: true } : {});
  await gateway.opened("toy", await kind.open({}, host));
  const begun = gateway.begin();
  if (options.awaitBegin !== false) await begun;
  return {
    gateway,
    platform,
    database,
    blobs,
    folder,
    host,
    kind,
    logged,
    asked,
    prepared,
    kill: () => database.close(),
    async close() {
      await gateway.stop(0);
      await database.close();
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

type DeskWork = Omit<AgentDesk, keyof AgentRunner>;

/** Work beside turns that comes to next to nothing. */
const NO_DESK: DeskWork = {
  compact: async () => ({ done: false, now: { messages: 0, tokens: 0, estimated: true, window: 1 } }),
  distil: async ({ after }) => ({ facts: [], upTo: after, more: false, uses: [] }),
  talk: async () => [],
  work: async ({ prompt }) => `did: ${prompt}`,
};

export function textOf(turn: AgentTurn): string {
  return turn.content.map((block) => (block.type === "text" ? block.text : `<${block.type}>`)).join(" ");
}
