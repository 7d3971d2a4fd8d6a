import type { MediaKind } from "../core/blocks.ts";
import { bmffType, matroskaType, mpegAudioType, oggType } from "./containers.ts";
import type { Hint } from "./hint.ts";
import { isTgs } from "./tgs.ts";
import { sureText, textType, unsureText } from "./text-types.ts";

export type Sniffed = { readonly mimeType: string; readonly kind: MediaKind };

/** What bytes are. `head` is the first 4,100 bytes or all there are. Never throws. */
export async function sniff(head: Uint8Array, hint: Hint): Promise<Sniffed> {
  const mimeType = (await typeOf(head, hint)) ?? "application/octet-stream";
  return { mimeType, kind: kindOf(mimeType) };
}

async function typeOf(head: Uint8Array, hint: Hint): Promise<string | undefined> {
  const signed = await bySignature(head, hint);
  if (signed !== undefined) return signed;
  // Before file-type: some of its signatures are two letters, or a word in the middle of a sentence.
  const text = sureText(head);
  if (text !== undefined) return await textType(text, hint);
  const found = mpegAudioType(head) ?? (await fromFileType(head));
  if (found !== undefined) return found;
  const perhaps = unsureText(head);
  return perhaps === undefined ? undefined : await textType(perhaps, hint);
}

/** What needs more than file-type looks at, or less than it makes of it. */
async function bySignature(head: Uint8Array, hint: Hint): Promise<string | undefined> {
  const start = Buffer.from(head.subarray(0, 16));
  const hex = start.toString("hex");
  if (/^\ufeff?\s{0,8}%PDF-/.test(start.toString("utf8"))) return "application/pdf";
  if (hex.startsWith("d0cf11e0a1b11ae1")) return "application/x-cfb"; // Word, Excel and PowerPoint of old
  if (hex.startsWith("1f8b")) return isTgs(head) ? "application/x-tgsticker" : "application/gzip";
  if (start.toString("latin1", 4, 8) === "ftyp") return bmffType(head, hint);
  if (hex.startsWith("1a45dfa3")) return matroskaType(head, hint);
  if (start.toString("latin1", 0, 4) === "OggS") return oggType(head);
  const amr = /^#!AMR(-WB)?\n/.exec(start.toString("latin1"));
  if (amr) return amr[1] ? "audio/amr-wb" : "audio/amr";
  // What tells these from their kin may stand behind the head, where file-type gives up.
  for (const [signature, mimeType] of KINDS)
    if (signature.test(hex)) return (await fromFileType(head)) ?? mimeType;
  return undefined;
}

const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^504b(0304|0506|0708)/, "application/zip"],
  [/^89504e470d0a1a0a/, "image/png"],
  [/^(4949|4d4d)(2[ab]00|002[ab])/, "image/tiff"],
  [/^4944330[2-4]/, "audio/mpeg"],
  [/^3026b2758e66cf11/, "application/vnd.ms-asf"],
  [/^6361666600010000/, "audio/x-caf"], // voice memos of Apple's programs
  [/^2e736e640000/, "audio/basic"],
];

async function fromFileType(head: Uint8Array): Promise<string | undefined> {
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(head).catch(() => undefined); // it throws on some truncated containers
  switch (found?.mime) {
    case "audio/mpeg":
    case "audio/aac":
      // Two bytes of a sync word are not enough, and `mpegAudioType` has said no; behind an ID3 tag it does not look.
      return head[0] === 0xff ? undefined : found.mime;
    case "image/bmp":
      return isBmp(head) ? found.mime : undefined;
    case undefined:
      return pdfBehindJunk(head);
    default:
      return found?.mime;
  }
}

/** "BM" alone is the beginning of many a word. */
function isBmp(head: Uint8Array): boolean {
  return [12, 16, 40, 52, 56, 64, 108, 124].includes(head[14] ?? 0) && head[15] === 0;
}

/** Readers of PDF look for its header in the first 1,024 bytes. */
function pdfBehindJunk(head: Uint8Array): string | undefined {
  const start = Buffer.from(head.subarray(0, 1_024)).toString("latin1");
  return /%PDF-\d/.test(start) ? "application/pdf" : undefined;
}

function kindOf(mimeType: string): MediaKind {
  const [family] = mimeType.split("/");
  return family === "image" || family === "audio" || family === "video" ? family : "file";
}
