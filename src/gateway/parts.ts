import type { AgentDesk } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import type { MakeDispatcher } from "../core/dispatcher.ts";
import type { ChannelFront } from "../core/channel.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Role } from "../core/role.ts";
import type { Wire } from "../core/wire.ts";
import type { Meter } from "../core/meter.ts";
import type { Rules } from "../core/rules.ts";
import type { Tracer } from "../core/tracing.ts";
import type { ConnectionShown } from "../core/standing.ts";
import type { MediaLimits } from "../media/limits.ts";
import type { Programs } from "../media/programs.ts";
import type { Workshop } from "../media/workshop.ts";
import type { AnswerSettings } from "../reply/plan.ts";
import type { FileBlobs } from "../store/blobs.ts";
import type { Database } from "../store/database.ts";
import type { Workspaces } from "../store/workspace.ts";

export type Cluster = {
  readonly role: Role;
  readonly wire: Wire;
  /** A connection that is open in another process; undefined for what the configuration does not name. */
  readonly front: (id: ChannelId) => ChannelFront | undefined;
};

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
  readonly dispatcher: MakeDispatcher;
  /** Where its work is counted and told of, if anywhere. */
  readonly meter?: Meter;
  readonly tracer?: Tracer;
  /** Names this process in holds; new at each start. */
  readonly owner: string;
  /** Whether other processes may be at the same facts: then what one leaves behind is taken over when its time is over. */
  readonly others: boolean;
  /** How this process is one of several. */
  readonly cluster?: Cluster;
};
