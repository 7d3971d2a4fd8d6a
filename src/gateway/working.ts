import { join } from "node:path";
import type { AgentDefinition, Look } from "../core/agent.ts";
import type { Bounded } from "../core/bounds.ts";
import type { Channel, ChannelFront } from "../core/channel.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Place } from "../core/events.ts";
import type { ChannelRules, Rules } from "../core/rules.ts";
import { contextFor } from "../intake/admit.ts";
import type { AttachmentLanes, AttachmentParts } from "../intake/attachments.ts";
import { lookFor } from "../intake/look.ts";
import { answering } from "../reply/answering.ts";
import type { Budgets } from "./budgets.ts";
import type { GatewayParts } from "./parts.ts";

/** What turns and background tasks work with alike. */
export function working(
  parts: GatewayParts,
  by: {
    readonly channel: (id: ChannelId) => ChannelFront | undefined;
    readonly agent: (name: string) => AgentDefinition | undefined;
    readonly lanes: AttachmentLanes;
    readonly budgets: Budgets;
    readonly cutOff: AbortSignal;
  },
) {
  const { database, runner, blobs, workshop, workspaces, answers, media, clock, log } = parts;
  const { channel, agent, lanes, budgets, cutOff } = by;
  return {
    ...told(parts),
    database,
    runner,
    clock,
    log,
    channel,
    agent,
    budgets,
    pieces: answering({
      outputs: (chat) => join(workspaces.folderOf(chat), "outputs"),
      answers,
      blobs,
      workshop,
      imagePixels: media.imagePixels,
      clock,
      log,
      signal: cutOff,
    }),
    folder: (chat: ChatId): string => workspaces.folderOf(chat),
    look: (chat: ChatId, of: AgentDefinition, bounded?: Bounded): Look =>
      lookFor(
        chat,
        of,
        { ...parts, limits: media, senses: (definition) => runner.senses(definition), lanes },
        bounded && { database, bounded },
      ),
  };
}

/** Where work is counted and told of, if anywhere. */
export function told({ meter, tracer }: Pick<GatewayParts, "meter" | "tracer">) {
  return { ...(meter ? { meter } : {}), ...(tracer ? { tracer } : {}) };
}

/** What attachments are fetched with. */
export function fetching(
  parts: GatewayParts,
  by: {
    readonly channel: (id: ChannelId) => Channel | undefined;
    readonly agent: (name: string) => AgentDefinition | undefined;
    readonly rules: () => Rules;
    readonly rulesIn: (id: ChannelId, place: Place) => Promise<ChannelRules | undefined>;
    readonly lanes: AttachmentLanes;
    readonly budgets: Budgets;
    readonly closing: AbortSignal;
  },
): AttachmentParts {
  const { channel, agent, lanes, closing } = by;
  return {
    ...parts,
    channel,
    agent,
    senses: (definition) => parts.runner.senses(definition),
    names: (id) => by.rules().channels.get(id)?.names ?? [],
    context: async (id, place) => contextFor({ place }, await by.rulesIn(id, place)),
    bounded: (task) => by.budgets.ofSender(parts.database.db, task),
    lanes,
    limits: parts.media,
    closing,
  };
}
