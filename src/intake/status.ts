import type { ChatId } from "../core/identity.ts";
import type { Rules } from "../core/rules.ts";
import { currentThread } from "../store/chats.ts";
import { countWaiting } from "../store/inbox.ts";
import type { Queries } from "../store/tables.ts";

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
  const definition = rules.agents.get(agent);
  const { owner } = await trx
    .selectFrom("chat")
    .select("owner")
    .where("id", "=", chat)
    .executeTakeFirstOrThrow();
  return {
    model: definition?.graph ? "a graph of its own" : modelName(definition?.model),
    thread: await currentThread(trx, chat, agent),
    running: owner !== "",
    waiting: await countWaiting(trx, chat),
  };
}

function modelName(model: { readonly provider: string; readonly name: string } | undefined): string {
  if (!model) return "none";
  return model.name === "" ? model.provider : `${model.provider}:${model.name}`;
}
