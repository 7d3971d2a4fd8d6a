import { basename } from "node:path";
import type { MediaKind, Unfetched } from "../../src/core/blocks.ts";
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
    const [path = "", sentAs = ""] = [variant.file, variant.sent_as];
    const bytes = variant.inline_file === undefined ? await caseFile(path) : Buffer.from(variant.inline_file);
    // Only documents keep their names on the way.
    const named = path !== "" && ["document", ""].includes(sentAs);
    const filename = variant.filename ?? (named && path !== "" ? basename(path) : undefined);
    await send(variant, bytes, filename, talk, world);
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
  const ways = (input.sent_as ?? "").split(" and ");
  return files.map((file, at) => ({ ...rest, file, sent_as: ways[at] ?? ways[0] ?? "" }));
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

async function send(
  input: Input,
  bytes: Buffer,
  filename: string | undefined,
  talk: Talk,
  world: World,
): Promise<void> {
  const { caption = "", declared_mime: mimeType, duration, sent_as: sentAs = "" } = input;
  if (platformOf(input) === "whatsapp") {
    const unfetched: Unfetched = {
      type: "unfetched",
      ...kindOf(sentAs),
      ref: world.platform.upload(bytes),
      declared: {
        bytes: bytes.length,
        ...(mimeType === undefined ? {} : { mimeType }),
        ...(filename === undefined ? {} : { filename }),
        ...kindOf(sentAs).declared,
      },
    };
    return await talk.say([...(caption === "" ? [] : [{ type: "text", text: caption } as const]), unfetched]);
  }
  const file = {
    ...(caption === "" ? {} : { caption }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(filename === undefined ? {} : { fileName: filename }),
    ...(duration === undefined ? {} : { duration }),
  };
  switch (sentAs) {
    case "photo":
      return void talk.voice.sendPhoto(bytes, file);
    case "document":
    case "":
      return void talk.voice.sendDocument(bytes, file);
    case "voice":
      return void talk.voice.sendVoice(bytes, file);
    case "audio":
      return void talk.voice.sendAudio(bytes, file);
    default:
      throw new Error(`nobody can send a ${sentAs}`);
  }
}

/** As WhatsApp's messages announce them. */
function kindOf(sentAs: string): {
  readonly kind: MediaKind;
  readonly declared: { readonly label?: string };
} {
  switch (sentAs) {
    case "image":
      return { kind: "image", declared: { label: "photo" } };
    case "audio (ptt)":
      return { kind: "audio", declared: { label: "voice note" } };
    case "audio":
      return { kind: "audio", declared: {} };
    case "video":
      return { kind: "video", declared: {} };
    default:
      return { kind: "file", declared: {} };
  }
}
