import { existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

import type { ChannelId } from "../core/identity.ts";
import type { Rules } from "../core/rules.ts";
import { loadAgents } from "./agents.ts";
import type { AgentsFound } from "./agents.ts";
import { loadChannels } from "./channels.ts";
import type { ChannelConfig, Kinds } from "./channels.ts";
import { check } from "./check.ts";
import { suggestion } from "./faults.ts";
import type { Fault } from "./faults.ts";
import { mcpServer } from "./mcp.ts";
import type { ModelNote } from "./model-choice.ts";
import { readText } from "./read-text.ts";
import { loadSchedules } from "./schedules.ts";
import { agentsSchema, rootSchema } from "./schema.ts";
import type { RootSettings } from "./schema.ts";
import { machineTimeZone } from "./time-zones.ts";
import { parseDotenv } from "./variables.ts";
import { child, readYaml } from "./yaml-source.ts";
import type { YamlSource } from "./yaml-source.ts";

/** What the operator's files say, checked and complete. */
export type Config = {
  /** Absolute path of perch.yaml, where it is or would be. */
  readonly file: string;
  /** Absolute paths of the files and folders that were read or looked for. */
  readonly files: readonly string[];
  /** Absolute; the database, media and workspaces lie in it. */
  readonly dataFolder: string;
  /** Where media are kept, if not in the data folder. */
  readonly bucket?: NonNullable<RootSettings["data"]["bucket"]>;
  /** Without a url the facts are in a file in the data folder. */
  readonly store: RootSettings["store"];
  readonly http: RootSettings["http"];
  readonly telemetry: RootSettings["telemetry"];
  /** Absent for one process alone. */
  readonly cluster?: NonNullable<RootSettings["cluster"]>;
  readonly turns: RootSettings["turns"];
  readonly media: RootSettings["media"];
  readonly answers: RootSettings["answers"];
  readonly rules: Rules;
  readonly channels: ReadonlyMap<ChannelId, ChannelConfig>;
  readonly notes: readonly ModelNote[];
};

export type LoadResult =
  | { readonly ok: true; readonly config: Config }
  | {
      readonly ok: false;
      /** Of all files, in the order of the files and their lines; never empty. */
      readonly faults: readonly Fault[];
      /** As in Config, so that the mended files are noticed. */
      readonly files: readonly string[];
    };

export type LoadOptions = {
  /** Where the process was started: `.env` lies here, and faults name files from here. */
  readonly folder: string;
  /**
   * The operator's file, which must then exist. Without one it is `config/perch.yaml` in the folder, and what Perch ships
   * holds where that is missing.
   */
  readonly file?: string;
  /** Wins over `.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly kinds: Kinds;
};

/** Reads perch.yaml, `.env` and the agents' files; what is wrong in them is a value, all of it at once. */
export async function loadConfig(options: LoadOptions): Promise<LoadResult> {
  const folder = resolve(options.folder);
  const shown = (path: string): string => {
    const near = relative(folder, path);
    return near.startsWith("..") ? path : near;
  };
  const file = resolve(folder, options.file ?? "config/perch.yaml");
  const dotenvFile = join(folder, ".env");
  const files = [file, dotenvFile];
  const faults: Fault[] = [];

  const dotenv = await readDotenv(dotenvFile, shown);
  // An empty variable counts as unset.
  const lookup = (name: string): string | undefined =>
    options.env[name] || dotenv.values.get(name) || undefined;

  const shipped = options.file === undefined && !existsSync(file) ? shippedFolder() : undefined;
  const readFrom = shipped === undefined ? file : join(shipped, "perch.yaml");
  const text = await readText(readFrom, shown(file));
  if (typeof text !== "string") return { ok: false, faults: [text, ...dotenv.faults], files };
  const source = readYaml(text, { file: shown(file), lookup });
  faults.push(...source.faults);

  const root = source.readable ? checkRoot(source) : { settings: DEFAULTS, faults: [] };
  faults.push(...root.faults);

  const own = resolve(dirname(file), root.settings.agents.folder);
  const agentsFolder =
    shipped === undefined || existsSync(own) ? own : resolve(shipped, root.settings.agents.folder);
  const agents = await loadAgents({
    folder: agentsFolder,
    lookup,
    turnSeconds: root.settings.turns.timeoutSeconds,
    mcp: serversOf(source, root.settings),
    shown,
  });
  files.push(...agents.files);

  const channels = await loadChannels({
    source,
    kinds: options.kinds,
    defaultAgent: root.settings.agents.default,
    agents: agents.names,
  });
  faults.push(...channels.faults, ...defaultAgentFaults(source, agents, channels.needDefault, root.settings));
  const timeZone = root.settings.agents.timeZone ?? machineTimeZone();
  const schedules = await loadSchedules({
    source,
    written: root.settings.schedules,
    channels: channels.rules,
    channelNames: Object.keys(child(source.value, "channels") ?? {}),
    agents: agents.names,
    timeZone,
  });
  faults.push(...schedules.faults);
  const all = [...faults.toSorted(byLine), ...dotenv.faults, ...agents.faults];
  if (all.length > 0) return { ok: false, faults: all, files };

  const { data, store, http, telemetry, cluster, turns, media, answers, budgets } = root.settings;
  return {
    ok: true,
    config: {
      file,
      files,
      dataFolder: resolve(dirname(file), data.folder),
      ...(data.bucket === undefined ? {} : { bucket: data.bucket }),
      store,
      http,
      telemetry,
      ...(cluster === undefined ? {} : { cluster }),
      turns,
      media,
      answers,
      rules: {
        channels: channels.rules,
        agents: agents.agents,
        timeZone,
        budgets,
        schedules: schedules.schedules,
      },
      channels: channels.channels,
      notes: agents.notes,
    },
  };
}

const DEFAULTS: RootSettings = rootSchema.parse({ channels: {} });

/** Where there are faults, the settings are the defaults but for the agents', so that their files are checked too. */
function checkRoot(source: YamlSource): {
  readonly settings: RootSettings;
  readonly faults: readonly Fault[];
} {
  const value = source.value ?? {};
  const faults: Fault[] = source
    .unsetUnder([])
    // A channel whose variables are unset is off.
    .filter(({ path }) => path[0] !== "channels" || path.length < 3)
    .map(({ name, path }) =>
      source.fault(path, `${name} is not set`, `Set ${name} in .env, or write \${${name}:-default}`),
    );
  const checked = check(rootSchema, value, source);
  if (!checked.ok) faults.push(...checked.faults);
  const settings = checked.ok
    ? checked.value
    : { ...DEFAULTS, agents: agentsOf(value), schedules: schedulesOf(value) };
  if (
    checked.ok &&
    Object.keys(settings.channels).length === 0 &&
    faults.length === 0 &&
    !source.spoiledUnder([])
  ) {
    faults.push(source.fault(["channels"], "there is no channel", "Write one: web: { kind: web }"));
  }
  const { host, password } = settings.http;
  if (checked.ok && password === undefined && !isThisMachine(host) && !source.spoiledUnder(["http"])) {
    const remedy = "Set http.password to ${PERCH_PASSWORD}, or write 127.0.0.1";
    faults.push(
      source.fault(["http", "host"], "others can reach this address and no password is asked", remedy),
    );
  }
  return { settings, faults };
}

function schedulesOf(root: unknown): RootSettings["schedules"] {
  const read = rootSchema.shape.schedules.safeParse(child(root, "schedules") ?? {});
  return read.success ? read.data : DEFAULTS.schedules;
}

function agentsOf(root: unknown): RootSettings["agents"] {
  const read = agentsSchema.safeParse(child(root, "agents") ?? {});
  return read.success ? read.data : DEFAULTS.agents;
}

/** By name, with those whose faults are told already and which are nothing yet. */
function serversOf(
  source: YamlSource,
  { mcp }: RootSettings,
): ReadonlyMap<string, ReturnType<typeof mcpServer>> {
  const written = child(source.value, "mcp");
  const names = typeof written === "object" && written !== null ? Object.keys(written) : [];
  return new Map(
    names.map((name) => {
      const settings = mcp[name];
      return [name, settings && mcpServer(name, settings)];
    }),
  );
}

/** The default agent must exist where it is named, or needed. */
function defaultAgentFaults(
  source: YamlSource,
  agents: AgentsFound,
  neededBy: readonly ChannelId[],
  { agents: { default: name } }: RootSettings,
): readonly Fault[] {
  const named = source.has(["agents", "default"]);
  if (agents.names.length === 0 || agents.names.includes(name) || source.spoiledUnder(["agents"])) return [];
  if (named)
    return [source.fault(["agents", "default"], "there is no such agent", suggestion(name, agents.names))];
  return neededBy.map((id) =>
    source.fault(
      ["channels", id, "agent"],
      `is missing, and there is no agent "${name}" to stand in`,
      `Write one of: ${agents.names.join(", ")}`,
    ),
  );
}

async function readDotenv(
  path: string,
  shown: (path: string) => string,
): Promise<ReturnType<typeof parseDotenv>> {
  const there = await access(path).then(
    () => true,
    () => false,
  );
  if (!there) return { values: new Map(), faults: [] };
  const text = await readText(path, shown(path));
  return typeof text === "string" ? parseDotenv(text, shown(path)) : { values: new Map(), faults: [text] };
}

function isThisMachine(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** `config/` beside Perch's package.json, whether this runs from src/ or dist/src/. */
function shippedFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, "package.json")) && dirname(folder) !== folder) folder = dirname(folder);
  return join(folder, "config");
}

function byLine(a: Fault, b: Fault): number {
  return (a.line ?? 0) - (b.line ?? 0);
}
