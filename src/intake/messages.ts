import type { MessageEvent, StopEvent } from "../core/events.ts";
import { NOT_ADDRESSED, trimAsides } from "../store/asides.ts";
import { insertAttachments } from "../store/attachments.ts";
import { currentThread } from "../store/chats.ts";
import { insertEvent, isInIntent, openIntent, type TraceStep } from "../store/inbox.ts";
import { unparkChat } from "../store/pieces.ts";
import { type About, rulesFor } from "./about.ts";
import type { Decision } from "./admit.ts";
import { command, stop, taskOf } from "./commands.ts";
import { contentHash, payloadHash } from "./content-hash.ts";
import { decisionOn } from "./decision.ts";
import { charactersOf, windowKind, windowMs } from "./gather.ts";
import { takeOver } from "./own.ts";
import { type Placing, placingOf } from "./placing.ts";
import { afterPlacing } from "./queueing.ts";
import { claim, stranger } from "./strangers.ts";
import { gatherRules } from "./waiting-rules.ts";

/** What people say to us, and the platform's own sign to stop: repeat? admitted? a command? which intent does it join? */
export async function takeMessage(about: About<MessageEvent | StopEvent>): Promise<void> {
  await take(about, await decisionOn(about));
}

/** Does with a message what was decided about it. Whether it is new. */
export async function take(about: About<MessageEvent | StopEvent>, decision: Decision): Promise<boolean> {
  const { channel, chat, event, log } = about;
  const placing =
    decision.kind === "turn" && event.type === "message"
      ? await placedIn({ ...about, event }, decision)
      : undefined;
  const settled = placing?.full === "refused" ? refusedFor(placing) : decision;
  const row = await insert(about, settled, placing);
  if (row === undefined) log.debug({ channel, chat }, "a repeat was recognised");
  else {
    await followUp(about, settled);
    if (placing && event.type === "message") await afterPlacing({ ...about, event }, row, placing);
  }
  return row !== undefined;
}

async function placedIn(
  about: About<MessageEvent>,
  { agent, digest }: Extract<Decision, { readonly kind: "turn" }>,
): Promise<Placing | undefined> {
  const thread = await currentThread(about.trx, about.chat, agent);
  return await placingOf(about, { agent, thread, digest: digest === true });
}

function refusedFor({ why }: Placing): Decision {
  return { kind: "refused", why, stranger: false };
}

async function followUp(about: About<MessageEvent | StopEvent>, decision: Decision): Promise<void> {
  const { trx, chat, event, now, after, effects } = about;
  if (decision.kind === "listen") return;
  if (decision.kind === "aside") {
    const { why, keep } = decision;
    const among = why === NOT_ADDRESSED ? "overheard" : "kept";
    await trimAsides(trx, chat, { type: "message", among, keep, why, now });
    if (event.type === "message" && event.own) await takeOver({ ...about, event });
    return;
  }
  if (decision.kind === "refused") {
    if (decision.stranger) await stranger(about);
    return;
  }
  if ((await unparkChat(trx, chat)) > 0) after.push(() => effects.deliver(chat));
  switch (decision.kind) {
    case "turn":
      return;
    case "command":
      return await command(about, decision.name, decision.agent);
    case "stop":
      await stop(about, decision.agent);
      return;
    case "claim":
      return await claim(about, decision.code);
  }
}

/** Undefined when the chat has seen the event already. */
async function insert(
  about: About<MessageEvent | StopEvent>,
  decision: Decision,
  placing: Placing | undefined,
): Promise<number | undefined> {
  const { trx, channel, chat, event, now, after, effects } = about;
  const payload = JSON.stringify(event);
  const base = {
    channel,
    chat,
    key: event.id,
    type: event.type,
    payload,
    payloadHash: payloadHash(event),
    contentHash: event.type === "message" ? contentHash(event.content) : "",
    sender: event.from.id,
    ref: event.type === "message" ? event.ref : "",
    album: event.type === "message" ? (event.albumId ?? "") : "",
    receivedAt: now,
  };
  const task =
    decision.kind === "command" && event.type === "message" ? taskOf(about, decision.name) : undefined;
  if (decision.kind === "command" && task !== undefined) {
    // It waits in the chat's lane: what was said before it is answered first.
    const { agent } = decision;
    const id = await insertEvent(trx, {
      ...base,
      state: "waiting",
      why: "",
      agent,
      thread: await currentThread(trx, chat, agent),
      intent: 0,
      task,
      dueAt: now,
      trace: traceOf(decision, now),
    });
    if (id === undefined) return undefined;
    await openIntent(trx, id);
    after.push(() => effects.turn(chat, now, agent));
    return id;
  }
  if ((decision.kind !== "turn" && decision.kind !== "listen") || event.type !== "message") {
    const left = decision.kind === "refused" || decision.kind === "aside";
    return await insertEvent(trx, {
      ...base,
      state: left ? decision.kind : "consumed",
      why: left ? decision.why : "",
      agent: left ? "" : decision.agent,
      thread: "",
      intent: 0,
      dueAt: 0,
      trace: traceOf(decision, now),
    });
  }
  const { agent } = decision;
  const thread = await currentThread(trx, chat, agent);
  const listens = decision.kind === "listen";
  const digest = decision.kind === "turn" && decision.digest === true;
  // What may not be for us joins nothing, and nothing joins it.
  const rules = rulesFor(about);
  const joins = placing?.joins;
  const dueAt = placing?.dueAt ?? now + (rules ? windowMs(event, gatherRules(event.place, rules)) : 0);
  const id = await insertEvent(trx, {
    ...base,
    state: listens ? "listening" : "waiting",
    why: "",
    agent,
    thread,
    intent: joins ?? 0,
    ...(digest ? { digest } : {}),
    characters: charactersOf(event),
    window: windowKind(event),
    during: placing?.during ?? "",
    dueAt,
    trace: {
      ...traceOf(decision, now),
      joins: joins ?? "nothing",
      because: placing?.why ?? "",
      windowMs: dueAt - now,
      during: placing?.during ?? "",
    },
  });
  if (id === undefined) return undefined;
  if (joins === undefined && !listens) await openIntent(trx, id);
  const ref = event.quote?.media && event.quote.ref;
  const beside =
    joins !== undefined && ref !== undefined && (await isInIntent(trx, chat, { intent: joins, ref }));
  // What is quoted beside it is there already; of what is listened to, it is fetched once it is for us.
  const which = listens || beside ? "own" : "all";
  const attachments = await insertAttachments(trx, id, { chat, channel, event, which });
  after.push(() => {
    for (const attachment of attachments) effects.fetch(attachment);
    if (!listens) effects.turn(chat, dueAt, agent);
  });
  return id;
}

function traceOf(decision: Decision, at: number): TraceStep {
  switch (decision.kind) {
    case "turn":
      return { at, step: decision.digest ? "late" : "admitted", agent: decision.agent, by: decision.by };
    case "listen":
      return { at, step: "listening for a name", agent: decision.agent, by: decision.by };
    case "command":
      return { at, step: "command", name: decision.name };
    case "stop":
      return { at, step: "stop" };
    case "claim":
      return { at, step: "start link" };
    case "refused":
    case "aside":
      return { at, step: decision.kind, why: decision.why };
  }
}
