import type { AgentDesk } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import type { Dispatcher, Topic, Work } from "../core/dispatcher.ts";
import type { Log } from "../core/log.ts";
import type { Rules } from "../core/rules.ts";
import type { ConnectionShown } from "../core/standing.ts";
import type { MediaLimits } from "../media/limits.ts";
import type { Programs } from "../media/programs.ts";
import type { Workshop } from "../media/workshop.ts";
import type { AnswerSettings } from "../reply/plan.ts";
import type { FileBlobs } from "../store/blobs.ts";
import type { Database } from "../store/database.ts";
import type { Workspaces } from "../store/workspace.ts";

/** What a gateway is made of. */
export type GatewayParts = {
  readonly database: Database;
  readonly blobs: FileBlobs;
  readonly workspaces: Workspaces;
  readonly workshop: Workshop;
  readonly programs: Programs;
  readonly runner: AgentDesk;
  readonly rules: Rules;
  readonly media: MediaLimits & { readonly uploadDays: number };
  readonly answers: AnswerSettings;
  readonly turnsAtOnce: number;
  /** Where each connection stands now. */
  readonly connections: () => readonly ConnectionShown[];
  readonly clock: Clock;
  readonly log: Log;
  /** Makes what says who works on what, when. */
  readonly dispatcher: (works: Readonly<Record<Topic, Work>>, clock: Clock, log: Log) => Dispatcher;
  /** Names this process in holds; new at each start. */
  readonly owner: string;
};
