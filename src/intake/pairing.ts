import type { Choice } from "../core/channel.ts";
import { type ChannelId, idsOf } from "../core/identity.ts";
import { say } from "../core/sentences.ts";
import { inQuotes, oneLine } from "../core/words.ts";
import { languageOfChat, privateChatOf } from "../store/chats.ts";
import { choiceKey, insertQuestion, type NewChoice } from "../store/choices.ts";
import {
  barredUntil,
  CODE_MS,
  endPairing,
  letIn,
  noteWrongCode,
  type Pairing,
  pairingCode,
  pairingOf,
  pendingPairings,
} from "../store/pairing.ts";
import { grant, grantOf } from "../store/people.ts";
import { insertPieces } from "../store/pieces.ts";
import { type About, answer, rulesFor } from "./about.ts";
import { ownersOf } from "./owners.ts";

const NAME_LENGTH = 80;

/** A stranger asks to be let in: they get a code, and the owner is asked. Whether they were told anything. */
export async function askToBeLetIn(about: About): Promise<boolean> {
  const { trx, channel, chat, event, now, after, log } = about;
  const code = await pairingCode(trx, { channel, person: event.from.id, now });
  if (code === undefined) return false;
  await answer(about, "stranger.code", { code });
  await askOwner(about);
  after.push(() => log.info({ channel, chat }, "a stranger asks to be let in; perch pair lists who"));
  return true;
}

/** The owner is asked where they last wrote to this connection in private; elsewhere nobody is. */
async function askOwner(about: About): Promise<void> {
  const { trx, channel, event, now, after, effects } = about;
  const owners = await ownersOf(trx, channel, rulesFor(about)?.owner);
  const place = await privateChatOf(trx, channel, owners, "known");
  const name = oneLine(event.from.name).slice(0, NAME_LENGTH).toWellFormed();
  if (!place) return;
  const language = await languageOfChat(trx, place.chat);
  const [body] = about.words(channel, say("pair.asks", language, { name: inQuotes(name) }));
  if (body?.kind !== "text") return;
  const choices: readonly NewChoice[] = [
    { key: choiceKey(), label: say("pair.allow", language), means: "allow" },
    { key: choiceKey(), label: say("pair.refuse", language), means: "refuse" },
  ];
  const buttons = choices.map(({ key, label }): Choice => ({ key, label }));
  const { chat, to, person } = place;
  await insertPieces(trx, [{ chat, to, turn: 0, seq: 0, body: { ...body, choices: buttons } }], now);
  await insertQuestion(trx, {
    chat,
    person,
    subject: event.from.id,
    rendered: body.rendered,
    choices,
    expiresAt: now + CODE_MS,
  });
  after.push(() => effects.deliver(chat));
}

/** The owner's decision about somebody in their own connection; whether that was still to be decided. */
export async function decide(about: About, person: string, decision: "allow" | "refuse"): Promise<boolean> {
  const { trx, channel, now } = about;
  if (!(await endPairing(trx, { channel, person }, now))) return false;
  if (decision === "allow") await welcome(about, { channel, person });
  else await grant(trx, { channel, person, role: "refused", grantedBy: nameOf(about), at: now });
  return true;
}

/** `/pair`: lets in whoever was given the code, also in another connection; without one it tells how many wait. */
export async function pair(about: About, code: string | undefined): Promise<void> {
  const { trx, channel, event, now } = about;
  const typist = { channel, person: event.from.id, now };
  if (code === undefined) {
    const { length: count } = await pendingPairings(trx, now);
    return await answer(about, "pair.waiting", { count });
  }
  const barred = await barredUntil(trx, typist);
  if (barred !== undefined)
    return await answer(about, "pair.barred", { minutes: Math.ceil((barred - now) / 60_000) });
  const pairing = await pairingOf(trx, code, now);
  if (!pairing || !(await decidesIn(about, pairing.channel)) || !(await endPairing(trx, pairing, now))) {
    await noteWrongCode(trx, typist);
    return await answer(about, "pair.unknown");
  }
  await welcome(about, pairing);
  return await answer(about, "pair.done", { channel: pairing.channel });
}

/**
 * Whether an owner of this connection decides about strangers of that one: whom the operator has named does everywhere,
 * who became one by a start link only where they are one. Else a friend with a bot of their own could let themselves in.
 */
async function decidesIn({ trx, rules, channel, event }: About, other: ChannelId): Promise<boolean> {
  const ids = idsOf(event.from);
  const owns = (id: ChannelId): boolean => ids.some((each) => rules.channels.get(id)?.owner === each);
  if (other === channel || owns(channel) || owns(other)) return true;
  return (await grantOf(trx, other, ids))?.role === "owner";
}

async function welcome(
  about: About,
  { channel, person }: Pick<Pairing, "channel" | "person">,
): Promise<void> {
  const { trx, now, after, effects, log } = about;
  const by = { grantedBy: nameOf(about), sentence: say("pair.welcome"), now };
  const chat = await letIn(trx, { channel, person }, by);
  after.push(() => {
    log.info({ channel, ...(chat === undefined ? {} : { chat }) }, "the owner has let somebody in");
    if (chat !== undefined) effects.deliver(chat);
  });
}

/** Who has decided, as `perch people` prints it. */
function nameOf({ channel, event }: About): string {
  return `${channel} ${event.from.id}`;
}
