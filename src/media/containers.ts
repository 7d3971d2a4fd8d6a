import type { Hint } from "./hint.ts";

// Containers whose signature is not what is in them: a picture or a film, sound alone or sound beside pictures.

const AVIF = new Set(["avif", "avis"]);
const HEIC = new Set(["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"]);
const ANY_HEIF = new Set(["mif1", "mif2", "msf1", "miaf"]);
const SOUND = new Set(["M4A ", "M4B ", "M4P ", "F4A ", "F4B "]);

/** ISO base media: MP4, QuickTime, 3GP, HEIC, AVIF, by the brands of its first box and the tracks that the head shows. */
export function bmffType(head: Uint8Array, hint: Hint): string {
  const text = latin1(head);
  const boxBytes = new DataView(head.buffer, head.byteOffset, head.length).getUint32(0);
  const major = text.slice(8, 12);
  const others = text.slice(16, Math.max(16, Math.min(boxBytes, 512))).match(/[^]{4}/g) ?? [];
  const brands = [major, ...others];
  if (AVIF.has(major)) return "image/avif";
  if (HEIC.has(major)) return "image/heic";
  if (ANY_HEIF.has(major)) {
    const av1 = brands.some((brand) => AVIF.has(brand)) && !brands.some((brand) => HEIC.has(brand));
    return av1 ? "image/avif" : "image/heic";
  }
  if (major === "crx ") return "image/x-canon-cr3";
  if (SOUND.has(major)) return "audio/mp4";
  if (major === "qt  ") return "video/quicktime";
  const sound = !hasTrack(text, "vide") && (isDeclaredSound(hint) || hasTrack(text, "soun"));
  if (major.startsWith("3g2")) return sound ? "audio/3gpp2" : "video/3gpp2";
  if (major.startsWith("3g")) return sound ? "audio/3gpp" : "video/3gpp";
  return sound ? "audio/mp4" : "video/mp4";
}

/** A track of this kind in the head. The tracks of a film mostly stand behind its data, and the film's comes first. */
function hasTrack(text: string, handler: string): boolean {
  for (let at = text.indexOf("hdlr"); at >= 0; at = text.indexOf("hdlr", at + 4))
    if (text.startsWith(handler, at + 12)) return true;
  return false;
}

/** Matroska and WebM, by the codecs that the head shows. */
export function matroskaType(head: Uint8Array, hint: Hint): string {
  const text = latin1(head);
  const container = text.slice(0, 64).includes("webm") ? "webm" : "x-matroska";
  if (/V_(VP|AV1|MPEG|THEORA|MJPEG|MS\/|REAL|QUICKTIME|UNCOMPRESSED|PRORES|FFV1|DIRAC)/.test(text))
    return `video/${container}`;
  const sound = /A_(OPUS|VORBIS|AAC|MPEG|FLAC|PCM|AC3|EAC3|DTS|ALAC|TTA|WAVPACK|MS\/)/.test(text);
  return sound || isDeclaredSound(hint) ? `audio/${container}` : `video/${container}`;
}

/** Ogg holds sound unless one of its first pages begins a film. */
export function oggType(head: Uint8Array): string {
  const text = latin1(head);
  const films = ["\x80theora", "\x01video\0", "BBCD\0"];
  return films.some((film) => text.includes(film)) ? "video/ogg" : "audio/ogg";
}

function isDeclaredSound({ mimeType, filename }: Hint): boolean {
  return mimeType?.startsWith("audio/") === true || /\.(m4a|m4b|aac|mka|weba)$/i.test(filename ?? "");
}

// kbit/s by the four bits of the header, ISO 11172-3 2.4.2.3 and 13818-3: version 1 layers 1–3, version 2 layer 1 and the rest.
const RATES = {
  v1l1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  v1l2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  v1l3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  v2l1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  v2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const HERTZ = [44_100, 48_000, 32_000];

/** MPEG audio without a tag before it: a whole header, and another frame where it says that the next one begins. */
export function mpegAudioType(head: Uint8Array): "audio/mpeg" | "audio/aac" | undefined {
  const length = frameBytes(head, 0);
  if (length === undefined) return undefined;
  if (length + 4 <= head.length && frameBytes(head, length) === undefined) return undefined;
  return (((head[1] ?? 0) >> 1) & 3) === 0 ? "audio/aac" : "audio/mpeg";
}

function frameBytes(head: Uint8Array, at: number): number | undefined {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = head.subarray(at, at + 6);
  if (a !== 0xff || (b & 0xe0) !== 0xe0) return undefined;
  const version = (b >> 3) & 3;
  const layer = 4 - ((b >> 1) & 3);
  if (layer === 4) {
    // ADTS, ISO 13818-7 6.2.1: thirteen bits of length, header and all
    const length = ((d & 3) << 11) | (e << 3) | (f >> 5);
    return (b & 0xf6) === 0xf0 && ((c >> 2) & 15) < 13 && length > 7 ? length : undefined;
  }
  const hertz = HERTZ[(c >> 2) & 3];
  if (version === 1 || hertz === undefined) return undefined;
  const first = version === 3;
  const rates = first ? RATES[`v1l${layer as 1 | 2 | 3}`] : layer === 1 ? RATES.v2l1 : RATES.v2; // 4 is ADTS
  const rate = (rates[c >> 4] ?? 0) * 1_000;
  if (rate === 0) return undefined;
  const perSecond = hertz / (first ? 1 : version === 2 ? 2 : 4);
  const padding = (c >> 1) & 1;
  if (layer === 1) return (Math.floor((12 * rate) / perSecond) + padding) * 4;
  const samples = layer === 3 && !first ? 72 : 144;
  return Math.floor((samples * rate) / perSecond) + padding;
}

function latin1(head: Uint8Array): string {
  return Buffer.from(head.buffer, head.byteOffset, head.length).toString("latin1");
}
