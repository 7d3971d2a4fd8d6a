import { constants } from "node:fs";
import { mkdir, open, readdir, realpath, stat, type FileHandle } from "node:fs/promises";
import { join, sep } from "node:path";
import { FilesystemBackend, type FileInfo, type GrepMatch } from "deepagents";
import { bytesWords } from "../../core/words.ts";
import { readGlob } from "./glob.ts";
import { rowsOf } from "./rows.ts";

/** The folders of a chat that an agent's tools see; nothing else is there. */
export const FOLDERS = ["uploads", "workspace", "outputs"] as const;

const PATTERN_CHARACTERS = 200;
/** So many are looked at for one pattern. */
const MOST_FILES = 10_000;

/** So large a file can become by being edited: texts that replace one letter by many grow fast. */
const EDITED_BYTES = 10_000_000;

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

  override async edit(
    path: string,
    old: string,
    fresh: string,
    all = false,
  ): ReturnType<FilesystemBackend["edit"]> {
    const { size = 0 } = (await stat(join(this.#root, path)).catch(() => undefined)) ?? {};
    const grown = all ? (size / Math.max(1, old.length)) * fresh.length : fresh.length;
    if (size + grown > EDITED_BYTES)
      return {
        error: `${path} could become larger than ${bytesWords(EDITED_BYTES)}, too large to be edited`,
      };
    return await super.edit(path, old, fresh, all);
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

  /** A walk of our own: what stands in deepagents makes regular expressions of patterns, which a few signs make endless. */
  override async glob(pattern: string, path = "/"): ReturnType<FilesystemBackend["glob"]> {
    const isMatch = pattern.length > PATTERN_CHARACTERS ? undefined : readGlob(pattern);
    if (!isMatch) return { error: `a pattern has at most ${PATTERN_CHARACTERS} characters and few {,}` };
    const top = await this.#inside(path);
    const files: FileInfo[] = [];
    let seen = 0;
    for await (const { relative, real } of top === undefined ? [] : filesIn(top.real)) {
      seen += 1;
      if (seen > MOST_FILES) return { error: `over ${MOST_FILES} files; name a folder to look in` };
      if (!isMatch(relative)) continue;
      const found = await stat(real).catch(() => undefined); // other turns go on meanwhile
      if (!found?.isFile()) continue;
      const at = real.slice(top?.root.length ?? 0).replaceAll(sep, "/");
      files.push({ path: at, is_dir: false, size: found.size, modified_at: found.mtime.toISOString() });
    }
    return { files: files.toSorted((one, other) => (one.path < other.path ? -1 : 1)) };
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

  /** Where a path inside the root leads, links followed; undefined where that is nowhere or outside. */
  async #inside(path: string): Promise<{ readonly root: string; readonly real: string } | undefined> {
    if (path.split("/").includes("..")) return undefined;
    try {
      const root = await realpath(this.#root);
      const real = await realpath(join(root, path));
      return real === root || real.startsWith(`${root}${sep}`) ? { root, real } : undefined;
    } catch {
      return undefined;
    }
  }

  /** A regular file inside the root, links followed; never waits, as a pipe without a writer would. */
  async #open(path: string): Promise<FileHandle | undefined> {
    const inside = await this.#inside(path);
    if (!inside) return undefined;
    try {
      const { real } = inside;
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

/** The regular files under a folder, without what links lead to. */
async function* filesIn(
  folder: string,
  above = "",
): AsyncGenerator<{ readonly relative: string; readonly real: string }> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const [relative, real] = [`${above}${entry.name}`, join(folder, entry.name)];
    if (entry.isDirectory()) yield* filesIn(real, `${relative}/`);
    else if (entry.isFile()) yield { relative, real };
  }
}
