import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { dirname, extname, join } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

type PageFile = { readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string; readonly etag: string };

/** The page as it lies in the package, by web path. Read once: it changes with the program. */
export type Page = { answer(request: Request, path: string): Response | undefined };

export async function readPage(): Promise<Page> {
  const folder = join(packageRoot(import.meta.dirname), "channels/web/page");
  const files = new Map<string, PageFile>();
  for (const name of await readdir(folder)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const bytes = new Uint8Array(await readFile(join(folder, name)));
    const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
    files.set(name === "index.html" ? "/" : `/${name}`, { bytes, type, etag });
  }
  return {
    answer(request, path) {
      const file = files.get(path);
      if (!file) return undefined;
      const headers = { "content-type": file.type, etag: file.etag, "cache-control": "no-cache" };
      if (request.headers.get("if-none-match") === file.etag)
        return new Response(null, { status: 304, headers });
      return new Response(request.method === "HEAD" ? null : file.bytes, { headers });
    },
  };
}

/** Run from channels/web or from dist/channels/web, the page is the one in the package's own folder. */
function packageRoot(from: string): string {
  let at = from;
  while (!existsSync(join(at, "package.json")) && dirname(at) !== at) at = dirname(at);
  return at;
}
