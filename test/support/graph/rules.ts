import type { GraphFiles } from "./files.ts";
import { GraphRefusal, wrong } from "./refusal.ts";

export type Body = Readonly<Record<string, unknown>>;

// What the Cloud API takes in a message. Source: WhatsApp Business Platform, messages.
const CAPTION = 1_024;
const MEDIA: Readonly<Record<string, { readonly bytes: number; readonly types: RegExp }>> = {
  image: { bytes: 5_000_000, types: /^image\/(?:jpeg|png)$/ },
  video: { bytes: 16_000_000, types: /^video\/(?:mp4|3gpp)$/ },
  audio: { bytes: 16_000_000, types: /^audio\// },
  document: { bytes: 100_000_000, types: /./ },
  sticker: { bytes: 500_000, types: /^image\/webp$/ },
};

/** @throws GraphRefusal for what Meta would not send. */
export function checkMessage(body: Body, files: GraphFiles, isKnown: (wamid: string) => boolean): void {
  if (body["messaging_product"] !== "whatsapp")
    throw new GraphRefusal(400, 100, "The parameter messaging_product is required.");
  if (body["recipient_type"] !== "individual") throw wrong("recipient_type");
  if (typeof body["to"] !== "string" && typeof body["recipient"] !== "string")
    throw new GraphRefusal(400, 131008, "Required parameter is missing", { details: "to" });
  const context = body["context"];
  if (context !== undefined && !isKnown(text(record(context)["message_id"], 1_000)))
    throw wrong("Message id of the context is not known");
  const type = text(body["type"], 20);
  const part = record(body[type]);
  if (type === "text") text(part["body"], 4_096);
  else if (type === "interactive") checkInteractive(part);
  else if (type === "reaction") checkReaction(part, isKnown);
  else if (MEDIA[type]) checkMedia(type, part, files);
  else throw new GraphRefusal(400, 131051, "Unsupported message type");
}

/** Source: WhatsApp Business Platform, reaction messages; an empty emoji takes the reaction away. */
function checkReaction(part: Body, isKnown: (wamid: string) => boolean): void {
  if (!isKnown(text(part["message_id"], 1_000))) throw wrong("Message id of the reaction is not known");
  if (typeof part["emoji"] !== "string" || part["emoji"].length > 20) throw wrong("emoji");
}

function checkMedia(type: string, part: Body, files: GraphFiles): void {
  const file = files.uploaded(text(part["id"], 100));
  if (!file) throw new GraphRefusal(400, 131053, "Media upload error", { details: "the id is not known" });
  const { bytes, types } = MEDIA[type] ?? { bytes: 0, types: /^$/ };
  if (!types.test(file.type)) throw wrong(`a file of the type ${file.type} as ${type}`);
  if (file.bytes.length > bytes)
    throw new GraphRefusal(400, 131053, "Media upload error", { details: "size" });
  if (part["caption"] !== undefined) {
    if (type === "audio" || type === "sticker") throw wrong("a caption below a sound");
    text(part["caption"], CAPTION);
  }
  if (part["voice"] === true && !file.bytes.subarray(0, 64).includes("OpusHead"))
    throw wrong("a voice message that is no Opus");
  if (type === "document") text(part["filename"], 240);
}

function checkInteractive(part: Body): void {
  const action = record(part["action"]);
  if (part["type"] === "button") {
    text(record(part["body"])["text"], 1_024);
    const titles = array(action["buttons"], 3).map((button) => {
      const { id, title } = record(record(button)["reply"]);
      text(id, 256);
      return text(title, 20);
    });
    if (new Set(titles).size < titles.length) throw wrong("two buttons have the same title");
  } else if (part["type"] === "list") {
    text(record(part["body"])["text"], 4_096);
    text(action["button"], 20);
    const rows = array(action["sections"], 10).flatMap((section) => array(record(section)["rows"], 10));
    if (rows.length > 10) throw wrong("more than 10 rows");
    for (const row of rows) {
      const { id, title, description } = record(row);
      text(id, 200);
      text(title, 24);
      if (description !== undefined) text(description, 72);
    }
  } else throw wrong("interactive type");
}

export function record(value: unknown): Body {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrong("an object is missing");
  return value as Body; // an object's properties are unknown
}

function array(value: unknown, most: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > most)
    throw wrong(`a list of 1 to ${most} is missing`);
  return value as readonly unknown[];
}

function text(value: unknown, most: number): string {
  if (typeof value !== "string" || value === "" || value.length > most)
    throw wrong(`a text of 1 to ${most} characters is missing`);
  return value;
}
