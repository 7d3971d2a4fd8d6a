/**
 * What a tool says of its failure, without where things are on this machine and without a stack. Paths of the chat's
 * folder begin at its root, as the agent names them.
 */
export function withoutMachinePaths(words: string, folder: string | undefined): string {
  const own = folder?.split("/")[1] ?? "";
  const ours = own === "" || AGENTS.has(own) ? ROOTS : [...ROOTS, own];
  const roots = ours.map((name) => name.replaceAll(/[^\w-]/g, "\\$&")).join("|");
  // Not in the middle of an address: "https://host/usr/x" is no path of ours.
  const paths = new RegExp(String.raw`(?:file://|(?<![\w:/.~-]))/(?:${roots})(?:/[^\s'"\`:;,()<>]*)?`, "g");
  const shown = folder === undefined || folder === "" ? words : words.replaceAll(folder, "");
  return shown
    .split("\n")
    .filter((line) => !/^\s+at \S/.test(line))
    .join("\n")
    .replaceAll(paths, lastOf)
    .replaceAll(/\b[A-Za-z]:\\[^\s'"`;,()<>]+/g, lastOf);
}

/** Where programs and people's files are, on any machine. */
const ROOTS: readonly string[] =
  "home root Users usr var tmp opt etc srv mnt media private Library proc sys dev run nix snap app data bin lib".split(
    " ",
  );

/** The folders that an agent names itself. */
const AGENTS = new Set(["uploads", "workspace", "outputs", "history", "chat"]);

function lastOf(path: string): string {
  return `…/${path.split(/[/\\]/).findLast((part) => part !== "") ?? ""}`;
}
