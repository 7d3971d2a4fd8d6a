import type { MessageEvent } from "../core/events.ts";
import type { ChatId, ThreadId } from "../core/identity.ts";
import type { During } from "../core/rules.ts";
import { latestIntent, type OpenIntent } from "../store/inbox.ts";
import { type Lane, laneOf, windowHeld } from "../store/lane.ts";
import { type About, rulesFor } from "./about.ts";
import { duringIn, runsIn } from "./during.ts";
import { gather, type Gathered } from "./gather.ts";
import { type WaitingRules, waitingRules } from "./waiting-rules.ts";

/** Where a message stands in the lane of its chat: with which intent, behind what, and what becomes of it meanwhile. */
export type Placing = Gathered & {
  readonly during: During | "";
  /** The running turn is to end for it. */
  readonly interrupts: boolean;
  /** Something else is done before it. */
  readonly waits: boolean;
  /** As much waits in the chat as may: it joins what waits for that alone, or cannot even do that. */
  readonly full?: "joins" | "refused";
  /** Whether people of the chat were told so already. */
  readonly fullTold: boolean;
  readonly rules: WaitingRules;
};

type Of = { readonly agent: string; readonly thread: ThreadId; readonly digest: boolean };

/** Undefined in a connection that has no rules, where nothing is admitted. */
export async function placingOf(about: About<MessageEvent>, of: Of): Promise<Placing | undefined> {
  const { trx, chat, event, now } = about;
  const channelRules = rulesFor(about);
  if (!channelRules) return undefined;
  const rules = waitingRules(event.place, channelRules);
  const lane = await laneOf(trx, chat, now);
  const album = event.albumId ?? "";
  const open = await latestIntent(trx, { chat, sender: event.from.id, album, ...of });
  const window = open && now < open.dueAt ? await windowHeld(trx, { chat, ...open }) : "";
  const runs = runsIn(lane, now);
  // All of a chat that came late is one answer, whatever happens meanwhile.
  const mode = of.digest ? "queue" : duringIn(about, of.agent, lane, rules);
  const how = { rules: rules.gather, late: of.digest, window };
  const collects = runs && mode === "collect";
  const gathered = gather(event, open, now, { ...how, collects });
  const found = gathered.joins === undefined ? bounded(gathered) : { gathered };
  const { joins } = found.gathered;
  return {
    ...found.gathered,
    ...(found.full === undefined ? {} : { full: found.full }),
    during: joins === undefined ? (runs ? mode : "") : duringOf(open),
    interrupts: lane.held && mode === "interrupt" && found.full !== "refused",
    waits: lane.held || isBehind(lane, joins),
    fullTold: lane.fullTold,
    rules,
  };

  /** One more intent is only opened where there is room for it. */
  function bounded(opens: Gathered): { gathered: Gathered; full?: "joins" | "refused" } {
    const { queueLimit } = rules;
    if (countIn(lane) < queueLimit) return { gathered: opens };
    const why = `${queueLimit} intents wait`;
    const joining = gather(event, open, now, { ...how, collects: true });
    if (joining.joins === undefined) return { gathered: { ...opens, why }, full: "refused" };
    return { gathered: { ...joining, why }, full: "joins" };
  }
}

/** Whether as much waits in a chat as may: what is no message begins no turn of its own there then. */
export async function isFull({ trx, event, now, ...about }: About, chat: ChatId): Promise<boolean> {
  const rules = rulesFor(about);
  return (
    rules !== undefined &&
    countIn(await laneOf(trx, chat, now)) >= waitingRules(event.place, rules).queueLimit
  );
}

/** Commands wait as well, and are not counted. */
function countIn({ intents }: Lane): number {
  return intents.filter(({ task }) => !task).length;
}

/** What joins an intent is treated as that is. */
function duringOf(open: OpenIntent | undefined): During | "" {
  return open?.during ?? "";
}

function isBehind({ intents }: Lane, joins: number | undefined): boolean {
  return intents.some(({ intent }) => joins === undefined || intent < joins);
}
