import { ToolMessage } from "@langchain/core/messages";
import { type DynamicStructuredTool, tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { z } from "zod";
import { frameResult } from "../harness/frame.ts";
import type { Update } from "../harness/stage.ts";
import { searched, type Shelf } from "./shelf.ts";

export const TOOL_SEARCH = "tool_search";

const QUERY_CHARACTERS = 200;
const DESCRIPTION_CHARACTERS = 500;

/** Finds tools that the model is not shown, and has them shown from its next step on, for the rest of the thread. */
export function toolSearch(shelf: Shelf): DynamicStructuredTool {
  const search = tool(
    ({ query }: { readonly query: string }, config) => {
      const shelved = shelf.now();
      const found = searched(shelved, query.slice(0, QUERY_CHARACTERS));
      const message = (content: string): ToolMessage =>
        new ToolMessage({ content, tool_call_id: config.toolCall?.id ?? "", name: TOOL_SEARCH });
      if (found.length === 0) {
        return message(
          "No tool fits. Try other words, fewer words, or select: with a name as it was told to you.",
        );
      }
      // What a server says of its tools is its own.
      const told = found
        .map(
          ({ name, description }) =>
            `- ${name}: ${description.slice(0, DESCRIPTION_CHARACTERS).toWellFormed()}`,
        )
        .join("\n");
      const promoted = { catalogue: shelved.catalogue, names: found.map(({ name }) => name) };
      const content = `You can call these from now on:\n${frameResult("tool_search", told)}`;
      return new Command({ update: { promoted, messages: [message(content)] } satisfies Update });
    },
    {
      name: TOOL_SEARCH,
      description:
        "Finds tools that you do not see yet, and lets you call them from then on. Give words for what you want to do; " +
        '"+word" must be in the name or the description; "select:a,b" takes tools by their names. At most 5 are found.',
      schema: z.object({
        query: z.string().min(1).describe('Such as "calendar +create", or "select:create_event".'),
      }),
    },
  );
  return search as DynamicStructuredTool; // of a narrower schema
}
