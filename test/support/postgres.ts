import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Client } from "pg";

/** A PostgreSQL of a test's own, which may be ended and begun again. */
export type PostgresServer = {
  readonly url: string;
  /** As a crash of the machine ends it: what was committed is there after `start`. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends it and removes what it has kept. */
  remove(): Promise<void>;
};

/** Where Debian keeps the programs of a server, which are not in everybody's PATH. */
const DEBIAN = "/usr/lib/postgresql";

const found = programs();

if (found === undefined) {
  if (process.env["PERCH_TESTS_COMPLETE"])
    throw new Error("there are no programs of a PostgreSQL server, and a complete run needs them");
  console.warn("There are no programs of a PostgreSQL server: Perch of many processes is not tested.");
}

/** What is asked of a suite that needs a server of its own: `describe.skipIf(NO_OWN_POSTGRES)`. */
export const NO_OWN_POSTGRES = found === undefined;

/** @throws Error where there is no PostgreSQL on this machine. */
export async function startPostgres(): Promise<PostgresServer> {
  if (found === undefined) throw new Error("there are no programs of a PostgreSQL server");
  const folder = found;
  const data = await mkdtemp(join(tmpdir(), "perch-postgres-"));
  // It refuses to run as root.
  const who = process.getuid?.() === 0 ? idsOf("postgres") : {};
  if (who.uid !== undefined) await chown(data, who.uid, who.gid ?? who.uid);
  await chmod(data, 0o700);
  execFileSync(
    join(folder, "initdb"),
    ["-D", join(data, "db"), "-U", "perch", "-A", "trust", "-E", "UTF8", "--no-locale"],
    { ...who, cwd: data, stdio: "ignore" },
  );
  const port = await freePort();
  const url = `postgres://perch@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    server = spawn(
      join(folder, "postgres"),
      // Many processes of a test connect, each with a pool of its own.
      [
        "-D",
        join(data, "db"),
        "-h",
        "127.0.0.1",
        "-p",
        String(port),
        "-k",
        data,
        "-c",
        "max_connections=200",
      ],
      { ...who, cwd: data, stdio: "ignore" },
    );
    await answering(url);
  }

  async function kill(): Promise<void> {
    const ended = server && new Promise((resolve) => server?.once("exit", resolve));
    // Immediate shutdown: what is being done is cut off, and the log is gone through at the next start.
    server?.kill("SIGQUIT");
    await ended;
  }

  await start();
  return {
    url,
    start,
    kill,
    async remove() {
      await kill();
      await rm(data, { recursive: true, force: true });
    },
  };
}

async function answering(url: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (tries > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function programs(): string | undefined {
  const versions = existsSync(DEBIAN)
    ? readdirSync(DEBIAN)
        .toSorted((a, b) => Number(b) - Number(a))
        .map((version) => join(DEBIAN, version, "bin"))
    : [];
  const folders = [...versions, ...(process.env.PATH ?? "").split(delimiter)];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

function idsOf(user: string): { readonly uid?: number; readonly gid?: number } {
  const id = (flag: string): number => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/** A port that was free just now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
