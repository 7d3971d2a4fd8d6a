import { basename } from "node:path";
import type { Case, Input } from "./cases.ts";
import { caseFile } from "./files.ts";
import type { Platform, Talk, TalkOptions, World } from "./world.ts";

const TRANSCRIPT = "The blue kettle is on the third shelf. Please call the office at half past seven.";

/** One file of a case, sent to an agent of its own. */
export type Run = {
  readonly input: Input;
  readonly talk: Talk;
  /** As it was sent; undefined where the platform hands no name over. */
  readonly filename: string | undefined;
  readonly bytes: Buffer;
};

/** Drives a case: each of its files, under each of its names, is sent by a person of its own and answered. */
export async function drive(
  one: Case,
  world: World,
  more: Partial<TalkOptions> = {},
): Promise<readonly Run[]> {
  const runs: Run[] = [];
  for (const variant of variantsOf(one)) {
    const talk = await world.talk({ platform: platformOf(variant), ...optionsOf(one), ...more });
    const { file: path = "", inline_file: inline, sent_as: sentAs = "document" } = variant;
    const bytes = inline === undefined ? await caseFile(path) : Buffer.from(inline);
    const filename = nameOnTheWay(variant, sentAs);
    const { caption = "", declared_mime: mimeType, duration } = variant;
    await talk.send({
      bytes,
      sentAs,
      ...(filename === undefined ? {} : { filename }),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(caption === "" ? {} : { caption }),
      ...(duration === undefined ? {} : { duration }),
    });
    await talk.finish();
    runs.push({ input: variant, talk, filename, bytes });
  }
  return runs;
}

/** A case of several files or names is as many messages. */
function variantsOf({ input }: Case): readonly Input[] {
  const { files, filenames, ...rest } = input;
  if (filenames) return filenames.map((filename) => ({ ...rest, filename }));
  if (!files) return [input];
  const ways = (input.sent_as ?? "document").split(" and ");
  return files.map((file, at) => ({ ...rest, file, sent_as: ways[at] ?? ways[0] ?? "document" }));
}

function platformOf({ platform }: Input): Platform {
  return platform === "whatsapp" ? "whatsapp" : "telegram";
}

/** What a case says of the installation, and what its transcriber does. */
function optionsOf({ expected, input }: Case): Partial<TalkOptions> {
  const { error } = expected;
  const hears = error === "voice_failed" ? { status: 400 } : error === "voice_empty" ? "" : TRANSCRIPT;
  const { provider = "", config = "" } = input as { readonly provider?: string; readonly config?: string }; // of a few
  return {
    ...(config.includes("no transcriber") ? {} : { hears }),
    ...(provider === "anthropic" ? { door: "anthropic" } : {}),
    ...(provider.includes("Responses") ? { door: "responses" } : {}),
  };
}

/** Only documents keep their names on the way; Telegram tells that of other files as well where a client names them. */
function nameOnTheWay(variant: Input, sentAs: string): string | undefined {
  if (sentAs !== "document") return platformOf(variant) === "telegram" ? variant.filename : undefined;
  return variant.filename ?? (variant.file === undefined ? undefined : basename(variant.file));
}
