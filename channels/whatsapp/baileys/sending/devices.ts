import { GatewayError } from "../../../../src/core/errors.ts";
import type { Destination } from "./destination.ts";
import { plain } from "../people/jids.ts";
import type { Line } from "../line.ts";

/**
 * Asks for all that a message to somebody needs, before it is written: which devices they have, and keys for them. Baileys
 * would ask while it holds up all other messages, and writes one without recipients where the answer is lost.
 * @param fresh whether what is remembered is out of date.
 * @throws GatewayError "send.not_written" where the answer is lost, "send.rate_limited".
 */
export async function readyDevices(to: Destination, { socket }: Line, fresh: boolean): Promise<void> {
  const people = to.group ? to.group.participants.map(({ id }) => id) : [to.me, to.jid];
  try {
    const devices = await socket.getUSyncDevices([...new Set(people)], !fresh, false);
    const reached = new Set(devices.map(({ jid }) => plain(jid)));
    const isKnown = to.group ? reached.size > 0 : reached.has(to.jid);
    if (!isKnown)
      throw new GatewayError("send.not_written", "WhatsApp did not say which devices the recipient has");
    // In a group most have their keys already; Baileys asks for the others'.
    if (!to.group) await socket.assertSessions(devices.map(({ jid }) => jid));
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : failedQuery(thrown);
  }
}

/** Baileys throws what WhatsApp answers as an error whose `data` is WhatsApp's code. */
function failedQuery(thrown: unknown): GatewayError {
  const words = "the devices of the recipient could not be asked for";
  const isTooMany = thrown instanceof Error && "data" in thrown && thrown.data === TOO_MANY;
  return isTooMany
    ? new GatewayError("send.rate_limited", `${words}: WhatsApp asks to wait`, { cause: thrown })
    : new GatewayError("send.not_written", words, { cause: thrown });
}

const TOO_MANY = 429;
