import type { Blobs } from "../../src/core/agent.ts";
import type { Extract, MediaBlock, Still } from "../../src/core/blocks.ts";

/** A medium whose bytes are these letters; its texts and pictures are put into the blob store too. */
export async function medium(
  blobs: Blobs,
  fields: Partial<MediaBlock>,
  has: {
    readonly bytes?: string;
    readonly text?: string;
    readonly transcript?: string;
    /** The text that was shortened to `text`. */
    readonly whole?: { readonly text: string; readonly path?: string };
    /** Labels of pictures that stand for it; each is of its label's letters. */
    readonly stills?: readonly string[];
  } = {},
): Promise<MediaBlock> {
  const { bytes = "BYTES", text, transcript, whole, stills } = has;
  const put = (letters: string) => blobs.put(Buffer.from(letters));
  const shown = text ?? transcript;
  const extract: Extract | undefined =
    shown === undefined
      ? undefined
      : {
          as: text === undefined ? "transcript" : "text",
          blob: await put(shown),
          bytes: shown.length,
          ...(whole === undefined
            ? {}
            : {
                whole: {
                  blob: await put(whole.text),
                  bytes: whole.text.length,
                  lines: whole.text.split("\n").length,
                  ...(whole.path === undefined ? {} : { path: whole.path }),
                },
              }),
        };
  const pictures = stills?.map(async (label): Promise<Still> => ({
    blob: await put(label),
    bytes: label.length,
    width: 4,
    height: 3,
    label,
  }));
  return {
    type: "file",
    mimeType: "application/octet-stream",
    blob: await put(bytes),
    bytes: bytes.length,
    ...fields,
    ...(extract === undefined ? {} : { extract }),
    ...(pictures === undefined ? {} : { stills: await Promise.all(pictures) }),
  };
}

export const base64 = (letters: string): string => Buffer.from(letters).toString("base64");
