import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder that the demo agent may send files from. A file of its own, so that asking for it loads no LangChain. */
export function demoAssets(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  // The package root is two levels up from the source and three from what is built.
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return join(folder, "assets", "demo");
}
