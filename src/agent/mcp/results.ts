import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { systemCode } from "../../core/errors.ts";
import { inQuotes, oneLine } from "../../core/words.ts";
import type { ToolResult } from "./link.ts";

const MOST_FILES = 8;
const FILE_BYTES = 10_000_000;
const NAME_CHARACTERS = 200;

/** The forms that parts of a result have; others are left out with a word. */
const PART = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.enum(["image", "audio"]), data: z.string(), mimeType: z.string() }),
  z.object({
    type: z.literal("resource"),
    resource: z.object({
      uri: z.string().catch(""),
      mimeType: z.string().optional().catch(undefined),
      text: z.string().optional(),
      blob: z.string().optional(),
    }),
  }),
  z.object({ type: z.literal("resource_link"), uri: z.string(), name: z.string().catch("") }),
]);

/**
 * A result as one text: pictures, sounds and files are put into the chat's workspace and named by their paths, or only
 * named where the agent has no files.
 */
export async function resultText(
  { content, structuredContent }: ToolResult,
  place: { readonly folder: string; readonly server: string } | undefined,
): Promise<string> {
  const words: string[] = [];
  let files = 0;
  const file = async (what: string, mimeType: string, base64: string): Promise<string> => {
    files += 1;
    const kind = oneLine(mimeType).slice(0, NAME_CHARACTERS);
    const kept = place === undefined || files > MOST_FILES ? undefined : await keep(place, mimeType, base64);
    return kept === undefined ? `[${what}, ${kind}, which is not shown]` : `[${what}, ${kind}: ${kept}]`;
  };
  for (const each of content) {
    const { data: part } = PART.safeParse(each);
    if (part === undefined) words.push("[a part that cannot be read]");
    else if (part.type === "text") words.push(part.text);
    else if (part.type === "resource_link") words.push(`[a link: ${named(part.name, part.uri)}]`);
    else if (part.type !== "resource") {
      words.push(await file(part.type === "image" ? "a picture" : "a sound", part.mimeType, part.data));
    } else {
      const { uri, mimeType = "application/octet-stream", text, blob } = part.resource;
      if (text !== undefined) words.push(`[${named("", uri)}]\n${text}`);
      else if (blob !== undefined) words.push(await file(`the file ${named("", uri)}`, mimeType, blob));
      else words.push(`[a link: ${named("", uri)}]`);
    }
  }
  // Servers that give data give the same as text, for who does not read it; some do not.
  if (words.length === 0 && structuredContent !== undefined) words.push(JSON.stringify(structuredContent));
  return words.length === 0 ? "[nothing]" : words.join("\n");
}

function named(name: string, uri: string): string {
  return inQuotes(oneLine(name === "" ? uri : `${name}, ${uri}`).slice(0, NAME_CHARACTERS));
}

/** Gives the path as the agent names it; undefined where it could not be kept: a full disk ends no call. */
async function keep(
  { folder, server }: { readonly folder: string; readonly server: string },
  mimeType: string,
  base64: string,
): Promise<string | undefined> {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length === 0 || bytes.length > FILE_BYTES) return undefined;
  // The same file again has the same name.
  const name = `${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}.${endingOf(mimeType)}`;
  const results = join(folder, "workspace", "results", server);
  try {
    for (const each of [join(folder, "workspace"), join(folder, "workspace", "results"), results]) {
      await mkdir(each, { mode: 0o700 }).catch(unlessThere);
      if (!(await lstat(each)).isDirectory()) return undefined; // a link could lead to anywhere
    }
    const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;
    const file = await open(join(results, name), O_CREAT | O_EXCL | O_WRONLY | (O_NOFOLLOW ?? 0), 0o600);
    try {
      await file.writeFile(bytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (systemCode(error) !== "EEXIST") return undefined;
  }
  return `/workspace/results/${server}/${name}`;
}

function unlessThere(error: unknown): void {
  if (systemCode(error) !== "EEXIST") throw error;
}

const ENDINGS: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "audio/mpeg": "mp3",
  "text/plain": "txt",
  "image/svg+xml": "svg",
};

function endingOf(mimeType: string): string {
  const type = mimeType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return ENDINGS[type] ?? /^[a-z]+\/([a-z0-9]{1,8})$/.exec(type)?.[1] ?? "bin";
}
