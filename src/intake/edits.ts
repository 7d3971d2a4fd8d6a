import type { EditEvent, MessageEvent } from "../core/events.ts";
import { idsOf } from "../core/identity.ts";
import { becomeTurn, insertAttachments, replaceAttachments } from "../store/attachments.ts";
import { currentThread } from "../store/chats.ts";
import {
  isNewestTurn,
  type KeptRow,
  noteOn,
  rewrite,
  rowsOf,
  windowOf,
  withdrawRows,
} from "../store/edits.ts";
import { unsay } from "../store/unsaid.ts";
import { type About, rulesFor } from "./about.ts";
import { admit } from "./admit.ts";
import { contentHash } from "./content-hash.ts";
import { decisionOn } from "./decision.ts";
import { type Earlier, earlierOf, pendingIn } from "./earlier.ts";
import { charactersOf, reopened } from "./gather.ts";
import { keepAside, keepTurn } from "./keep.ts";
import { latenessOf } from "./lateness.ts";
import { take } from "./messages.ts";
import { isFull } from "./placing.ts";
import { turnFreeAt, withQuota } from "./quota.ts";
import { record } from "./record.ts";
import { gatherIn } from "./waiting-rules.ts";

/** An answer is given anew to what is not older, so that nobody finds one changed that they have read long ago. */
const RERUN_MS = 48 * 3_600_000;

/**
 * A message says something else now. Before its turn that simply takes the old content's place; afterwards the agent is
 * told of it, or answers anew, as the rules of the connection say.
 */
export async function takeEdit(about: About<EditEvent>): Promise<void> {
  const { trx, chat, event, granted } = about;
  const may = event.own ? undefined : admit(withoutContent(event), rulesFor(about), granted);
  if (may?.kind === "refused") return await refuse(about, may.why);
  const rows = await rowsOf(trx, chat, event.ref);
  // Some platforms pass on what anybody claims to edit.
  const said = rows.find(({ type }) => type === "message");
  if (said && !idsOf(event.from).includes(said.sender))
    return await refuse(about, "its message is another's");
  if (rows[0]?.contentHash === contentHash(event.content)) {
    await isNew(about, { step: "nothing that can be seen has changed", of: rows[0].id });
    return;
  }
  const earlier = earlierOf(rows);
  if (earlier.is !== "untold") await unsay(trx, chat, rows, { as: "edited" });
  switch (earlier.is) {
    case "untold":
      return await (earlier.row.state === "waiting"
        ? replaceWaiting(about, earlier.row)
        : replaceUnaddressed(about, earlier.row));
    case "overheard":
      return await replaceUnaddressed(about, earlier.row);
    case "running":
    case "answered":
      return await correct(about, earlier, pendingIn(rows));
    case "over":
      return await refuse(about, earlier.why);
  }
}

async function replaceWaiting(about: About<EditEvent>, row: KeptRow): Promise<void> {
  const { trx, chat, now, after, effects } = about;
  if (!(await isNew(about, { step: "edited", of: row.id }))) return;
  const window = await windowOf(trx, chat, row.intent);
  const before = JSON.parse(row.payload) as MessageEvent; // no edit is a row of its own while its message waits
  const dueAt = before.whole ? window.dueAt : reopened(window, now, gatherIn(about));
  await replace(about, row, before, dueAt);
  after.push(() => effects.turn(chat, dueAt, row.agent));
}

/** What did not speak to the agent may do so now: then it is taken as a new message. */
async function replaceUnaddressed(about: About<EditEvent>, row: KeptRow): Promise<void> {
  const { trx, event, now } = about;
  const anew = await withQuota({ ...about, event: { ...event, type: "message" as const } });
  const decision = await decisionOn(anew);
  switch (decision.kind) {
    case "turn":
      return await (row.state === "listening" ? stopListening(about, row) : takeAnew());
    case "aside":
    case "listen":
    case "refused":
      if (row.state !== "listening" && row.state !== "aside") return await refuse(about, "not addressed");
      if (!(await isNew(about, { step: "edited", of: row.id }))) return;
      // Nothing else is kept as an aside under a message's name.
      return await replace(about, row, JSON.parse(row.payload) as MessageEvent, 0);
    case "command":
    case "claim":
    case "stop":
      return await refuse(about, "a message is not edited into a command");
  }

  async function takeAnew(): Promise<void> {
    if (!(await take(anew, decision))) return;
    const why = "edited into a message for the agent";
    if (row.state === "aside") await withdrawRows(trx, [row.id], { why, now });
    else await noteOn(trx, row.id, { at: now, step: why });
  }
}

/** The caption of what is listened to has come to speak to the agent: there is nothing more to listen for. */
async function stopListening(about: About<EditEvent>, row: KeptRow): Promise<void> {
  const { trx, chat, now, after, effects } = about;
  if (!(await isNew(about, { step: "edited", of: row.id }))) return;
  const dueAt = reopened({ firstAt: row.receivedAt, dueAt: now }, now, gatherIn(about));
  await replace(about, row, JSON.parse(row.payload) as MessageEvent, dueAt); // only messages are listened to
  const quoted = await becomeTurn(trx, row.id, { at: now, step: "edited into a message for the agent" });
  after.push(() => {
    for (const attachment of quoted) effects.fetch(attachment);
    effects.turn(chat, dueAt, row.agent);
  });
}

/** The new content in the old one's place; all else stays, for an edit changes neither whom it answers nor where it is from. */
async function replace(
  about: About<EditEvent>,
  row: KeptRow,
  before: MessageEvent,
  dueAt: number,
): Promise<void> {
  const { trx, channel, chat, event, now, after, effects } = about;
  const { content } = event;
  const payload = JSON.stringify({ ...before, content });
  const characters = charactersOf({ content });
  await rewrite(trx, row.id, { payload, contentHash: contentHash(content), characters, dueAt, now });
  if (row.state === "aside") return;
  const media = { chat, channel, before: before.content, after: content };
  const attachments = await replaceAttachments(trx, row.id, media);
  after.push(() => {
    for (const attachment of attachments) effects.fetch(attachment);
  });
}

async function correct(
  about: About<EditEvent>,
  { is, row }: Extract<Earlier, { readonly is: "running" | "answered" }>,
  pending: readonly number[],
): Promise<void> {
  const { trx, channel, chat, event, now, after, effects } = about;
  const { edits: rules, away } = rulesFor(about) ?? {};
  if (row.thread !== (await currentThread(trx, chat, row.agent)))
    return await refuse(about, "its thread was ended");
  const { agent, thread, sender, receivedAt } = row;
  const newest = is === "running" || (await isNewestTurn(trx, chat, row.turn));
  const kept = {
    chat,
    agent,
    thread,
    sender: event.from.id,
    ref: event.ref,
    about: row.id,
    contentHash: contentHash(event.content),
  };
  const inTime = !about.still && away !== undefined && latenessOf(event, { away }, now) === "in time";
  const recent = newest && inTime && now - receivedAt <= RERUN_MS;
  const rerun =
    rules?.answered === "rerun" && recent && (await turnFreeAt(about)) <= now && !(await isFull(about, chat));
  const known = { ...event, known: { newest, at: receivedAt, by: sender } };
  const id = rerun
    ? await keepTurn(about, event, kept, reopened({ firstAt: now, dueAt: now }, now, gatherIn(about)))
    : await keepAside(about, known, kept);
  if (id === undefined) return;
  await withdrawRows(trx, pending, { why: "edited again", now });
  const attachments = rerun ? await insertAttachments(trx, id, { chat, channel, event, which: "own" }) : [];
  after.push(() => {
    for (const attachment of attachments) effects.fetch(attachment);
    if (is === "running" && rules?.running === "steer")
      effects.correct(chat, { id, about: row.id, event: known });
  });
}

/** Only who edits and where is asked for: words that could be a command or a code are none in an edit. */
function withoutContent(event: EditEvent): MessageEvent {
  return { ...event, type: "message", content: [], addressed: true };
}

async function refuse(about: About<EditEvent>, why: string): Promise<void> {
  const { chat, event } = about;
  await record(about, { chat, sender: event.from.id, why, trace: { step: "refused", why } });
}

/** Writes down an edit that is done with this; false for a repeat. */
async function isNew(
  about: About<EditEvent>,
  trace: Parameters<typeof record>[1]["trace"],
): Promise<boolean> {
  const { chat, event } = about;
  return await record(about, { chat, sender: event.from.id, why: "", trace });
}
