import type { MessageEvent, StopEvent } from "../core/events.ts";
import { grant, useClaimCode } from "../store/people.ts";
import { type About, answer, rulesFor } from "./about.ts";
import { admit } from "./admit.ts";
import { help } from "./commands.ts";
import { askToBeLetIn } from "./pairing.ts";
import { spentNotice } from "./quota.ts";

const HOUR_MS = 3_600_000;
/** A stranger who writes every hour is told once a day that the bot is private. */
const POLITE_AGAIN_MS = 24 * HOUR_MS;

/** Somebody has opened the start link. */
export async function claim(about: About<MessageEvent | StopEvent>, code: string): Promise<void> {
  const { trx, channel, chat, event, now, after, log } = about;
  // A link that was printed before the operator named the owner is worth nothing afterwards.
  const named = rulesFor(about)?.owner !== undefined;
  if (!named && (await useClaimCode(trx, channel, code))) {
    await grant(trx, { channel, person: event.from.id, role: "owner", grantedBy: "start link", at: now });
    after.push(() => log.info({ channel, chat }, "the start link was used: the connection has an owner"));
    return await answer(about, "owner.welcome");
  }
  const known = admit(withoutText(event), rulesFor(about), about.granted);
  return await (known.kind === "refused" ? stranger(about) : help(about));
}

/** What those get who may not talk here, or not now: nothing, or a sentence once in a while. */
export async function stranger(about: About<MessageEvent | StopEvent>): Promise<void> {
  const { trx, channel, event, toldAt, now } = about;
  if (now - toldAt < HOUR_MS || !(await tell(about))) return;
  await grant(trx, { channel, person: event.from.id, role: "stranger", grantedBy: "", at: now });
}

/** Whether anything was said. */
async function tell(about: About): Promise<boolean> {
  const { event, granted, toldAt, now } = about;
  const rules = rulesFor(about);
  if (!rules) return false;
  if (granted === "spent") {
    const { key, values } = await spentNotice(about);
    await answer(about, key, values);
    return true;
  }
  if (event.place.kind !== "private") return false;
  switch (rules.strangers) {
    case "silent":
      return false;
    case "polite":
      if (now - toldAt < POLITE_AGAIN_MS) return false;
      await answer(about, "stranger.refused");
      return true;
    case "pair":
      return await askToBeLetIn(about);
  }
}

/** The same event with nothing in it that could be a command: only who and where are asked for. */
function withoutText(event: MessageEvent | StopEvent): MessageEvent | StopEvent {
  return event.type === "message" ? { ...event, content: [] } : event;
}
