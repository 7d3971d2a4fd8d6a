import type { CommandName } from "../core/commands.ts";
import { type Language, say } from "../core/sentences.ts";
import { dropAsides } from "../store/asides.ts";
import { currentThread, freshThread } from "../store/chats.ts";
import { stopHeld } from "../store/holds.ts";
import { withdrawWaiting } from "../store/inbox.ts";
import { endQuestions } from "../store/open-questions.ts";
import { threadFact } from "../store/thread-facts.ts";
import { type About, answer, isOwner, languageIn, rulesFor } from "./about.ts";
import { cancel } from "./cancel.ts";
import { budget } from "./budgets.ts";
import { commandWords } from "./command-words.ts";
import { contextNotice } from "./context.ts";
import { lastTurn, missed } from "./fates.ts";
import { forget, showMemory } from "./remembered.ts";
import { pair } from "./pairing.ts";
import { pending } from "./pending.ts";
import { pause, pauseWords, resume } from "./pausing.ts";
import { queue } from "./queue-command.ts";
import { schedules } from "./schedules.ts";
import { modelOf, sensesOf, status } from "./status.ts";
import { unsign } from "./unsigning.ts";

/** Does what a command asks for, in the transaction that takes it in, and says so. */
export async function command(about: About, name: CommandName, agent: string): Promise<void> {
  const { trx, chat, now, rules } = about;
  switch (name) {
    case "new": {
      const ended = await currentThread(trx, chat, agent);
      await freshThread(trx, chat, agent);
      await dropAsides(trx, chat, agent, now);
      await endQuestions(trx, ended, now);
      return await answer(about, "thread.new");
    }
    case "stop":
      return await answer(about, (await stop(about, agent)) ? "turn.stopped" : "turn.nothing_to_stop");
    case "queue":
      return await queue(about, agent, wordsIn(about)?.trim());
    case "cancel":
      return await cancel(about);
    case "pause":
      return await pause(about, wordsIn(about));
    case "resume":
      return await resume(about);
    case "status": {
      const found = await status(trx, chat, agent, rules);
      const running = found.running ? "yes" : "no";
      const language = await languageIn(about);
      const owner = isOwner(about);
      const place = owner ? say("status.place", language, { place: placeWords(about) }) : "";
      const connections = owner ? connectionLines(about, language) : "";
      return await answer(about, "status.body", {
        ...found,
        agent,
        running,
        pause: await pauseWords(about),
        place,
        connections,
      });
    }
    case "pending":
      return await pending(about);
    case "context": {
      const fact = await threadFact(trx, await currentThread(trx, chat, agent));
      const { key, values } = contextNotice(
        fact,
        rules.agents.get(agent)?.graph !== undefined,
        await languageIn(about),
      );
      return await answer(about, key, values);
    }
    case "budget":
      return await budget(about, agent, wordsIn(about));
    case "compact":
      // It waits for its turn, as takeMessage has put it.
      return;
    case "memory":
      return await showMemory(about, agent, wordsIn(about));
    case "forget":
      return await forget(about, agent, { wish: wordsIn(about), owner: isOwner(about) });
    case "export":
      // Where it is allowed it waits like that, too.
      return mayExport(about) ? undefined : await answer(about, "command.owner_only");
    case "help":
      return await help(about);
    case "schedules":
      return await schedules(about, wordsIn(about));
    case "why":
      return await why(about);
    case "model": {
      const definition = rules.agents.get(agent);
      return await answer(about, "model.body", {
        agent,
        model: modelOf(definition),
        ...sensesOf(definition, await languageIn(about)),
      });
    }
    case "pair":
      return await (isOwner(about) ? pair(about, wordsIn(about)) : answer(about, "command.owner_only"));
  }
}

/** What is done in the chat's lane, when what was said before is answered. */
export function taskOf(about: About, name: CommandName): "compact" | "export" | undefined {
  if (name === "compact") return name;
  return name === "export" && mayExport(about) ? name : undefined;
}

/** What is said in a group is everybody's there, and so only the owner has it handed out. */
function mayExport(about: About): boolean {
  return about.event.place.kind === "private" || isOwner(about);
}

/** Tells what may be asked for here by "/". */
export async function help(about: About): Promise<void> {
  const isPrivate = about.event.place.kind === "private";
  const lines = commandWords(rulesFor(about), await languageIn(about))
    .filter(({ name, where }) => (where === "everywhere" || isPrivate) && (name !== "pair" || isOwner(about)))
    .map(({ name, about: what }) => `/${name} — ${what}`);
  await answer(about, "help.body", { commands: lines.join("\n") });
}

async function why(about: About): Promise<void> {
  const language = await languageIn(about);
  const last = await lastTurn(about, language);
  await answer(about, "why.body", { missed: await missed(about, language), last });
}

/** Ends what runs; where nothing runs yet, what waits for its window or its media is taken back. Whether there was any. */
export async function stop(about: About, agent: string): Promise<boolean> {
  const { trx, chat, now, rules, after, effects } = about;
  const { running } = await status(trx, chat, agent, rules);
  await stopHeld(trx, chat);
  after.push(() => effects.stop(chat));
  if (!running) await unsign(about);
  return running || (await withdrawWaiting(trx, chat, now)) > 0;
}

/** As the operator writes it under `chats:`; the owner has no other place to learn it from. */
function placeWords({ event }: About): string {
  const { chat, topic } = event.place;
  return topic === undefined
    ? JSON.stringify(chat)
    : `${JSON.stringify(chat)}, topic ${JSON.stringify(topic)}`;
}

/** The connections that are not open though they are to be. */
function connectionLines({ connections }: About, language: Language): string {
  return connections()
    .filter(({ is }) => is !== "open" && is !== "off")
    .map(({ id, words }) => say("status.connection", language, { id, words }))
    .join("");
}

/** What stands behind the name of the command. */
function wordsIn({ event }: About): string | undefined {
  const [first] = event.type === "message" ? event.content : [];
  return first?.type === "text" ? /^\S+\s+(\S.*)$/s.exec(first.text.trim())?.[1] : undefined;
}
