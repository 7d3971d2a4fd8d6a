import { readXml, valueOf } from "./xml.ts";
import type { Zip } from "./zip.ts";

export type ListLevel = { readonly ordered: boolean; readonly start: number };

/** Which styles are headings, and of what level. Their ids are translated and invented; names and outlines are not. */
export async function stylesOf(zip: Zip, part: string): Promise<ReadonlyMap<string, number>> {
  const levels = new Map<string, number>();
  const parents = new Map<string, string>();
  let id = "";
  await readXml(zip.part(part), {
    open: (name, attributes) => {
      const value = valueOf(attributes, "val") ?? "";
      if (name === "style") id = valueOf(attributes, "styleId") ?? "";
      else if (name === "name") {
        const heading = /^heading (\d)$/i.exec(value);
        if (heading) levels.set(id, Number(heading[1]));
        else if (/^title$/i.test(value)) levels.set(id, 1);
      } else if (name === "outlineLvl" && Number(value) < 9 && !levels.has(id))
        levels.set(id, Number(value) + 1);
      else if (name === "basedOn") parents.set(id, value);
    },
  });
  for (const style of parents.keys()) {
    // A chain of styles may be a ring.
    let ancestor: string | undefined = style;
    for (let step = 0; step < 10 && ancestor !== undefined && !levels.has(ancestor); step += 1)
      ancestor = parents.get(ancestor);
    const level = ancestor === undefined ? undefined : levels.get(ancestor);
    if (level !== undefined) levels.set(style, level);
  }
  return levels;
}

/** What the levels of a document's lists are. */
export async function listsOf(
  zip: Zip,
  part: string,
): Promise<(list: string, level: number) => ListLevel | undefined> {
  const patterns = new Map<string, Map<number, { ordered: boolean; start: number }>>();
  const patternOf = new Map<string, string>();
  let pattern = "";
  let list = "";
  let level = 0;
  await readXml(zip.part(part), {
    open: (name, attributes) => {
      const value = valueOf(attributes, "val") ?? "";
      const levels = patterns.get(pattern);
      if (name === "abstractNum") {
        pattern = valueOf(attributes, "abstractNumId") ?? "";
        patterns.set(pattern, new Map());
      } else if (name === "lvl") {
        level = Number(valueOf(attributes, "ilvl") ?? 0);
        levels?.set(level, { ordered: true, start: 1 });
      } else if (name === "start") {
        const start = levels?.get(level);
        if (start) start.start = Number(value) || 1;
      } else if (name === "numFmt") {
        const format = levels?.get(level);
        if (format) format.ordered = value !== "bullet" && value !== "none";
      } else if (name === "num") {
        list = valueOf(attributes, "numId") ?? "";
        pattern = ""; // overrides that follow are not the last pattern's
      } else if (name === "abstractNumId") patternOf.set(list, value);
    },
  });
  return (numbered, at) => patterns.get(patternOf.get(numbered) ?? "")?.get(at);
}
