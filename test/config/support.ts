import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";

import type { KindSettings } from "../../src/config/check.ts";
import type { Kinds } from "../../src/config/channels.ts";
import { faultSentence } from "../../src/config/faults.ts";
import type { Fault } from "../../src/config/faults.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Config, LoadOptions, LoadResult } from "../../src/config/load.ts";

export const TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1";

export const telegram: KindSettings = {
  kind: "telegram",
  people: { pattern: /^-?\d{1,19}$/, example: "123456789" },
  settings: z.strictObject({
    token: z.string().regex(/^\d+:[\w-]{30,}$/, {
      // A sentence as it should not be: with the value.
      error: (issue) => `${String(issue.input)} is no bot token; Copy it whole from @BotFather`,
    }),
    apiRoot: z.url().default("https://api.telegram.org"),
    pollSeconds: z.int().min(1).max(50).default(30),
    drafts: z.boolean().default(true),
  }),
};

export const web: KindSettings = {
  kind: "web",
  owner: "owner",
  settings: z.strictObject({ title: z.string().optional() }),
};

/** With the settings of "web". */
const twin: KindSettings = { ...web, kind: "twin" };

const kinds: Kinds = {
  names: ["telegram", "twin", "web"],
  load: (kind) => Promise.resolve([telegram, twin, web].find((it) => it.kind === kind)),
};

export type Files = Readonly<Record<string, string>>;

export const HELPER = "---\nmodel: demo\n---\nYou help.\n";

export type Place = {
  readonly folder: string;
  write(files: Files): Promise<void>;
  load(options?: Partial<LoadOptions>): Promise<LoadResult>;
};

/** A folder of its own with an agent "helper", and the given files by their paths. */
export async function place(files: Files): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "perch-config-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  async function write(more: Files): Promise<void> {
    for (const [path, text] of Object.entries(more)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  }
  await write(files);
  return {
    folder,
    write,
    load: (options = {}) => loadConfig({ folder, env: {}, kinds, ...options }),
  };
}

/** Loads `config/perch.yaml` of this text beside the agent "helper". */
export async function loadYaml(
  yaml: string,
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly files?: Files;
    readonly kinds?: Kinds;
  } = {},
): Promise<LoadResult> {
  const there = await place({
    "config/agents/helper.md": HELPER,
    "config/perch.yaml": yaml,
    ...options.files,
  });
  return there.load({ env: options.env ?? {}, kinds: options.kinds ?? kinds });
}

export function configOf(result: LoadResult): Config {
  if (!result.ok) throw new Error(result.faults.map(faultSentence).join("\n"));
  return result.config;
}

export function faultsOf(result: LoadResult): readonly Fault[] {
  return result.ok ? [] : result.faults;
}
