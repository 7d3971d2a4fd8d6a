const LONGEST_CHARACTERS = 120;
const LONGEST_BYTES = 200; // of the 255 that file systems take: room for " (2)" and an ending of our own

// Control characters, lone surrogates, private ones, line separators, and what is not seen but changes what is.
const UNSAFE =
  /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\ufff9-\ufffb]|(?![\p{Join_Control}\p{Variation_Selector}])\p{Default_Ignorable_Code_Point}/gu;
// What a file system or a shell reads as something else than a part of a name; a path's parts are gone by then.
const SPECIAL = /[<>:"|?*]/g;
// Names of devices on Windows, whatever stands behind their first dot.
const RESERVED = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)/i;
const SOMETHING_TO_SEE = /[^\p{Z}\p{M}\p{Join_Control}.]/u;

/**
 * A file's name as it is shown: no path, nothing that hides or turns text around, at most 120 characters and 200 bytes
 * of UTF-8 with the ending kept. Undefined where nothing is left of it.
 */
export function safeName(declared: string | undefined): string | undefined {
  const last = declared?.split(/[/\\]/).findLast((part) => part !== "") ?? "";
  const clean = last
    .toWellFormed()
    .normalize("NFC") // a model writes names composed, wherever they come from
    .replaceAll(UNSAFE, "")
    .replaceAll(/\p{Zs}+/gu, " ")
    .replace(/^ +/, "")
    .replace(/[ .]+$/, "");
  return SOMETHING_TO_SEE.test(clean) ? shortened(clean) : undefined;
}

/** A shown name as a file has it: without what means something to a file system, a shell or a program. */
export function diskName(shown: string): string {
  // Neither hidden, nor an option, nor a home, nor a device.
  const plain = shown
    .replaceAll(SPECIAL, "_")
    .replace(/^[.\-~]+/, "_")
    .replace(RESERVED, "_$1");
  return shortened(plain);
}

function shortened(name: string): string {
  const ending = /(?<=.)\.[\p{L}\p{N}]{1,10}$/u.exec(name)?.[0] ?? "";
  const stem = name.slice(0, name.length - ending.length);
  if (fits(name)) return name;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(stem.slice(0, LONGEST_BYTES))) {
    if (!fits(kept + segment + ending)) break;
    kept += segment;
  }
  // A first character that is longer than any name: marks heaped on a letter, which is kept.
  return `${kept === "" ? String.fromCodePoint(stem.codePointAt(0) ?? 0x5f) : kept}${ending}`;
}

function fits(name: string): boolean {
  return Array.from(name).length <= LONGEST_CHARACTERS && Buffer.byteLength(name) <= LONGEST_BYTES;
}
