import type { AgentDefinition } from "../core/agent.ts";
import type { ChatId } from "../core/identity.ts";
import type { Rules } from "../core/rules.ts";
import { type Language, say } from "../core/sentences.ts";
import { currentThread } from "../store/chats.ts";
import { countWaiting } from "../store/inbox.ts";
import type { Queries } from "../store/tables.ts";
import { threadFact } from "../store/thread-facts.ts";

/** What `/status` tells of a chat. */
export async function status(
  trx: Queries,
  chat: ChatId,
  agent: string,
  rules: Rules,
): Promise<{
  readonly model: string;
  readonly thread: string;
  readonly running: boolean;
  readonly waiting: number;
}> {
  const { owner } = await trx
    .selectFrom("chat")
    .select("owner")
    .where("id", "=", chat)
    .executeTakeFirstOrThrow();
  const thread = await currentThread(trx, chat, agent);
  const { title = "" } = (await threadFact(trx, thread)) ?? {};
  return {
    model: modelOf(rules.agents.get(agent)),
    thread: title === "" ? thread : `${thread} (${title})`,
    running: owner !== "",
    waiting: await countWaiting(trx, chat),
  };
}

/** Which model an agent answers with, in words. */
export function modelOf(agent: AgentDefinition | undefined): string {
  if (!agent) return "none";
  if (agent.graph !== undefined) return "a graph of its own";
  const { provider, name } = agent.model;
  return name === "" ? provider : `${provider}:${name}`;
}

/** What `/model` tells of an agent's senses: what the operator has written. The model itself is not asked. */
export function sensesOf(
  agent: AgentDefinition | undefined,
  language: Language,
): Readonly<Record<"images" | "pdf" | "audio", string>> {
  return {
    images: whether(agent?.senses?.images, language),
    pdf: whether(agent?.senses?.pdf, language),
    audio: agent?.transcriber ? say("model.as_text", language) : whether(agent?.senses?.audio, language),
  };
}

function whether(sees: boolean | undefined, language: Language): string {
  return say(sees === undefined ? "model.perhaps" : sees ? "model.yes" : "model.no", language);
}
