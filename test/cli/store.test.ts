import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { people } from "../../src/cli/people.ts";
import { queue } from "../../src/cli/queue.ts";
import { why } from "../../src/cli/why.ts";
import { systemClock } from "../../src/core/clock.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { takingIn } from "../intake/set-up.ts";
import { freshPostgresUrl, postgresAnswers } from "../support/database.ts";

const CONFIG = 'channels: { web: { kind: web } }\nstore: { url: "${PERCH_STORE_URL}" }\n';

const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** A folder whose perch.yaml names a server, on which somebody has said something. */
async function onServer() {
  const { url, drop } = freshPostgresUrl();
  ends.push(drop);
  const folder = await mkdtemp(join(tmpdir(), "perch-"));
  ends.push(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "config/agents"), { recursive: true });
  await writeFile(join(folder, "config/agents/helper.md"), "Be brief.\n");
  await writeFile(join(folder, "config/perch.yaml"), CONFIG);
  const database = await openPostgres(url, { connections: 1 });
  await takingIn(database).say("ada", "hello");
  await database.close();
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  return { folder, lines, options: { folder, env: { PERCH_STORE_URL: url }, print, clock: systemClock } };
}

describe.runIf(await postgresAnswers())("a command where store.url names a server", () => {
  it.each([
    ["why", why, /^1 waiting in toy chat 1/],
    ["queue", queue, /^1 waiting in toy chat 1 for helper/],
    ["people", people, /^Nothing was granted in chat\.$/],
  ])("reads what stands there: perch %s", async (_name, command, first) => {
    const { folder, lines, options } = await onServer();
    expect(await command(options, [])).toBe(0);
    expect(lines[0]).toMatch(first);
    expect(await readdir(folder)).toEqual(["config"]);
  });

  it("says where the server is that does not answer, and neither user nor password", async () => {
    const { options } = await onServer();
    const env = { PERCH_STORE_URL: "postgres://perch:hunter2@127.0.0.1:1/perch" };
    await expect(why({ ...options, env }, [])).rejects.toMatchObject({
      code: "store.unavailable",
      message: expect.stringMatching(/^PostgreSQL at 127\.0\.0\.1:1\/perch: nothing listens there/),
    });
  });
});
