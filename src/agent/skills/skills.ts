import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import type { AgentDefinition } from "../../core/agent.ts";
import type { Log } from "../../core/log.ts";
import { bytesWords } from "../../core/words.ts";
import { type Kept, readWhenChanged } from "../notes/kept-text.ts";
import { frontMatterOf } from "./front-matter.ts";

export type Skill = {
  readonly name: string;
  readonly description: string;
  /** Absolute path of its folder, without links. */
  readonly folder: string;
};

const SKILL_BYTES = 10 * 1_024 * 1_024;
/** In which its front matter has to end. */
const HEAD_BYTES = 65_536;
/** A folder of that many others is no folder of skills. */
const MOST_SKILLS = 200;

/** The skills of one agent, as they stand in their folders now. */
export class Skills {
  readonly #folders: readonly string[];
  readonly #log: Log;
  readonly #texts = new Map<string, Kept<ReturnType<typeof frontMatterOf>>>();
  #broken: readonly Broken[] = [];
  /** What was logged last. */
  #logged = "";

  constructor({ skills = [] }: Pick<AgentDefinition, "skills">, log: Log) {
    this.#folders = skills;
    this.#log = log;
  }

  get any(): boolean {
    return this.#folders.length > 0;
  }

  /** What could not be read when they were looked for last, by name: "skill pdf". */
  get unavailable(): readonly string[] {
    return this.#broken.map(({ name }) => name);
  }

  /** Sorted by name; of two of one name, the one in the later folder. Never rejects. */
  async found(): Promise<readonly Skill[]> {
    const skills = new Map<string, Skill>();
    const left: Broken[] = [];
    const seen = new Set<string>();
    for (const folder of this.#folders) {
      for (const each of await this.#under(folder, seen)) {
        if ("wrong" in each) left.push(each);
        else skills.set(each.name, each);
      }
    }
    for (const path of this.#texts.keys()) if (!seen.has(path)) this.#texts.delete(path);
    this.#tell(left);
    return [...skills.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  async #under(folder: string, seen: Set<string>): Promise<readonly (Skill | Broken)[]> {
    const top = await realpath(folder).catch(() => undefined);
    const entries = top === undefined ? undefined : await readdir(top).catch(() => undefined);
    if (top === undefined || entries === undefined)
      return [broken(`folder of skills ${basename(folder)}`, "cannot be read")];
    const found: (Skill | Broken)[] = [];
    for (const entry of entries.toSorted().slice(0, MOST_SKILLS)) {
      if (entry.startsWith(".")) continue;
      const at = join(top, entry);
      if (!(await stat(at).catch(() => undefined))?.isDirectory()) continue;
      const skill = await this.#skill(top, entry, seen);
      if (skill !== undefined) found.push(skill);
    }
    if (entries.length > MOST_SKILLS)
      found.push(
        broken(
          `folder of skills ${basename(folder)}`,
          `has over ${MOST_SKILLS} entries; the others are left out`,
        ),
      );
    return found;
  }

  /** Undefined where the folder is none of a skill. */
  async #skill(top: string, entry: string, seen: Set<string>): Promise<Skill | Broken | undefined> {
    const called = `skill ${entry}`;
    const text = join(top, entry, "SKILL.md");
    const real = await realpath(text).catch(() => undefined);
    if (real === undefined) return undefined;
    const folder = await realpath(join(top, entry)).catch(() => undefined);
    if (folder === undefined || !folder.startsWith(`${top}${sep}`) || !real.startsWith(`${folder}${sep}`))
      return broken(called, "is led out of its folder by a link");
    seen.add(real);
    const kept = await readWhenChanged(real, this.#texts.get(real), HEAD_BYTES, (head, bytes) =>
      bytes > SKILL_BYTES ? { wrong: `is over ${bytesWords(SKILL_BYTES)}` } : frontMatterOf(head),
    );
    if (kept === undefined) return broken(called, "cannot be read");
    this.#texts.set(real, kept);
    const { made } = kept;
    return "wrong" in made ? broken(called, made.wrong) : { ...made, folder };
  }

  /** Once for each change, not once a turn. */
  #tell(left: readonly Broken[]): void {
    this.#broken = left;
    const now = left.map(({ wrong }) => wrong);
    if (now.join("\n") === this.#logged) return;
    this.#logged = now.join("\n");
    if (now.length > 0) this.#log.warn({ skills: now }, "skills were left out");
  }
}

/** What is no skill though it should be one; `wrong` is a sentence. */
type Broken = { readonly name: string; readonly wrong: string };

function broken(name: string, why: string): Broken {
  return { name, wrong: `the ${name} ${why}` };
}

const known = new WeakMap<AgentDefinition, Skills>();

/** One for all that has to do with an agent. */
export function skillsOf(definition: AgentDefinition, log: Log): Skills {
  const before = known.get(definition);
  if (before) return before;
  const skills = new Skills(definition, log);
  known.set(definition, skills);
  return skills;
}

/** What the model is told of skills: what they are for, and where the rest is to be read. The same as long as they are. */
export function skillWords(skills: readonly Skill[]): string {
  if (skills.length === 0) return "";
  const list = skills.map(({ name, description }) => `- ${name}: ${description} (/skills/${name}/SKILL.md)`);
  return [HEAD, ...list].join("\n");
}

const HEAD =
  "You have skills: instructions for certain kinds of work. Where one fits what you are asked, first read its SKILL.md with " +
  "read_file, then do as it says; paths in it begin at its own folder.";
