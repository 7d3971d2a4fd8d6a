import { isHostedLidUser, isHostedPnUser, type WASocket } from "@whiskeysockets/baileys";
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
    const jids = devices.map(({ jid }) => jid);
    const reached = new Set(jids.map(plain));
    const isKnown = to.group ? reached.size > 0 : reached.has(to.jid);
    if (!isKnown)
      throw new GatewayError("send.not_written", "WhatsApp did not say which devices the recipient has");
    await readyKeys(to.group ? await withoutGroupKey(to.jid, jids, socket) : jids, socket);
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : failedQuery(thrown);
  }
}

/** Members that were not given the group's key yet, which each is given over a session of its own; not Meta's own servers. */
async function withoutGroupKey(
  group: string,
  jids: readonly string[],
  { authState }: WASocket,
): Promise<readonly string[]> {
  const { [group]: given = {} } = await authState.keys.get("sender-key-memory", [group]);
  return jids.filter((jid) => !given[jid] && !isHostedLidUser(jid) && !isHostedPnUser(jid));
}

/** Who gave no keys when they were asked for: some never do, and are not waited for again. */
const keyless = new WeakMap<WASocket, Set<string>>();

async function readyKeys(jids: readonly string[], socket: WASocket): Promise<void> {
  if (jids.length === 0) return;
  await socket.assertSessions([...jids]);
  const known = keyless.get(socket) ?? new Set<string>();
  keyless.set(socket, known);
  let isNew = false;
  for (const jid of jids) {
    if (known.has(jid) || (await socket.signalRepository.validateSession(jid)).exists) continue;
    known.add(jid);
    isNew = true;
  }
  if (isNew)
    throw new GatewayError("send.not_written", "WhatsApp did not give the keys of the recipient's devices");
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
