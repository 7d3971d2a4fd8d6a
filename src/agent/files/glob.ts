/** Each brace multiplies the patterns; what people and models write has one or two. */
const MOST_ALTERNATIVES = 100;

/**
 * Reads a pattern of `*`, `?`, `**` for any number of folders, and `{a,b}`: gives what tells whether a path, such as
 * "uploads/a.csv", fits it. Undefined where it has too many alternatives. In time that grows with pattern and path
 * alone: models write patterns and people write names, and with regular expressions a few stars can hold up everybody.
 */
export function readGlob(pattern: string): ((path: string) => boolean) | undefined {
  const patterns = alternatives(pattern)?.map((each) => each.split("/").filter((part) => part !== ""));
  return patterns && ((path) => patterns.some((parts) => fits(parts, path.split("/"), isAnyDepth, nameFits)));
}

/** The patterns without braces that one with braces stands for; braces in braces stand for themselves. */
function alternatives(pattern: string): readonly string[] | undefined {
  let made = [""];
  for (const part of pattern.split(/(\{[^{}]*,[^{}]*\})/)) {
    const choices = /^\{.*,.*\}$/.test(part) ? part.slice(1, -1).split(",") : [part];
    if (made.length * choices.length > MOST_ALTERNATIVES) return undefined;
    made = made.flatMap((before) => choices.map((choice) => before + choice));
  }
  return made;
}

function isAnyDepth(part: string): boolean {
  return part === "**";
}

function nameFits(part: string, name: string): boolean {
  return fits(
    Array.from(part),
    Array.from(name),
    (sign) => sign === "*",
    (sign, letter) => sign === "?" || sign === letter,
  );
}

/** Whether all items fit a pattern some of whose parts stand for any number of them. */
function fits(
  pattern: readonly string[],
  items: readonly string[],
  isMany: (part: string) => boolean,
  isOne: (part: string, item: string) => boolean,
): boolean {
  let at = 0;
  // The last such part, and where what follows it is tried: no earlier one has to be looked at again.
  let many = -1;
  let from = 0;
  for (let item = 0; item < items.length;) {
    const part = pattern[at];
    if (part !== undefined && isMany(part)) {
      many = at;
      from = item;
      at += 1;
    } else if (part !== undefined && isOne(part, items[item] as string)) {
      at += 1;
      item += 1;
    } else if (many >= 0) {
      at = many + 1;
      from += 1;
      item = from;
    } else return false;
  }
  return pattern.slice(at).every(isMany);
}
