import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { z } from "zod";
import type { Look } from "../../core/agent.ts";
import type { MediaBlock } from "../../core/blocks.ts";
import { turnOf } from "../turn-config.ts";
import { mediaWords } from "../words.ts";
import type { ChatFiles } from "./chat-files.ts";

const READ = "read_file";
/** Lines of a text, where nothing else is asked for. */
const LINES = 100;
const MOST_LINES = 10_000;

/** A recording is written down by another machine. */
const PATIENCE_SECONDS = 900;

const ASKED = z.object({
  file_path: z.string().describe("Its path, from / on."),
  offset: z.coerce.number().int().min(0).optional().describe("How much to skip (0)."),
  limit: z.coerce.number().int().min(1).optional().describe("How much to read."),
});

/**
 * Reads a text in lines; anything else is looked at: the result says what it is, and the model is shown it with its next
 * step. deepagents' own puts the bytes into its result, where most providers refuse them and the thread keeps them.
 */
export function readFileTool(
  files: () => Promise<ChatFiles>,
  isReadable: (path: string) => boolean,
  looks: boolean,
) {
  return tool(
    async ({ file_path: asked, offset, limit }, run) => {
      const id = run.toolCall?.id ?? "";
      const said = (content: string, status?: "error") =>
        new ToolMessage({ content, tool_call_id: id, name: READ, ...(status ? { status } : {}) });
      const path = `/${asked
        .split("/")
        .filter((part) => part !== "" && part !== ".")
        .join("/")}`;
      if (!isReadable(path)) return said(`Error: permission denied for read on ${path}`, "error");
      const chat = await files();
      const read = await chat.lines(path, offset ?? 0, Math.min(limit ?? LINES, MOST_LINES));
      if ("rows" in read) return said(`${headOf(read, offset ?? 0)}\n${read.rows.join("\n")}`);
      const look = turnOf(run.configurable)?.look;
      if ("error" in read || look === undefined || path.startsWith("/skills/"))
        return said(`Error: ${"error" in read ? read.error : read.noText}`, "error");
      return await lookAt(look, path, { offset, limit }, { id, said, signal: run.signal });
    },
    {
      name: READ,
      description: looks ? DESCRIPTION + LOOKS : DESCRIPTION,
      schema: z.preprocess(withFilePath, ASKED),
      metadata: { timeoutSeconds: PATIENCE_SECONDS },
    },
  );
}

const DESCRIPTION =
  "Reads lines of a text file: limit of them (100), from offset (0) on. A header says which lines these are, of how many, " +
  "and the next offset; it is no part of the file. Lines of more than 2,000 characters are given as several.";
const LOOKS =
  " Other files are shown to you with your next step, once: pictures, PDFs and other documents, recordings as what is said in " +
  "them, videos as pictures of them. Of a PDF offset and limit are pages, of recordings and videos seconds; leave them out for " +
  "all of it.";

/** Models write `path` as often. */
function withFilePath(asked: unknown): unknown {
  if (typeof asked !== "object" || asked === null || !("path" in asked) || "file_path" in asked) return asked;
  const { path, ...rest } = asked;
  return { ...rest, file_path: path };
}

function headOf(
  { rows, total, end }: { readonly rows: readonly string[]; readonly total: number; readonly end: number },
  offset: number,
): string {
  const next = end < total ? ` | next offset ${end}` : "";
  return `@@ lines ${offset + 1}-${offset + rows.length} of ${total}${next} @@`;
}

async function lookAt(
  look: Look,
  path: string,
  { offset, limit }: { readonly offset: number | undefined; readonly limit: number | undefined },
  run: {
    readonly id: string;
    readonly said: (words: string, status?: "error") => ToolMessage;
    readonly signal: AbortSignal | undefined;
  },
): Promise<ToolMessage | Command> {
  const part = {
    ...(offset === undefined ? {} : { from: offset }),
    ...(limit === undefined ? {} : { count: limit }),
  };
  const blocks = await look(path, part, run.signal);
  const media = blocks.filter((block): block is MediaBlock => block.type !== "text");
  const told = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  // Where something is said of it, it cannot be used.
  if (told.length > 0 || media.length === 0)
    return run.said([...told, ...media.map((each) => mediaWords(each, { paths: true }))].join("\n"), "error");
  const words = media.map((each) => mediaWords(each, { paths: true })).join("\n");
  // Two parts of one file are two things that were looked at.
  const key = offset === undefined && limit === undefined ? path : `${path} ${offset ?? 0}+${limit ?? ""}`;
  return new Command({
    update: {
      viewedImages: { [key]: media },
      messages: [
        run.said(`${words}\nIt is shown to you once, behind these results; read it again to see it again.`),
      ],
    },
  });
}
