import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { extname, join } from "node:path";
import type { BlobRef } from "../core/blocks.ts";
import { GatewayError, systemCode } from "../core/errors.ts";
import type { ChatId } from "../core/identity.ts";
import type { FileBlobs } from "./blobs.ts";

/** Files of one name that are only numbered. */
const COUNTED = 10;

/**
 * The folders of chats, named by the chat's number: `uploads` holds what people sent, `workspace` is the agent's own,
 * and from `outputs` an answer may send files.
 */
export class Workspaces {
  readonly #root: string;
  readonly #blobs: FileBlobs;

  /** `root` is absolute: the data folder's "chats". */
  constructor(root: string, blobs: FileBlobs) {
    this.#root = root;
    this.#blobs = blobs;
  }

  /** Absolute; not looked for. */
  folderOf(chat: ChatId): string {
    return join(this.#root, String(chat));
  }

  /**
   * Puts a copy of what a person sent into `uploads`; gives its path as the agent names it, "/uploads/report.pdf".
   * The same bytes under the same name have the same path, however often; others get a name beside it.
   */
  async keep(chat: ChatId, name: string, blob: BlobRef): Promise<string> {
    const uploads = join(this.folderOf(chat), "uploads");
    await mkdir(uploads, { recursive: true, mode: 0o700 });
    if (!(await isFolder(uploads)))
      throw new GatewayError(
        "data.unusable",
        `uploads of chat ${chat} is a link; Perch writes into folders only`,
      );
    const ending = extname(name);
    const stem = name.slice(0, name.length - ending.length);
    for (let n = 1; ; n += 1) {
      // What is sent again and again under one name is told apart by its own digest: no search grows with it.
      const beside = n < COUNTED ? `${n}` : `${blob.slice("sha256:".length).slice(0, 12)}-${n}`;
      const tried = n === 1 ? name : `${stem} (${beside})${ending}`;
      if (await this.#blobs.copyTo(blob, join(uploads, tried))) return `/uploads/${tried}`;
    }
  }

  /** Removes uploads that are older than `before` (epoch ms), halves of copies among them; gives how many. */
  async sweep(before: number): Promise<number> {
    let removed = 0;
    for (const chat of await namesIn(this.#root)) {
      const uploads = join(this.#root, chat, "uploads");
      // Nothing outside is swept, whatever was put in the place of a folder.
      if (!(await isFolder(join(this.#root, chat))) || !(await isFolder(uploads))) continue;
      for (const name of await namesIn(uploads)) {
        const path = join(uploads, name);
        const found = await lstat(path).catch(ignoreVanished);
        if (found === undefined || found.mtimeMs >= before) continue;
        await rm(path, { recursive: true, force: true });
        removed += 1;
      }
    }
    return removed;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(ignoreVanished))?.isDirectory() ?? false;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(ignoreVanished)) ?? [];
}

/** The agent's tools and other chats go on meanwhile. */
function ignoreVanished(error: unknown): undefined {
  if (systemCode(error) === "ENOENT") return undefined;
  throw error;
}
