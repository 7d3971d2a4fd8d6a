import type { PDFDocumentProxy, PDFPageProxy } from "unpdf/pdfjs";
import type { Sharp } from "sharp";
import type { Still } from "../../core/blocks.ts";
import type { FileBlobs } from "../../store/blobs.ts";
import { loadSharp } from "../sharp.ts";
import { keepStill, STILL_SIDE } from "./stills.ts";

/** A page is drawn from so many pictures: scanners cut pages into strips. */
const MOST_PICTURES = 64;
/** What is smaller in both directions is a speck or a rule. */
const SMALLEST_SIDE = 16;

/** A picture of pdf.js: bits or bytes row by row. */
type Raster = {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
  readonly kind?: number;
};
/** Where one lies on its page: a, b, c, d, e, f of PDF, applied to a square of 1 × 1. */
type Matrix = readonly [number, number, number, number, number, number];
type Placed = { readonly raster: Raster; readonly at: Matrix };

/**
 * Draws pages from the pictures on them and nothing else, which is all that a scan is; at most `most`, of those that
 * have any. Drawings and letters made of lines are not drawn.
 */
export async function drawPages(
  document: PDFDocumentProxy,
  numbers: readonly number[],
  most: number,
  blobs: FileBlobs,
): Promise<readonly Still[]> {
  const stills: Still[] = [];
  for (const number of numbers) {
    if (stills.length >= most) break;
    try {
      const page = await document.getPage(number);
      const drawn = await drawPage(page, await picturesOf(page));
      page.cleanup();
      if (drawn) stills.push(await keepStill(drawn, `page ${number}`, blobs));
    } catch {
      // A page that does not draw is told to have no text; the others may.
    }
  }
  return stills;
}

const LOOKED_AT = 20;
// Of a picture that is too large to be decoded only its place is left: a transform.
const PAINTS = /^(paint|shading|fill|eoFill|stroke|close\w*(Fill|Stroke)|constructPath|show|transform$)/;

/** Whether there is nothing on the first pages, not even a line. */
export async function isBlank(document: PDFDocumentProxy): Promise<boolean> {
  const { getResolvedPDFJS } = await import("unpdf");
  const { OPS } = await getResolvedPDFJS();
  const paints = new Set(Object.entries(OPS).flatMap(([name, code]) => (PAINTS.test(name) ? [code] : [])));
  for (let number = 1; number <= Math.min(document.numPages, LOOKED_AT); number += 1) {
    const { fnArray } = await (await document.getPage(number)).getOperatorList();
    if (fnArray.some((code) => paints.has(code))) return false;
  }
  return true;
}

async function picturesOf(page: PDFPageProxy): Promise<readonly Placed[]> {
  const { getResolvedPDFJS } = await import("unpdf");
  const { OPS } = await getResolvedPDFJS();
  const { fnArray, argsArray } = await page.getOperatorList();
  const found: Placed[] = [];
  const saved: Matrix[] = [];
  let matrix: Matrix = [1, 0, 0, 1, 0, 0];
  for (const [index, operator] of fnArray.entries()) {
    const given = (argsArray[index] ?? []) as readonly unknown[]; // by the operator
    if (operator === OPS.save) saved.push(matrix);
    else if (operator === OPS.restore) matrix = saved.pop() ?? matrix;
    else if (operator === OPS.transform) matrix = multiply(matrix, given as unknown as Matrix);
    else if (operator === OPS.paintFormXObjectBegin) {
      saved.push(matrix);
      if (Array.isArray(given[0])) matrix = multiply(matrix, given[0] as unknown as Matrix);
    } else if (operator === OPS.paintFormXObjectEnd) matrix = saved.pop() ?? matrix;
    else if (
      operator === OPS.paintImageXObject ||
      operator === OPS.paintInlineImageXObject ||
      operator === OPS.paintImageMaskXObject
    ) {
      const raster = await rasterOf(page, given[0]);
      if (raster && Math.max(raster.width, raster.height) >= SMALLEST_SIDE)
        found.push({ raster, at: matrix });
      if (found.length >= MOST_PICTURES) break;
    }
  }
  return found;
}

/** The picture itself, or what it is kept under. */
async function rasterOf(page: PDFPageProxy, given: unknown): Promise<Raster | undefined> {
  const named = typeof given === "object" && given !== null && "data" in given ? given.data : given;
  if (typeof named !== "string") return isRaster(given) ? given : undefined;
  const store = named.startsWith("g_") ? page.commonObjs : page.objs;
  const kept = await new Promise<unknown>((resolve) => {
    store.get(named, resolve);
  });
  return isRaster(kept) ? kept : undefined;
}

function isRaster(value: unknown): value is Raster {
  return (
    typeof value === "object" &&
    value !== null &&
    "width" in value &&
    "height" in value &&
    "data" in value &&
    (value.data instanceof Uint8Array || value.data instanceof Uint8ClampedArray)
  );
}

async function drawPage(page: PDFPageProxy, pictures: readonly Placed[]): Promise<Sharp | undefined> {
  const sharp = await loadSharp();
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view;
  // As fine as its finest picture, and no finer than a model looks at.
  const finest = Math.max(
    ...pictures.map(({ raster, at }) => raster.width / Math.max(Math.hypot(at[0], at[1]), 1)),
  );
  const scale = Math.min(STILL_SIDE / Math.max(right - left, top - bottom), finest);
  if (pictures.length === 0 || !(scale > 0)) return undefined;
  const [width, height] = [Math.round((right - left) * scale), Math.round((top - bottom) * scale)];
  const layers: { input: Buffer; left: number; top: number }[] = [];
  for (const { raster, at } of pictures) {
    const box = boxOf(at);
    const target = {
      left: Math.round((box.left - left) * scale),
      top: Math.round((top - box.top) * scale),
      width: Math.max(Math.round((box.right - box.left) * scale), 1),
      height: Math.max(Math.round((box.top - box.bottom) * scale), 1),
    };
    const visible = {
      left: Math.max(-target.left, 0),
      top: Math.max(-target.top, 0),
      width: Math.min(target.left + target.width, width) - Math.max(target.left, 0),
      height: Math.min(target.top + target.height, height) - Math.max(target.top, 0),
    };
    if (visible.width <= 0 || visible.height <= 0 || Math.max(target.width, target.height) > 4 * STILL_SIDE)
      continue;
    const image = placed(opened(sharp, raster), at).resize({
      width: target.width,
      height: target.height,
      fit: "fill",
    });
    const input = await sharp(await image.png({ compressionLevel: 1 }).toBuffer())
      .extract(visible)
      .png({ compressionLevel: 1 })
      .toBuffer();
    layers.push({ input, left: Math.max(target.left, 0), top: Math.max(target.top, 0) });
  }
  if (layers.length === 0) return undefined;
  const canvas = await sharp({ create: { width, height, channels: 3, background: "#fff" } })
    .composite(layers)
    .png({ compressionLevel: 1 })
    .toBuffer();
  return sharp(canvas).rotate(page.rotate);
}

type OpenSharp = typeof import("sharp").default;

/** Rows of bits become bytes: 0 is black, and in a mask what is painted. */
function opened(sharp: OpenSharp, { width, height, data }: Raster): Sharp {
  const pixels = width * height;
  const channels = data.length / pixels;
  if (channels === 1 || channels === 3 || channels === 4)
    return sharp(data, { raw: { width, height, channels } });
  const rowBytes = Math.ceil(width / 8);
  const bytes = new Uint8Array(pixels);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const bit = ((data[y * rowBytes + (x >> 3)] ?? 0xff) >> (7 - (x & 7))) & 1;
      bytes[y * width + x] = bit * 255;
    }
  }
  return sharp(bytes, { raw: { width, height, channels: 1 } });
}

/** Turned and mirrored as its matrix says, by right angles. */
function placed(image: Sharp, [a, b, c, d]: Matrix): Sharp {
  if (Math.abs(b) > Math.abs(a))
    return b > 0 === c < 0 ? image.rotate(b > 0 ? 270 : 90) : image.rotate(270).flop();
  if (a < 0 && d < 0) return image.rotate(180);
  if (a < 0) return image.flop();
  return d < 0 ? image.flip() : image;
}

function boxOf([a, b, c, d, e, f]: Matrix): { left: number; right: number; bottom: number; top: number } {
  const [xs, ys] = [
    [e, e + a, e + c, e + a + c],
    [f, f + b, f + d, f + b + d],
  ];
  return { left: Math.min(...xs), right: Math.max(...xs), bottom: Math.min(...ys), top: Math.max(...ys) };
}

function multiply(outer: Matrix, inner: Matrix): Matrix {
  const [a, b, c, d, e, f] = outer;
  const [g, h, i, j, k, l] = inner;
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}
