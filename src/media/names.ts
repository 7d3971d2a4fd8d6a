// Control characters, and those that turn the direction of text around them (Unicode Bidi_Control).
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const LONGEST = 120;

/** A file's name as it may be shown and stored: no path, no control or direction characters, at most 120 characters. */
export function safeName(declared: string | undefined): string | undefined {
  if (declared === undefined) return undefined;
  const last = declared.toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const clean = last.replaceAll(UNSAFE, "").trim();
  if (clean === "" || clean === "." || clean === "..") return undefined;
  const characters = Array.from(clean);
  if (characters.length <= LONGEST) return clean;
  const dot = clean.lastIndexOf(".");
  const ending = dot > 0 && clean.length - dot <= 12 ? clean.slice(dot) : "";
  return `${characters.slice(0, LONGEST - ending.length).join("")}${ending}`;
}
