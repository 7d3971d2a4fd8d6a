import { constants } from "node:fs";
import { mkdir, open, readdir, realpath, stat, type FileHandle } from "node:fs/promises";
import { join, sep } from "node:path";
import { FilesystemBackend, type FileInfo, type GrepMatch } from "deepagents";
import { bytesWords } from "../../core/words.ts";
import { keptRefusal } from "../notes/kept-blocks.ts";
import { replaced } from "./edited.ts";
import { readGlob } from "./glob.ts";
import { rowsOf } from "./rows.ts";

/** The folders of a chat that an agent's tools see; nothing else is there. */
export const FOLDERS = ["uploads", "workspace", "outputs"] as const;

/** Where skills are seen, which are no part of a chat's folder: "/skills/<name>". */
const SKILLS = "skills";

const PATTERN_CHARACTERS = 200;
/** So many are looked at for one pattern. */
const MOST_FILES = 10_000;

/** So large a file can become by being edited: texts that replace one letter by many grow fast. */
const EDITED_BYTES = 10_000_000;

/** What a call of read_file gives at most, in UTF-16 units. */
const READ_CHARACTERS = 16_000;

/** Some are written in letters alone, and are none the less no text to be read. */
const PDF = /^\ufeff?\s*%PDF-\d/;

/** Lines of a text, or why there are none. */
export type Lines =
  | { readonly rows: readonly string[]; readonly total: number; readonly end: number }
  | { readonly error: string }
  /** It is there, and no text in UTF-8. */
  | { readonly noText: string };

/** A folder on the disk, and what the tools call it. */
type Top = {
  /** Absolute, without links. */
  readonly root: string;
  readonly real: string;
  /** "/skills/pdf", or "" for the chat's own. */
  readonly shown: string;
};

/**
 * A chat's folder as deepagents' tools see it: paths begin at its root, and what links lead to outside is not there.
 * Files are read row by row, so that one of 50 MB costs no more memory than a small one, and what is no text is named
 * instead of being read as if it were. The folders of skills are seen beside the chat's own, and are not written to.
 */
export class ChatFiles extends FilesystemBackend {
  readonly #root: string;
  readonly #skills: ReadonlyMap<string, string>;

  /** `skills` are absolute paths of folders by the names of the skills in them. */
  constructor(root: string, skills: ReadonlyMap<string, string> = new Map()) {
    super({ rootDir: root, virtualMode: true });
    this.#root = root;
    this.#skills = skills;
  }

  override async ls(path: string): ReturnType<FilesystemBackend["ls"]> {
    const [first, name] = partsOf(path);
    if (first === SKILLS) return { files: await this.#skillFiles(path, name) };
    await this.#makeFolders();
    const listed = await super.ls(path);
    if (first !== undefined || this.#skills.size === 0) return listed;
    return { ...listed, files: [...(listed.files ?? []), folderInfo(`/${SKILLS}/`)] };
  }

  override async write(path: string, content: string): ReturnType<FilesystemBackend["write"]> {
    await this.#makeFolders();
    const there = await stat(join(this.#root, path)).catch(() => undefined);
    // A pipe would be waited for without end.
    if (there?.isFile() === false) return { error: `${path} is there already and is no file` };
    const refusal = keptRefusal(path, await this.#text(path), content);
    return refusal === undefined ? await super.write(path, content) : { error: refusal };
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
    const before = await this.#text(path);
    const refusal = keptRefusal(path, before, replaced(before, old, fresh, all));
    return refusal === undefined ? await super.edit(path, old, fresh, all) : { error: refusal };
  }

  override async read(path: string, offset = 0, limit = 500): ReturnType<FilesystemBackend["read"]> {
    const lines = await this.lines(path, offset, limit);
    if ("rows" in lines) return { content: lines.rows.join("\n"), mimeType: "text/plain" };
    return { error: "noText" in lines ? lines.noText : lines.error };
  }

  /** At most `limit` lines of a text from `offset` on, as many as there is room for; `end` is where they end. */
  async lines(path: string, offset: number, limit: number): Promise<Lines> {
    const handle = await this.#open(path);
    if (handle === undefined) return { error: `there is no file ${path}` };
    try {
      const { size } = await handle.stat();
      const rows: string[] = [];
      let room = READ_CHARACTERS;
      let total = 0;
      for await (const row of rowsOf(handle)) {
        if (row === undefined || (total === 0 && PDF.test(row)))
          return { noText: await this.#noText(path, size) };
        // Once one row had no room, none after it is given: what is given has no gaps.
        if (total >= offset && total < offset + limit) room -= row.length + 1;
        if (total >= offset && rows.length === total - offset && rows.length < limit && room >= 0)
          rows.push(row);
        total += 1;
      }
      if (total === 0) return { error: `${path} is empty` };
      if (rows.length === 0)
        return { error: `${path} has ${total} lines; there is none at offset ${offset}` };
      return { rows, total, end: offset + rows.length };
    } finally {
      await handle.close();
    }
  }

  /** Whether there is a regular file of this very path, and no link on the way to it. */
  async has(path: string): Promise<boolean> {
    const inside = await this.#inside(path);
    if (inside === undefined || shownAs(inside, inside.real) !== path) return false;
    const handle = await this.#open(path);
    await handle?.close();
    return handle !== undefined;
  }

  /** A walk of our own: what stands in deepagents makes regular expressions of patterns, which a few signs make endless. */
  override async glob(pattern: string, path = "/"): ReturnType<FilesystemBackend["glob"]> {
    const isMatch = pattern.length > PATTERN_CHARACTERS ? undefined : readGlob(pattern);
    if (!isMatch) return { error: `a pattern has at most ${PATTERN_CHARACTERS} characters and few {,}` };
    const files: FileInfo[] = [];
    let seen = 0;
    for (const { top, above } of await this.#tops(path)) {
      for await (const { relative, real } of filesIn(top.real, above)) {
        seen += 1;
        if (seen > MOST_FILES) return { error: `over ${MOST_FILES} files; name a folder to look in` };
        if (!isMatch(relative)) continue;
        const found = await stat(real).catch(() => undefined); // other turns go on meanwhile
        if (!found?.isFile()) continue;
        const at = shownAs(top, real);
        files.push({ path: at, is_dir: false, size: found.size, modified_at: found.mtime.toISOString() });
      }
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
    const inside = await this.#inside(path);
    const there = inside && (await stat(inside.real).catch(() => undefined));
    if (there?.isFile() === true) return [{ path }];
    const { files = [], error } = await this.glob(glob === null ? "**/*" : `**/${glob}`, path);
    return error ?? files;
  }

  /** Folders that nobody else on the machine looks into. */
  async #makeFolders(): Promise<void> {
    for (const folder of FOLDERS) await mkdir(join(this.#root, folder), { recursive: true, mode: 0o700 });
  }

  /** Where a search below a path begins: in one folder, or in those of all skills. */
  async #tops(path: string): Promise<readonly { readonly top: Top; readonly above: string }[]> {
    const [first, name] = partsOf(path);
    if (first !== SKILLS || name !== undefined) {
      const top = await this.#inside(path);
      return top === undefined ? [] : [{ top, above: "" }];
    }
    const all = [...this.#skills.keys()].map(async (skill) => {
      const top = await this.#inside(`/${SKILLS}/${skill}`);
      return top === undefined ? [] : [{ top, above: `${skill}/` }];
    });
    return (await Promise.all(all)).flat();
  }

  async #skillFiles(path: string, name: string | undefined): Promise<FileInfo[]> {
    if (name === undefined) return [...this.#skills.keys()].map((each) => folderInfo(`/${SKILLS}/${each}/`));
    const top = await this.#inside(path);
    const entries = top === undefined ? [] : await readdir(top.real, { withFileTypes: true }).catch(() => []);
    const files = entries.map(async (entry): Promise<FileInfo[]> => {
      const at = shownAs(top as Top, join((top as Top).real, entry.name)); // entries are a top's
      if (entry.isDirectory()) return [folderInfo(`${at}/`)];
      const inside = await this.#inside(at);
      const found = inside && (await stat(inside.real).catch(() => undefined));
      return found?.isFile() === true ? [{ path: at, is_dir: false, size: found.size }] : [];
    });
    return (await Promise.all(files)).flat().toSorted((one, other) => (one.path < other.path ? -1 : 1));
  }

  /** Where a path inside the root, or inside a skill, leads, links followed; undefined where that is nowhere or outside. */
  async #inside(path: string): Promise<Top | undefined> {
    const parts = partsOf(path);
    if (parts.includes("..")) return undefined;
    const [first, name = ""] = parts;
    const skill = first === SKILLS;
    const from = skill ? this.#skills.get(name) : this.#root;
    if (from === undefined) return undefined;
    try {
      const root = await realpath(from);
      const real = await realpath(join(root, ...(skill ? parts.slice(2) : parts)));
      if (real !== root && !real.startsWith(`${root}${sep}`)) return undefined;
      return { root, real, shown: skill ? `/${SKILLS}/${name}` : "" };
    } catch {
      return undefined;
    }
  }

  /** What stands in a text that may be changed; "" where there is none, or one that is too large to be. */
  async #text(path: string): Promise<string> {
    const handle = await this.#open(path);
    if (handle === undefined) return "";
    try {
      const { size } = await handle.stat();
      return size > EDITED_BYTES ? "" : await handle.readFile("utf8");
    } finally {
      await handle.close();
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

function partsOf(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function shownAs({ root, shown }: Top, real: string): string {
  return `${shown}${real.slice(root.length).replaceAll(sep, "/")}`;
}

function folderInfo(path: string): FileInfo {
  return { path, is_dir: true, size: 0 };
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
