import { createHash } from "node:crypto";
import type { MessageEvent, StopEvent } from "../core/events.ts";
import { trimAsides } from "../store/asides.ts";
import { insertAttachments } from "../store/attachments.ts";
import { currentThread } from "../store/chats.ts";
import {
  hasAlbum,
  insertEvent,
  isInIntent,
  latestIntent,
  openIntent,
  type TraceStep,
} from "../store/inbox.ts";
import { unparkChat } from "../store/pieces.ts";
import { type About, rulesFor } from "./about.ts";
import { admit, contextFor, type Verdict } from "./admit.ts";
import { command, stop } from "./commands.ts";
import { contentHash } from "./content-hash.ts";
import { gather } from "./gather.ts";
import { isCalledBy, isSpoken } from "./named.ts";
import { claim, stranger } from "./strangers.ts";

/** What becomes of a message: as an "aside" it is not for the agent, but it is told of it with a turn of the chat. */
export type Decision = Verdict | { readonly kind: "aside"; readonly why: string; readonly context: number };

/** What people say to us, and the platform's own sign to stop: repeat? admitted? a command? which intent does it join? */
export async function takeMessage(about: About<MessageEvent | StopEvent>): Promise<void> {
  await take(about, await decisionOn(about));
}

/** Does with a message what was decided about it. Whether it is new. */
export async function take(about: About<MessageEvent | StopEvent>, decision: Decision): Promise<boolean> {
  const { channel, chat, log } = about;
  const isNew = (await insert(about, decision)) !== undefined;
  if (isNew) await followUp(about, decision);
  else log.debug({ channel, chat }, "a repeat was recognised");
  return isNew;
}

async function followUp(about: About<MessageEvent | StopEvent>, decision: Decision): Promise<void> {
  const { trx, chat, now, after, effects } = about;
  if (decision.kind === "listen") return;
  if (decision.kind === "aside") {
    const { why, context: keep } = decision;
    return await trimAsides(trx, chat, { type: "message", keep, why, now });
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

/**
 * In a group, what does not speak to us may still be for us: it calls us by name, only one item of an album carries the
 * words that do, and in what is spoken they are heard later. And the agent may be told of the rest.
 */
export async function decisionOn(about: About<MessageEvent | StopEvent>): Promise<Decision> {
  const { trx, channel, chat, event, granted, now } = about;
  const rules = rulesFor(about);
  const verdict = admit(event, rules, granted);
  if (verdict.kind !== "refused" || event.type !== "message" || event.addressed) return verdict;
  const ifAddressed = admit({ ...event, addressed: true }, rules, granted);
  if (ifAddressed.kind === "turn") {
    if (isCalledBy(event, rules?.names ?? [])) return { ...ifAddressed, by: "name" };
    if (event.albumId !== undefined) {
      const of = { channel, sender: event.from.id, album: event.albumId, now };
      const follows = await hasAlbum(trx, chat, of);
      if (follows) return { ...ifAddressed, by: "album" };
    } else {
      const hears = about.rules.agents.get(ifAddressed.agent)?.transcriber !== undefined;
      if (hears && (rules?.names ?? []).length > 0 && isSpoken(event))
        return { ...ifAddressed, kind: "listen" };
    }
  }
  const context = rules?.deny.includes(event.from.id) ? 0 : contextFor(event, rules);
  return context > 0 ? { kind: "aside", why: "not addressed", context } : verdict;
}

/** Undefined when the chat has seen the event already. */
async function insert(
  about: About<MessageEvent | StopEvent>,
  decision: Decision,
): Promise<number | undefined> {
  const { trx, channel, chat, event, now, after, effects } = about;
  const payload = JSON.stringify(event);
  const base = {
    channel,
    chat,
    key: event.id,
    type: event.type,
    payload,
    // Whom an item of an album is meant for may be known from the others that were handed over with it.
    payloadHash: createHash("sha256")
      .update(JSON.stringify({ ...event, addressed: undefined }))
      .digest("hex"),
    contentHash: event.type === "message" ? contentHash(event.content) : "",
    sender: event.from.id,
    ref: event.type === "message" ? event.ref : "",
    album: event.type === "message" ? (event.albumId ?? "") : "",
    receivedAt: now,
  };
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
  // What may not be for us joins nothing, and nothing joins it.
  const open = listens
    ? undefined
    : await latestIntent(trx, { chat, sender: event.from.id, agent, thread, album: event.albumId ?? "" });
  const { joins, dueAt } = gather(event, open, now);
  const id = await insertEvent(trx, {
    ...base,
    state: listens ? "listening" : "waiting",
    why: "",
    agent,
    thread,
    intent: joins ?? 0,
    dueAt,
    trace: { ...traceOf(decision, now), joins: joins ?? "nothing", windowMs: dueAt - now },
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
      return { at, step: "admitted", agent: decision.agent, by: decision.by };
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
