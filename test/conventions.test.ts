import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { ErrorCode } from "../src/core/errors.ts";

const ROOT = join(import.meta.dirname, "..");

/** Which rooms a room may import; itself always. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ["cli", "core"],
  cli: [
    "agent",
    "config",
    "connections",
    "core",
    "dispatch",
    "gateway",
    "http",
    "intake",
    "media",
    "operations",
    "store",
  ],
  connections: ["config", "core", "gateway", "store"],
  gateway: ["core", "intake", "media", "memory", "reply", "schedules", "store", "turns"],
  intake: ["core", "media", "store"],
  turns: ["core", "media", "store"],
  reply: ["core", "media", "store"],
  memory: ["core", "store"],
  schedules: ["core", "store"],
  media: ["core", "store"],
  store: ["core"],
  dispatch: ["core"],
  config: ["core", "schedules"],
  http: ["core"],
  operations: ["core"],
  agent: ["core"],
  core: [],
};

/** Where a package is at home: nowhere else is it imported. */
const HOMES: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(grammy|@grammyjs\/.*)$/, ["channels/telegram"]],
  [/^(https-proxy-agent|socks-proxy-agent)$/, ["channels"]],
  [/^@whiskeysockets\/baileys$/, ["channels/whatsapp"]],
  [/^(hono|@hono\/.*)$/, ["src/http"]],
  [/^(langchain|deepagents|@langchain\/.*)$/, ["src/agent"]],
  [/^get-east-asian-width$/, ["src/reply", "channels"]],
  [/^marked$/, ["src/reply"]],
  [/^(sharp|file-type|unpdf|mime-types|heic-decode|postal-mime)$/, ["src/media"]],
  [/^(yauzl|saxes|chardet|ogg-opus-decoder|mpg123-decoder)$/, ["src/media"]],
  [/^(kysely|better-sqlite3|pg|@aws-sdk\/.*)$/, ["src/store"]],
  [/^(bullmq|redis)$/, ["src/dispatch"]],
  [/^(prom-client|@opentelemetry\/.*)$/, ["src/operations"]],
  [/^uqr$/, ["src/cli", "src/http"]],
  [/^croner$/, ["src/schedules"]],
  [/^yaml$/, ["src/config", "src/agent/skills"]],
  [/^zod$/, ["src/config", "channels", "src/agent"]],
];

const files = ["src", "channels"].flatMap((folder) => sources(join(ROOT, folder)));

function sources(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const statements = text.matchAll(/^(?:import|export)\b[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"/gm);
  const calls = text.matchAll(/\bimport\(\s*["`]([^"`$]+)["`]\s*\)/g);
  return [...statements, ...calls].map(([, from, bare]) => from ?? bare ?? "");
}

/** "src/reply/plan.ts" stands in the room "reply", "channels/web/…" in "channels/web", "src/gateway.ts" in "gateway". */
function roomOf(file: string): string {
  const [top, second = ""] = file.split("/");
  return top === "channels" ? `channels/${second}` : second.replace(/\.ts$/, "");
}

describe("the house", () => {
  it.each(files)("%s imports only what its room may", (file) => {
    const room = roomOf(file);
    const allowed = room.startsWith("channels/") ? ["core"] : MAY_IMPORT[room];
    expect(allowed, `${room} is not a room; add it to MAY_IMPORT`).toBeDefined();
    for (const name of importsOf(file)) {
      if (name.startsWith(".") && !name.includes("${")) {
        const target = relative(ROOT, resolve(ROOT, dirname(file), name));
        expect(target.endsWith(".ts"), `${name} does not name a file`).toBe(true);
        expect([room, ...(allowed ?? [])], `${file} imports ${target}`).toContain(roomOf(target));
      } else if (!name.startsWith("node:") && !name.startsWith(".")) {
        const bare = name.startsWith("@")
          ? name.split("/").slice(0, 2).join("/")
          : (name.split("/")[0] ?? "");
        const home = HOMES.find(([pattern]) => pattern.test(bare));
        expect(home, `${bare} has no home; add it to HOMES`).toBeDefined();
        expect(
          home?.[1].some((folder) => file.startsWith(`${folder}/`)),
          `${file} imports ${bare}`,
        ).toBe(true);
      }
    }
  });

  it("has no import cycles", () => {
    const graph = new Map(
      files.map((file) => [
        file,
        importsOf(file)
          .filter((name) => name.startsWith(".") && !name.includes("${"))
          .map((name) => relative(ROOT, resolve(ROOT, dirname(file), name))),
      ]),
    );
    const done = new Set<string>();
    const visit = (file: string, path: readonly string[]): void => {
      expect(path, "a cycle").not.toContain(file);
      if (done.has(file)) return;
      for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
  });

  it("keeps files short enough to read", () => {
    const long = files.filter((file) => readFileSync(join(ROOT, file), "utf8").split("\n").length > 350);
    expect(long).toEqual([]);
  });

  it("reads the environment in main alone", () => {
    const readers = files.filter((file) => /process\.env/.test(readFileSync(join(ROOT, file), "utf8")));
    expect(readers).toEqual(["src/main.ts"]);
  });

  it("takes time from the clock that it is handed", () => {
    const tellers = files.filter((file) =>
      /\bDate\.now\(\)|\bsetTimeout\(|\bsetInterval\(|new Date\(\)/.test(
        readFileSync(join(ROOT, file), "utf8"),
      ),
    );
    expect(tellers).toEqual(["src/core/clock.ts"]);
  });

  it("writes to the terminal through main alone", () => {
    const writers = files.filter((file) =>
      /console\.|process\.std(out|err)/.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(writers).toEqual(["src/main.ts"]);
  });

  it("gives every channel kind the same four files", () => {
    for (const kind of readdirSync(join(ROOT, "channels"))) {
      if (!existsSync(join(ROOT, "channels", kind, "index.ts"))) continue; // no kind yet, only what it will need
      for (const name of ["index.ts", "channel.ts", "inbound.ts", "render.ts"]) {
        expect(existsSync(join(ROOT, "channels", kind, name)), `channels/${kind}/${name}`).toBe(true);
      }
    }
  });
});

describe("the documents", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");

  it("has a row in the README for every error code, and no row for none", () => {
    const source = readFileSync(join(ROOT, "src/core/errors.ts"), "utf8");
    const union = source.slice(
      source.indexOf("export type ErrorCode"),
      source.indexOf("export type ErrorDetail"),
    );
    const codes = [...union.matchAll(/"([a-z]+\.[a-z_]+)"/g)].map((match) => match[1] as ErrorCode);
    const rows = [...readme.matchAll(/^\| `([a-z]+\.[a-z_]+)` \|/gm)].map((match) => match[1]);
    expect(new Set(rows)).toEqual(new Set(codes));
    expect(rows).toHaveLength(codes.length);
  });

  it("throws every error code somewhere", () => {
    const text = files
      .filter((file) => file !== "src/core/errors.ts")
      .map((file) => readFileSync(join(ROOT, file), "utf8"))
      .join("\n");
    const source = readFileSync(join(ROOT, "src/core/errors.ts"), "utf8");
    const union = source.slice(
      source.indexOf("export type ErrorCode"),
      source.indexOf("export type ErrorDetail"),
    );
    for (const [, code] of union.matchAll(/"([a-z]+\.[a-z_]+)"/g))
      expect(text, `nothing uses ${code}`).toContain(`"${code}"`);
  });

  it("has a line in .env.example for every variable that the shipped configuration reads", () => {
    const shipped = ["config/perch.yaml", "config/agents/helper.md"]
      .map((file) => readFileSync(join(ROOT, file), "utf8"))
      .join("\n");
    const example = readFileSync(join(ROOT, ".env.example"), "utf8");
    for (const [, name] of shipped.matchAll(/^[^#\n]*\$\{([A-Z_]+)/gm)) expect(example).toContain(`${name}=`);
  });

  it("keeps AGENTS.md short", () => {
    expect(readFileSync(join(ROOT, "AGENTS.md"), "utf8").split("\n").length).toBeLessThanOrEqual(121);
  });

  it("names no path of one machine, and nothing beside the checkout", () => {
    const named = ["README.md", "AGENTS.md", ".env.example", "config/perch.yaml", ...files].filter((file) =>
      /(^|[^A-Za-z0-9_.])(\/work\/|\/root\/)|\.\.\/shared/.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(named).toEqual([]);
  });
});
