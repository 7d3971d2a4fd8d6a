import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { ChannelKind } from "../core/channel.ts";

// From dist/src/cli and from src/cli alike: the channels stand two folders up.
const FOLDER = join(import.meta.dirname, "../../channels");

/** The channel kinds that there are: a folder under channels/ with an index each, loaded when it is first named. */
export const kinds = {
  names: readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .filter((name) => ["index.ts", "index.js"].some((index) => existsSync(join(FOLDER, name, index))))
    .toSorted(),
  async load(kind: string): Promise<ChannelKind<unknown> | undefined> {
    if (!kinds.names.includes(kind)) return undefined;
    const module: unknown = await import(`../../channels/${kind}/index.ts`);
    if (!isKindModule(module))
      throw new Error(`channels/${kind}/index.ts has no channel kind as its default export`);
    return module.default;
  },
};

function isKindModule(module: unknown): module is { readonly default: ChannelKind<unknown> } {
  if (typeof module !== "object" || module === null || !("default" in module)) return false;
  const kind = module.default;
  return typeof kind === "object" && kind !== null && "open" in kind && "settings" in kind;
}
