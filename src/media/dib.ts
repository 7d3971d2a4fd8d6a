// Windows bitmaps, alone and as icons: what sharp does not read. Uncompressed ones only; nobody sends others.

/** What a bitmap says of itself; `decode` gives its pixels as RGBA. */
export type Bitmap = {
  readonly width: number;
  readonly height: number;
  /** @throws RangeError when the file ends before its pixels do. */
  decode(): Uint8Array;
};

/** Undefined where it is compressed or of a kind that is not read. */
export function readBmp(bytes: Uint8Array): Bitmap | undefined {
  const view = viewOf(bytes);
  const dib = readDib(view, 14);
  return dib && { ...dib, decode: () => pixels(view, dib, view.getUint32(10, true)) };
}

/** An icon's largest picture, as a bitmap or as the PNG that it is, and how many pictures there are. */
export function readIcon(
  bytes: Uint8Array,
): { readonly of: number; readonly picture: Bitmap | Uint8Array | undefined } | undefined {
  const view = viewOf(bytes);
  const of = view.getUint16(4, true);
  const entries = Array.from({ length: Math.min(of, 256) }, (_, index) => {
    const at = 6 + index * 16;
    const area = (view.getUint8(at) || 256) * (view.getUint8(at + 1) || 256); // 0 says 256
    const [length, from] = [view.getUint32(at + 8, true), view.getUint32(at + 12, true)];
    return { area, depth: view.getUint16(at + 6, true), length, from };
  });
  const [largest] = entries.toSorted((a, b) => b.area - a.area || b.depth - a.depth);
  if (!largest) return undefined;
  const { from, length } = largest;
  if (view.getUint32(from) === 0x89504e47) return { of, picture: bytes.subarray(from, from + length) };
  const doubled = readDib(view, from);
  if (!doubled) return { of, picture: undefined };
  // Its height counts the mask that follows the colours.
  const dib = { ...doubled, height: Math.floor(doubled.height / 2) };
  return { of, picture: { ...dib, decode: () => masked(view, dib) } };
}

type Dib = {
  readonly width: number;
  readonly height: number;
  readonly topDown: boolean;
  readonly depth: number;
  /** Red, green, blue, alpha: which bits they are; 0 where there are none. */
  readonly masks: readonly [number, number, number, number];
  readonly palette: number;
  readonly paletteBytes: 3 | 4;
  readonly colours: number;
};

function readDib(view: DataView, at: number): Dib | undefined {
  const header = view.getUint32(at, true);
  if (header === 12) {
    const depth = view.getUint16(at + 10, true);
    const [width, height] = [view.getUint16(at + 4, true), view.getUint16(at + 6, true)];
    const palette = { palette: at + 12, paletteBytes: 3, colours: 1 << depth } as const;
    return known({ width, height, topDown: false, depth, masks: usualMasks(depth), ...palette });
  }
  if (header < 40) return undefined;
  const signedHeight = view.getInt32(at + 8, true);
  const depth = view.getUint16(at + 14, true);
  const compression = view.getUint32(at + 16, true);
  const fields = compression === 3 || compression === 6;
  if (compression !== 0 && !fields) return undefined;
  const mask = (index: number): number => view.getUint32(at + 40 + index * 4, true);
  const hasAlpha = compression === 6 || header >= 56;
  return known({
    width: view.getInt32(at + 4, true),
    height: Math.abs(signedHeight),
    topDown: signedHeight < 0,
    depth,
    masks: fields ? [mask(0), mask(1), mask(2), hasAlpha ? mask(3) : 0] : usualMasks(depth),
    palette: at + header + (header === 40 && fields ? (compression === 6 ? 16 : 12) : 0),
    paletteBytes: 4,
    colours: view.getUint32(at + 32, true) || (depth <= 8 ? 1 << depth : 0),
  });
}

function known(dib: Dib): Dib | undefined {
  return [1, 4, 8, 16, 24, 32].includes(dib.depth) && dib.width > 0 && dib.height > 0 ? dib : undefined;
}

function usualMasks(depth: number): Dib["masks"] {
  return depth === 16 ? [0x7c00, 0x03e0, 0x001f, 0] : [0xff0000, 0x00ff00, 0x0000ff, 0];
}

function rowBytes(width: number, depth: number): number {
  return Math.ceil((width * depth) / 32) * 4;
}

function pixels(view: DataView, dib: Dib, from: number): Uint8Array {
  const { width, height, depth, masks } = dib;
  const stride = rowBytes(width, depth);
  view.getUint8(from + stride * height - 1); // before anything is set aside for it
  const rgba = new Uint8Array(width * height * 4);
  const [red, green, blue, alpha] = masks.map(channel) as [Channel, Channel, Channel, Channel]; // four in, four out
  for (let y = 0; y < height; y += 1) {
    const row = from + stride * (dib.topDown ? y : height - 1 - y);
    for (let x = 0; x < width; x += 1) {
      const to = (y * width + x) * 4;
      if (depth <= 8) {
        const index =
          (view.getUint8(row + ((x * depth) >> 3)) >> (8 - depth - ((x * depth) & 7))) & ((1 << depth) - 1);
        const entry = dib.palette + Math.min(index, Math.max(0, dib.colours - 1)) * dib.paletteBytes;
        for (let part = 0; part < 3; part += 1) rgba[to + part] = view.getUint8(entry + 2 - part);
        rgba[to + 3] = 255;
      } else {
        const value = sample(view, row + (x * depth) / 8, depth);
        rgba[to] = red(value);
        rgba[to + 1] = green(value);
        rgba[to + 2] = blue(value);
        rgba[to + 3] = masks[3] === 0 ? 255 : alpha(value);
      }
    }
  }
  return rgba;
}

function sample(view: DataView, at: number, depth: number): number {
  if (depth === 16) return view.getUint16(at, true);
  if (depth === 32) return view.getUint32(at, true);
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
}

type Channel = (value: number) => number;

function channel(mask: number): Channel {
  if (mask === 0) return () => 0;
  const shift = 31 - Math.clz32(mask & -mask);
  const most = mask >>> shift;
  return (value) => Math.round((((value & mask) >>> shift) * 255) / most);
}

/** An icon's colours, with the transparency that 32 bits have in them or that the mask behind the colours says. */
function masked(view: DataView, dib: Dib): Uint8Array {
  const { width, height, depth } = dib;
  const from = dib.palette + dib.colours * dib.paletteBytes;
  const rgba = pixels(
    view,
    depth === 32 ? { ...dib, masks: [0xff0000, 0xff00, 0xff, 0xff000000] } : dib,
    from,
  );
  const hasOwn = depth === 32 && rgba.some((value, index) => index % 4 === 3 && value !== 0);
  if (hasOwn) return rgba;
  const mask = from + rowBytes(width, depth) * height;
  const stride = rowBytes(width, 1);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const row = mask + stride * (dib.topDown ? y : height - 1 - y);
      const hidden = (view.getUint8(row + (x >> 3)) >> (7 - (x & 7))) & 1;
      rgba[(y * width + x) * 4 + 3] = hidden ? 0 : 255;
    }
  }
  return rgba;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
