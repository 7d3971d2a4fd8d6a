import type { InboundEvent } from "../core/events.ts";
import { idsOf } from "../core/identity.ts";
import type { Notice } from "../core/sentences.ts";
import { currentThread } from "../store/chats.ts";
import { nthTurnAt } from "../store/people.ts";
import { type About, type Placed, rulesFor } from "./about.ts";
import { agentFor, standingOf } from "./admit.ts";
import { latenessOf } from "./lateness.ts";
import { placingOf } from "./placing.ts";

const HOUR_MS = 3_600_000;

/** What may open a turn of its own. An edit mostly changes one that was counted; who runs it again asks `turnFreeAt`. */
const OPENS: ReadonlySet<InboundEvent["type"]> = new Set(["message", "reaction", "choice"]);

/**
 * The same with "spent" for what is granted, where a guest has had all turns of the hour and this would be one more. What
 * joins an intent that is open is none.
 */
export async function withQuota<Event extends Placed>(about: About<Event>): Promise<About<Event>> {
  if (!OPENS.has(about.event.type) || (await turnFreeAt(about)) <= about.now || (await joins(about)))
    return about;
  return { ...about, granted: "spent" };
}

/** From when on (epoch ms) a person may have another turn here; what is past is now. Everybody but guests may always. */
export async function turnFreeAt(about: About): Promise<number> {
  const { trx, channel, event, granted } = about;
  const rules = rulesFor(about);
  if (!rules || standingOf(event, rules, granted) !== "guest") return 0;
  const at = await nthTurnAt(trx, { channel, ids: idsOf(event.from), n: rules.turnsPerHour });
  return at === undefined ? 0 : at + HOUR_MS;
}

/** What a guest is told who has had all turns of the hour. */
export async function spentNotice(about: About): Promise<Notice> {
  const minutes = Math.ceil(((await turnFreeAt(about)) - about.now) / 60_000);
  return { key: "stranger.spent", values: { limit: rulesFor(about)?.turnsPerHour ?? 0, minutes } };
}

async function joins(about: About): Promise<boolean> {
  const { trx, chat, event, now } = about;
  const rules = rulesFor(about);
  if (event.type !== "message" || !rules) return false;
  const { agent } = agentFor(event, rules);
  const thread = await currentThread(trx, chat, agent);
  const digest = latenessOf(event, rules, now) === "late";
  return (await placingOf({ ...about, event }, { agent, thread, digest }))?.joins !== undefined;
}
