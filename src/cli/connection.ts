import type { Config } from "../config/load.ts";
import type { ChannelKind } from "../core/channel.ts";
import { GatewayError } from "../core/errors.ts";
import type { ChannelId } from "../core/identity.ts";
import { kinds } from "./kinds.ts";

/** A connection that is not off, as perch.yaml has it. @throws GatewayError "config.invalid" where there is none. */
export async function connectionIn(
  config: Config,
  id: ChannelId,
): Promise<{ readonly kind: ChannelKind<unknown>; readonly settings: unknown }> {
  const channel = config.channels.get(id);
  if (!channel) {
    const names = [...config.channels.keys()].join(", ");
    throw new GatewayError(
      "config.invalid",
      `there is no connection "${id}" in perch.yaml; name one of: ${names}`,
    );
  }
  if (channel.off)
    throw new GatewayError("config.invalid", `${id} is off; set ${channel.off.set.join(", ")} first`);
  const kind = await kinds.load(channel.kind);
  if (!kind) throw new GatewayError("config.invalid", `there is no channel kind ${channel.kind}`);
  return { kind, settings: channel.settings };
}
