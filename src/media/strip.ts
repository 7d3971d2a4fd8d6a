/**
 * A picture without what its maker wrote into it — place, time, device, comments, thumbnails, what hangs on behind its
 * end — and with its image data, colour profile included, byte for byte. An animation is cut down to its first picture
 * where the container can (PNG, GIF). Undefined where the container is not as it should be.
 */
export function withoutMetadata(bytes: Uint8Array, mimeType: string): Uint8Array | undefined {
  try {
    switch (mimeType) {
      case "image/jpeg":
        return join(jpegParts(bytes));
      case "image/png":
        return join(pngParts(bytes));
      case "image/gif":
        return join(gifParts(bytes));
      case "image/webp":
        return webpParts(bytes);
      default:
        return undefined;
    }
  } catch (error) {
    if (error instanceof RangeError) return undefined; // it ends in the middle of a part
    throw error;
  }
}

/** How many pictures an animated PNG says that it has; 1 for a still one. */
export function pngFrames(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  for (let at = 8; at + 12 <= bytes.length; at += view.getUint32(at) + 12) {
    const type = ascii(bytes, at + 4, 4);
    if (type === "acTL" && at + 12 + 4 <= bytes.length) return Math.max(1, view.getUint32(at + 8));
    if (type === "IDAT") return 1;
  }
  return 1;
}

type Parts = readonly Uint8Array[] | undefined;

/** Segments, ISO 10918-1 B.1.1: FF, a marker, and a length that counts itself. */
function jpegParts(bytes: Uint8Array): Parts {
  const view = viewOf(bytes);
  const parts = [bytes.subarray(0, 2)];
  let at = 2;
  for (;;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1; // a fill byte
    } else if (marker === 0xd9) {
      return [...parts, bytes.subarray(at, at + 2)];
    } else {
      const end = at + 2 + view.getUint16(at + 2);
      if (end > bytes.length) return undefined;
      const segment = bytes.subarray(at, end);
      const kept = keptSegment(marker, segment);
      if (kept) parts.push(kept);
      at = end;
      if (marker !== 0xda) continue;
      at = scanEnd(bytes, end);
      parts.push(bytes.subarray(end, at));
    }
  }
}

function keptSegment(marker: number, segment: Uint8Array): Uint8Array | undefined {
  const names = (name: string): boolean => ascii(segment, 4, name.length) === name;
  // JFIF with its resolution, without its thumbnail.
  if (marker === 0xe0) return names("JFIF\0") ? jfif(segment) : undefined;
  if (marker === 0xe2) return names("ICC_PROFILE\0") ? segment : undefined;
  if (marker === 0xee) return names("Adobe") ? segment : undefined; // says how its colours are coded
  const applications = marker >= 0xe0 && marker <= 0xef;
  const comment = marker === 0xfe;
  return applications || comment ? undefined : segment;
}

function jfif(segment: Uint8Array): Uint8Array {
  const kept = Uint8Array.from([...segment.subarray(0, 16), 0, 0]);
  kept.set([0, 16], 2);
  return kept;
}

/** Behind the data of a scan: the next marker that is neither a stuffed byte nor a restart. */
function scanEnd(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1] ?? 0;
    if (next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at;
  }
  return bytes.length;
}

const PNG_CHUNKS = new Set(
  "IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP sBIT bKGD pHYs cICP mDCV cLLI".split(" "),
);

/** Chunks: a length, a type, so many bytes, a checksum. */
function pngParts(bytes: Uint8Array): Parts {
  const view = viewOf(bytes);
  const parts = [bytes.subarray(0, 8)];
  for (let at = 8; ;) {
    const end = at + 12 + view.getUint32(at);
    if (end > bytes.length) return undefined;
    const type = ascii(bytes, at + 4, 4);
    if (PNG_CHUNKS.has(type)) parts.push(bytes.subarray(at, end));
    if (type === "IEND") return parts;
    at = end;
  }
}

/** GIF89a: a screen with its colours, then blocks; of the extensions only the one that says how to show what follows. */
function gifParts(bytes: Uint8Array): Parts {
  const view = viewOf(bytes);
  let at = 13 + colourBytes(view.getUint8(10));
  const parts = [bytes.subarray(0, at)];
  let control: Uint8Array | undefined;
  for (;;) {
    const block = view.getUint8(at);
    if (block === 0x21) {
      const end = subBlocksEnd(view, at + 2);
      if (view.getUint8(at + 1) === 0xf9) control = bytes.subarray(at, end);
      at = end;
    } else if (block === 0x2c) {
      const end = subBlocksEnd(view, at + 11 + colourBytes(view.getUint8(at + 9)));
      return [...parts, ...(control ? [control] : []), bytes.subarray(at, end), Uint8Array.of(0x3b)];
    } else {
      return undefined;
    }
  }
}

/** Of a table of colours, by the flags that stand before it. */
function colourBytes(flags: number): number {
  return flags & 0x80 ? 3 << ((flags & 7) + 1) : 0;
}

function subBlocksEnd(view: DataView, from: number): number {
  let at = from;
  while (view.getUint8(at) !== 0) at += view.getUint8(at) + 1;
  return at + 1;
}

const WEBP_CHUNKS = new Set(["VP8X", "VP8 ", "VP8L", "ALPH", "ICCP"]);

/** RIFF: chunks of an even length, and the length of all of them at the front. */
function webpParts(bytes: Uint8Array): Uint8Array | undefined {
  const view = viewOf(bytes);
  const end = Math.min(bytes.length, view.getUint32(4, true) + 8);
  const parts = [bytes.slice(0, 12)];
  for (let at = 12; at + 8 <= end;) {
    const size = view.getUint32(at + 4, true);
    const next = at + 8 + size + (size % 2);
    if (at + 8 + size > bytes.length) return undefined;
    const type = ascii(bytes, at, 4);
    const chunk = bytes.slice(at, next);
    if (type === "VP8X") chunk[8] = (chunk[8] ?? 0) & ~0x0c; // no EXIF, no XMP
    if (WEBP_CHUNKS.has(type)) parts.push(chunk);
    at = next;
  }
  const whole = join(parts);
  if (whole) viewOf(whole).setUint32(4, whole.length - 8, true);
  return whole;
}

function join(parts: Parts): Uint8Array | undefined {
  return parts && new Uint8Array(Buffer.concat(parts));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function ascii(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
