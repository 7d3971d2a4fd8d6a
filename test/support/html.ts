const TAG = /<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)>/g;
const EMPTY = new Set(["br", "hr", "input"]);
const NAMES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** Why a piece of HTML does not stand by itself: elements that are not closed, signs that are no tag, in words. */
export function htmlFaults(html: string): readonly string[] {
  const open: string[] = [];
  const faults: string[] = [];
  for (const [tag, slash, name = ""] of html.matchAll(TAG)) {
    if (EMPTY.has(name)) continue;
    if (slash === "") open.push(name);
    else if (open.pop() !== name) faults.push(`${tag} closes something else`);
  }
  if (open.length > 0) faults.push(`not closed: ${open.join(" ")}`);
  if (/[<>]/.test(html.replaceAll(TAG, ""))) faults.push("a < or > that is no tag");
  return faults;
}

export function htmlText(html: string): string {
  return unescape(html.replaceAll(TAG, ""));
}

/** The lines of its blocks of code. */
export function htmlCode(html: string): readonly string[] {
  return Array.from(html.matchAll(/<pre><code[^>]*>([^]*?)<\/code><\/pre>/g), ([, code = ""]) =>
    unescape(code).split("\n"),
  ).flat();
}

function unescape(text: string): string {
  return text.replaceAll(/&(#?\w+);/g, (whole, name: string) => NAMES[name] ?? whole);
}
