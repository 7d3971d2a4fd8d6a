import { existsSync, mkdirSync, renameSync } from "node:fs";
import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { basename, extname, join } from "node:path";
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

  /** Removes what `keep` has put there. */
  async remove(chat: ChatId, path: string): Promise<void> {
    await rm(join(this.folderOf(chat), "uploads", basename(path)), { force: true });
  }

  /**
   * Takes the whole folder of a chat away from where agents and downloads put things, at once: what comes from now on is of
   * after that. Does nothing where that was done before for the wish of `at` (epoch ms).
   */
  setAside(chat: ChatId, at: number): void {
    const aside = join(this.#aside(chat), String(at));
    if (existsSync(aside)) return;
    mkdirSync(this.#aside(chat), { recursive: true, mode: 0o700 });
    if (existsSync(this.folderOf(chat))) renameSync(this.folderOf(chat), aside);
    else mkdirSync(aside, { mode: 0o700 });
  }

  /** How many files were set aside. */
  async countAside(chat: ChatId): Promise<number> {
    const found = await readdir(this.#aside(chat), { recursive: true, withFileTypes: true }).catch(
      ignoreVanished,
    );
    return (found ?? []).filter((entry) => !entry.isDirectory()).length;
  }

  /** Removes what was set aside. */
  async drop(chat: ChatId): Promise<void> {
    await rm(this.#aside(chat), { recursive: true, force: true });
  }

  #aside(chat: ChatId): string {
    return join(this.#root, `.forgotten-${chat}`);
  }

  /**
   * Removes uploads, and results of tools that were too long to be shown, that are older than `before` (epoch ms), halves
   * of copies among them; gives how many.
   */
  async sweep(before: number): Promise<number> {
    let removed = 0;
    for (const chat of await namesIn(this.#root)) {
      const folder = join(this.#root, chat);
      // Nothing outside is swept, whatever was put in the place of a folder.
      if (!(await isFolder(folder))) continue;
      removed += await sweepFolder(join(folder, "uploads"), before);
      if (await isFolder(join(folder, "workspace")))
        removed += await sweepFolder(join(folder, "workspace", "results"), before);
    }
    return removed;
  }
}

async function sweepFolder(folder: string, before: number): Promise<number> {
  if (!(await isFolder(folder))) return 0;
  let removed = 0;
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    const found = await lstat(path).catch(ignoreVanished);
    if (found === undefined || found.mtimeMs >= before) continue;
    await rm(path, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
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
