import type { proto } from "@whiskeysockets/baileys";
import type { ChannelHost } from "../../../../src/core/host.ts";
import { asError, GatewayError } from "../../../../src/core/errors.ts";
import type { Acks, Answer } from "./acks.ts";
import { standsAlone, textIn } from "./compose.ts";
import { connected, type Destination, type DestinationParts, lidOf } from "./destination.ts";
import { readyDevices } from "./devices.ts";
import type { Forms } from "./forms.ts";
import { isGroup } from "../people/jids.ts";
import type { Lane } from "./lane.ts";
import type { Account, Line } from "../line.ts";
import type { Outbox, Posted } from "./outbox.ts";
import type { Pace } from "./pace.ts";
import { refusal, type Remedy, remedyFor, RESTRICTED, TOO_FAST } from "./refusals.ts";
import type { Restrictions } from "./restrictions.ts";

/** One message as it is to stand in a chat. */
type Letter = {
  readonly id: string;
  readonly to: Destination;
  readonly forms: Forms;
  /** Called once: what was written before goes again as it was. */
  readonly make: () => Promise<proto.IMessage>;
  /** Of its stanza: "edit". */
  readonly attributes?: Readonly<Record<string, string>>;
};

export type PostParts = {
  readonly account: Account;
  readonly groups: DestinationParts["groups"];
  readonly host: Pick<ChannelHost, "clock" | "log">;
  readonly outbox: Outbox;
  readonly acks: Acks;
  readonly lane: Lane;
  readonly pace: Pace;
  readonly restrictions: Restrictions;
};

/** So often is a message written to a living connection that says nothing of it: once, and once more. */
const MOST_SILENCES = 2;

/**
 * Brings a message into a chat, once: it is kept before its first byte is written, and what was accepted is not written
 * again. Resolves when WhatsApp has accepted it.
 * @throws GatewayError "send.*"; an Error without a code where the outcome is unknown, and the same letter may go again.
 */
export async function post(letter: Letter, parts: PostParts, signal: AbortSignal): Promise<void> {
  const { outbox, restrictions } = parts;
  const { id } = letter;
  let { to } = letter;
  const before = await outbox.find(id);
  if (before?.accepted) return;
  if (!isGroup(to.jid)) await restrictions.check(to.chat);
  let posted: Posted = before ?? {
    chat: to.chat,
    jid: to.jid,
    message: await letter.make(),
    at: parts.host.clock.now(),
    silences: 0,
    accepted: false,
  };
  const tried = new Set<Remedy>();
  for (;;) {
    if (posted.silences >= MOST_SILENCES) throw unanswered();
    const { line } = connected(parts.account);
    await readyDevices(to, line, posted.silences > 0 || tried.has("devices"));
    posted = { ...posted, jid: to.jid };
    await outbox.keep(id, posted);
    const answer = await written(letter, posted, line, parts, signal);
    switch (answer.kind) {
      case "accepted":
        parts.pace.passed();
        await outbox.keep(id, { ...posted, accepted: true });
        return;
      case "lost":
        throw new Error("the connection to WhatsApp ended before a message was acknowledged");
      case "silent":
        parts.host.log.warn({ silences: posted.silences + 1 }, "WhatsApp did not acknowledge a message");
        posted = { ...posted, silences: posted.silences + 1 };
        await outbox.keep(id, posted);
        break;
      case "refused": {
        const remedy = remedyFor(answer.code, tried);
        const better = remedy && (await bettered(to, remedy, line, parts));
        if (remedy === undefined || better === undefined)
          throw refused(answer.code, letter, posted, line, parts);
        tried.add(remedy);
        to = better;
      }
    }
  }
}

/** The destination with what was out of date; nothing where it is not known better. */
async function bettered(
  to: Destination,
  remedy: Remedy,
  line: Line,
  { groups }: PostParts,
): Promise<Destination | undefined> {
  switch (remedy) {
    case "devices":
      return to;
    case "address": {
      const lid = await lidOf(to.jid, line);
      return lid === undefined ? undefined : { ...to, jid: lid };
    }
    case "group": {
      const group = await groups.refresh(to.jid);
      return group && { ...to, group };
    }
  }
}

/** Writes it, and waits for what WhatsApp says. */
async function written(
  { id, to, attributes }: Letter,
  { jid, message }: Posted,
  line: Line,
  { lane, acks, pace }: PostParts,
  signal: AbortSignal,
): Promise<Answer> {
  const expected = acks.expect(id, line);
  try {
    await lane.run(async () => {
      pace.took(to.chat);
      await line.socket.relayMessage(jid, message, {
        messageId: id,
        ...(attributes ? { additionalAttributes: attributes } : {}),
      });
    }, signal);
  } catch (thrown) {
    expected.drop();
    throw isNotWritten(thrown)
      ? new GatewayError("send.not_written", "a message could not be written to WhatsApp", { cause: thrown })
      : thrown;
  }
  return await expected.answer(signal);
}

/** Baileys found the connection closed, or could encrypt for nobody: both before the first byte. */
function isNotWritten(thrown: unknown): boolean {
  return /^(?:Connection Closed|All encryptions failed)$/.test(asError(thrown).message);
}

function refused(
  code: number,
  { to, forms }: Letter,
  { message }: Posted,
  line: Line,
  { pace, restrictions }: PostParts,
): GatewayError {
  const inGroup = isGroup(to.jid);
  if (code === RESTRICTED && !inGroup) restrictions.refused(to.chat, line);
  const kind = textIn(message) === undefined ? "media" : "text";
  const about = { kind, isGroup: inGroup, hasContext: !standsAlone(message), forms } as const;
  return refusal(code, about, code === TOO_FAST ? pace.blocked() : 0);
}

function unanswered(): GatewayError {
  return new GatewayError(
    "send.unanswered",
    `WhatsApp did not acknowledge a message that was written ${MOST_SILENCES} times; whether it arrived is not known`,
  );
}
