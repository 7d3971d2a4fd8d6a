import { ToolMessage } from "@langchain/core/messages";
import { tool, type ToolRunnableConfig } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { z } from "zod";
import type { Kit } from "../kit.ts";
import type { Todo } from "../state.ts";

export const WRITE_TODOS = "write_todos";

const STATUS = z.enum(["pending", "in_progress", "completed"]);

const WRITTEN = z.object({
  todos: z
    .array(z.object({ content: z.string().trim().min(1).max(300), status: STATUS }))
    .max(50)
    .describe(
      "The whole list, in order: it takes the place of the one before. Empty when nothing of it is wanted.",
    ),
});

/**
 * A list of what is to be done, for work of several steps. It is LangChain's idea and name; the tool is ours, for theirs
 * comes with a hook that ends a run without an answer where the list is written twice at once. Here the last one holds.
 */
export function todoKit(): Kit {
  const write = tool(
    ({ todos }, { toolCall }: ToolRunnableConfig) =>
      new Command({
        update: {
          todos,
          messages: [
            new ToolMessage({
              content:
                todos.length === 0 ? "The list is empty now." : `The list is now:\n${todoWords(todos)}`,
              tool_call_id: toolCall?.id ?? "",
              name: WRITE_TODOS,
            }),
          ],
        },
      }),
    { name: WRITE_TODOS, description: DESCRIPTION, schema: WRITTEN },
  );
  return { tools: [write], prompt: "" };
}

const DESCRIPTION =
  "Keeps your list of what is to be done in this chat. Use it when what you are asked for takes three steps or more, or " +
  "is several things at once; not for what is answered in one go. Write the list before you begin, with the first item in_progress; " +
  "mark each item completed as soon as it is done, never before; add what turns out to be needed and leave out what no longer is. Write it " +
  "once in a message. Before you answer, every item is completed, or you say what is left open and why.";

/** One line for each item. */
export function todoWords(todos: readonly Todo[]): string {
  return todos.map(({ content, status }) => `- ${status}: ${content.replaceAll(/\s+/g, " ")}`).join("\n");
}
