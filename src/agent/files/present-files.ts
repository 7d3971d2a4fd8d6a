import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { z } from "zod";
import { turnOf } from "../turn-config.ts";
import { pathWords } from "../words.ts";
import type { ChatFiles } from "./chat-files.ts";
import { outputPath, PRESENT, sentWords } from "./presented.ts";

const MOST_FILES = 20;

/**
 * A subagent's report is read by the agent that has asked it, and sends nothing; of a task in the background it is sent
 * itself, with the files that it names so.
 */
const NO_ANSWER =
  "Nothing was sent: only who speaks to the person sends files. Name them in your report, as ![Prices](/outputs/prices.csv).";

/** Has files sent with the answer of this turn, also where the answer does not name them. */
export function presentFilesTool(files: () => Promise<ChatFiles>) {
  return tool(
    async ({ paths }, run) => {
      const result = (content: string, status?: "error") =>
        new ToolMessage({
          content,
          tool_call_id: run.toolCall?.id ?? "",
          name: PRESENT,
          ...(status === undefined ? {} : { status }),
        });
      if (turnOf(run.configurable)?.thread === undefined) return result(NO_ANSWER, "error");
      const chat = await files();
      const sent: string[] = [];
      const told: string[] = [];
      for (const asked of new Set(paths)) {
        const path = outputPath(asked);
        if (path === undefined)
          told.push(`${pathWords(asked)} is not under /outputs; write or copy it there first.`);
        else if (await chat.has(path)) sent.push(path);
        else told.push(`There is no file ${pathWords(path)}.`);
      }
      if (sent.length === 0) return result(told.join("\n"), "error");
      const messages = [result([sentWords(sent), ...told].join("\n"))];
      return new Command({ update: { artifacts: sent, messages } });
    },
    {
      name: PRESENT,
      description:
        "Sends files from /outputs to the person, with your answer to this message. A file that your answer names itself, as " +
        "![Prices](prices.csv), is not sent twice.",
      schema: z.object({
        paths: z.array(z.string().min(1)).min(1).max(MOST_FILES).describe("Such as /outputs/prices.csv."),
      }),
    },
  );
}
