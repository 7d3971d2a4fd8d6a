import type { Fact, FactOwner } from "../core/memory.ts";
import { say } from "../core/sentences.ts";
import { addressOf } from "../store/chats.ts";
import { forgetChat } from "../store/forget.ts";
import { factsOf, forgetFact } from "../store/memory-facts.ts";
import { type About, answer, languageIn } from "./about.ts";
import { unsign } from "./unsigning.ts";

/** Of one answer: so much is read in a chat. */
const SHOWN_CHARACTERS = 6_000;

/** Exactly this deletes all of a chat: nobody types it by mistake. */
const ALL = "all";

/**
 * Tells what an agent remembers here: in a group what was said there, in private what the person has said. With a number
 * from that one on, for all of it may be more than one answer holds.
 */
export async function showMemory(about: About, agent: string, wish = ""): Promise<void> {
  const facts = await factsOf(about.trx, ownerHere(about, agent));
  const from = /^\d{1,9}$/.test(wish.trim()) ? Number(wish) : 0;
  const behind = facts.filter(({ id }) => id >= from);
  const [first = facts[0], ...others] = behind;
  if (first) {
    const language = await languageIn(about);
    const lineOf = ({ id, content, saidAt }: Fact): string =>
      say("memory.fact", language, { number: id, content, date: saidAt.slice(0, "2026-01-31".length) });
    const lines = [lineOf(first)];
    let room = SHOWN_CHARACTERS - (lines[0]?.length ?? 0);
    const left = others.find((fact) => {
      const line = lineOf(fact);
      if ((room -= line.length + 1) < 0) return true;
      lines.push(line);
      return false;
    });
    const more = left ? `\n${say("memory.more", language, { number: left.id })}` : "";
    return await answer(about, "memory.body", { facts: lines.join("\n") + more });
  }
  const remembers = about.rules.agents.get(agent)?.memory?.facts === true;
  return await answer(about, remembers ? "memory.nothing" : "memory.off");
}

/** Forgets one fact, or all of the chat; in a group only its owner may wish for that. */
export async function forget(
  about: About,
  agent: string,
  { wish = "", owner }: { readonly wish: string | undefined; readonly owner: boolean },
): Promise<void> {
  const { trx, event, now } = about;
  if (wish === ALL) {
    if (event.place.kind === "group" && !owner) return await answer(about, "command.owner_only");
    return await forgetAll(about);
  }
  if (!/^\d{1,9}$/.test(wish.trim())) return await answer(about, "forget.how");
  const number = Number(wish);
  // By the platform's clock, as the messages are that it is compared with.
  const said = Date.parse(event.sentAt);
  const found = await forgetFact(trx, ownerHere(about, agent), {
    number,
    since: said > 0 ? Math.min(said, now) : now,
  });
  return await answer(about, found ? "forget.one" : "forget.unknown", { number });
}

/** What was deleted is said once its files are gone, too. */
async function forgetAll(about: About): Promise<void> {
  const { trx, channel, chat, event, now, after, effects } = about;
  const { place, from } = event;
  await unsign(about);
  const to = addressOf(channel, place.chat, place.topic ?? "");
  await forgetChat(trx, { chat, to, now, ...(place.kind === "private" ? { person: from.id } : {}) });
  after.push(() => effects.forget(chat, now));
}

function ownerHere({ chat, channel, event }: About, agent: string): FactOwner {
  return event.place.kind === "group"
    ? { scope: "chat", channel, subject: String(chat), agent }
    : { scope: "person", channel, subject: event.from.id, agent };
}
