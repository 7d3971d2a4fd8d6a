import type { AgentAnswer } from "../core/agent.ts";
import type { ChatId, ThreadId } from "../core/identity.ts";
import type { ModelUse, WindowUse } from "../core/usage.ts";
import type { Queries } from "./tables.ts";

/** What the calls of models took, together. */
export type Spent = Pick<ModelUse, "inputTokens" | "cachedTokens" | "outputTokens" | "costMicros">;

export const NOTHING_SPENT: Spent = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, costMicros: 0 };

export function spentWith(spent: Spent, use: Spent): Spent {
  return {
    inputTokens: spent.inputTokens + use.inputTokens,
    cachedTokens: spent.cachedTokens + use.cachedTokens,
    outputTokens: spent.outputTokens + use.outputTokens,
    costMicros: spent.costMicros + use.costMicros,
  };
}

/** What a turn has told of its thread. */
export type ThreadNews = Pick<AgentAnswer, "title" | "window"> & { readonly spent: Spent };

/** What is known of a thread without reading it. */
export type ThreadFact = {
  readonly title: string;
  /** Absent where nothing is known of it: a graph of the operator's. */
  readonly window?: WindowUse;
  readonly last: Spent;
  readonly all: Spent;
};

/** Writes down what a turn has told; the first title stays, and what it took is added to what earlier ones did. */
export async function rememberThread(
  trx: Queries,
  of: { readonly thread: ThreadId; readonly chat: ChatId; readonly agent: string },
  { title = "", window, spent }: ThreadNews,
  now: number,
): Promise<void> {
  const known = {
    ...(window === undefined
      ? {}
      : {
          messages: window.messages,
          tokens: window.tokens,
          estimated: window.estimated ? 1 : 0,
          window: window.window,
        }),
    last_input: spent.inputTokens,
    last_output: spent.outputTokens,
    last_cost: spent.costMicros,
    at: now,
  };
  await trx
    .insertInto("thread_fact")
    .values({
      thread: of.thread,
      chat_id: of.chat,
      agent: of.agent,
      title,
      ...known,
      all_input: spent.inputTokens,
      all_output: spent.outputTokens,
      all_cost: spent.costMicros,
    })
    .onConflict((conflict) =>
      conflict.column("thread").doUpdateSet((eb) => ({
        ...known,
        title: eb
          .case()
          .when("thread_fact.title", "=", "")
          .then(title)
          .else(eb.ref("thread_fact.title"))
          .end(),
        all_input: eb("thread_fact.all_input", "+", spent.inputTokens),
        all_output: eb("thread_fact.all_output", "+", spent.outputTokens),
        all_cost: eb("thread_fact.all_cost", "+", spent.costMicros),
      })),
    )
    .execute();
}

/** Adds what others took on behalf of a thread. */
export async function countSpent(
  trx: Queries,
  of: { readonly thread: ThreadId; readonly chat: ChatId; readonly agent: string },
  { inputTokens, outputTokens, costMicros }: Spent,
  now: number,
): Promise<void> {
  const { thread, chat, agent } = of;
  const all = { all_input: inputTokens, all_output: outputTokens, all_cost: costMicros };
  await trx
    .insertInto("thread_fact")
    .values({ thread, chat_id: chat, agent, title: "", at: now, ...all })
    .onConflict((conflict) =>
      conflict.column("thread").doUpdateSet((eb) => ({
        all_input: eb("thread_fact.all_input", "+", inputTokens),
        all_output: eb("thread_fact.all_output", "+", outputTokens),
        all_cost: eb("thread_fact.all_cost", "+", costMicros),
      })),
    )
    .execute();
}

/** Undefined before the first turn of a thread has ended. */
export async function threadFact(trx: Queries, thread: ThreadId): Promise<ThreadFact | undefined> {
  const row = await trx.selectFrom("thread_fact").selectAll().where("thread", "=", thread).executeTakeFirst();
  if (!row) return undefined;
  const { messages, tokens, window } = row;
  return {
    title: row.title,
    ...(window === 0 ? {} : { window: { messages, tokens, estimated: row.estimated === 1, window } }),
    last: spentOf(row.last_input, row.last_output, row.last_cost),
    all: spentOf(row.all_input, row.all_output, row.all_cost),
  };
}

function spentOf(inputTokens: number, outputTokens: number, costMicros: number): Spent {
  return { ...NOTHING_SPENT, inputTokens, outputTokens, costMicros };
}
