import { constants } from "node:fs";
import { mkdir, open, realpath, stat, type FileHandle } from "node:fs/promises";
import { join, sep } from "node:path";
import { FilesystemBackend, type FileInfo, type GrepMatch } from "deepagents";
import { bytesWords } from "../../core/words.ts";
import { rowsOf } from "./rows.ts";

/** The folders of a chat that an agent's tools see; nothing else is there. */
export const FOLDERS = ["uploads", "workspace", "outputs"] as const;

/** What a call of read_file gives at most, in UTF-16 units. */
const READ_CHARACTERS = 16_000;

/**
 * A chat's folder as deepagents' tools see it: paths begin at its root, and what links lead to outside is not there.
 * Files are read row by row, so that one of 50 MB costs no more memory than a small one, and what is no text is named
 * instead of being read as if it were.
 */
export class ChatFiles extends FilesystemBackend {
  readonly #root: string;

  constructor(root: string) {
    super({ rootDir: root, virtualMode: true });
    this.#root = root;
  }

  override async ls(path: string): ReturnType<FilesystemBackend["ls"]> {
    await this.#makeFolders();
    return await super.ls(path);
  }

  override async write(path: string, content: string): ReturnType<FilesystemBackend["write"]> {
    await this.#makeFolders();
    const there = await stat(join(this.#root, path)).catch(() => undefined);
    // A pipe would be waited for without end.
    if (there?.isFile() === false) return { error: `${path} is there already and is no file` };
    return await super.write(path, content);
  }

  override async read(path: string, offset = 0, limit = 500): ReturnType<FilesystemBackend["read"]> {
    const handle = await this.#open(path);
    if (handle === undefined) return { error: `there is no file ${path}` };
    try {
      const { size } = await handle.stat();
      const rows: string[] = [];
      let room = READ_CHARACTERS;
      let total = 0;
      for await (const row of rowsOf(handle)) {
        if (row === undefined) return { error: await this.#noText(path, size) };
        // Once one row had no room, none after it is given: what is given has no gaps.
        if (total >= offset && total < offset + limit) room -= row.length + 1;
        if (total >= offset && rows.length === total - offset && rows.length < limit && room >= 0)
          rows.push(row);
        total += 1;
      }
      if (total === 0) return { error: `${path} is empty` };
      if (rows.length === 0)
        return { error: `${path} has ${total} lines; there is none at offset ${offset}` };
      const endLine = offset + rows.length;
      return {
        content: rows.join("\n"),
        mimeType: "text/plain",
        totalLines: total,
        startLine: offset + 1,
        endLine,
        ...(endLine < total ? { nextOffset: endLine } : {}),
      };
    } finally {
      await handle.close();
    }
  }

  override async glob(pattern: string, path = "/"): ReturnType<FilesystemBackend["glob"]> {
    // Its pattern alone would lead out of the folder; and braces in braces make a long one endless.
    if (pattern.length > 200 || pattern.split(/[/\\{},]/).includes("..")) {
      return { error: "a pattern has at most 200 characters and no .." };
    }
    return await super.glob(pattern, path);
  }

  override async grep(
    pattern: string,
    path = "/",
    glob: string | null = null,
    maxCount: number | null = null,
  ): ReturnType<FilesystemBackend["grep"]> {
    const found = await this.#filesUnder(path, glob);
    if (typeof found === "string") return { error: found };
    const matches: GrepMatch[] = [];
    for (const { path: file } of found) {
      const handle = await this.#open(file);
      if (handle === undefined) continue;
      try {
        let line = 0;
        for await (const row of rowsOf(handle)) {
          if (row === undefined) break;
          line += 1;
          if (!row.includes(pattern)) continue;
          if (matches.length === maxCount) return { matches, truncated: true };
          matches.push({ path: file, line, text: row });
        }
      } finally {
        await handle.close();
      }
    }
    return { matches };
  }

  async #filesUnder(path: string, glob: string | null): Promise<readonly FileInfo[] | string> {
    const there = await stat(join(this.#root, path)).catch(() => undefined);
    if (there?.isFile() === true) return [{ path }];
    const { files = [], error } = await this.glob(glob === null ? "**/*" : `**/${glob}`, path);
    return error ?? files;
  }

  /** Folders that nobody else on the machine looks into. */
  async #makeFolders(): Promise<void> {
    for (const folder of FOLDERS) await mkdir(join(this.#root, folder), { recursive: true, mode: 0o700 });
  }

  /** A regular file inside the root, links followed; never waits, as a pipe without a writer would. */
  async #open(path: string): Promise<FileHandle | undefined> {
    if (path.split("/").includes("..")) return undefined;
    try {
      const root = await realpath(this.#root);
      const real = await realpath(join(root, path));
      if (!real.startsWith(`${root}${sep}`)) return undefined;
      const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
      const handle = await open(real, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0));
      if ((await handle.stat()).isFile()) return handle;
      await handle.close();
      return undefined;
    } catch {
      return undefined; // not there, or not ours to read: there is no file for the agent
    }
  }

  async #noText(path: string, size: number): Promise<string> {
    const beside = await stat(join(this.#root, `${path}.txt`)).catch(() => undefined);
    const instead =
      beside?.isFile() === true
        ? `its text is in ${path}.txt`
        : "what is known of it was shown to you with the message that brought it";
    return `${path} is no text (${bytesWords(size)}); ${instead}`;
  }
}
