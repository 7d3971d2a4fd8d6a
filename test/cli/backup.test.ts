import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openAuthState } from "../../channels/whatsapp/baileys/keys/auth-state.ts";
import { sealWith, STATE } from "../../channels/whatsapp/baileys/keys/seal.ts";
import { backup, restore } from "../../src/cli/backup.ts";
import { leaseOf } from "../../src/connections/ownership.ts";
import { takeLease } from "../../src/store/channel-lease.ts";
import { channelState } from "../../src/store/channel-state.ts";
import { lockFolder } from "../../src/store/lock.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";
import { linkedNow } from "../support/whatsapp/linked-creds.ts";

const KEY = "0123456789abcdef0123456789abcdef";

describe("perch backup and perch restore", () => {
  let folder: string;
  const clock = manualClock();
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "perch-backup-"));
    await mkdir(join(folder, "config/agents"), { recursive: true });
    await writeFile(join(folder, "config/agents/helper.md"), "---\nmodel: demo\n---\nBe brief.\n");
    await writeFile(
      join(folder, "config/perch.yaml"),
      [
        "channels:",
        "  web: { kind: web }",
        "  family: { kind: whatsapp, stateKey: '${STATE_KEY}' }",
        "  spare: { kind: whatsapp, stateKey: '${OTHER_KEY}' }",
        "data: { folder: ../data }",
      ].join("\n"),
    );
  });
  afterEach(() => rm(folder, { recursive: true }));

  const terminal =
    (command: typeof backup) =>
    async (
      ...words: readonly string[]
    ): Promise<{ readonly code: number; readonly lines: readonly string[] }> => {
      const lines: string[] = [];
      const options = { folder, env: { STATE_KEY: KEY }, clock, log: memoryLog([]) };
      const code = await command({ ...options, print: (line) => void lines.push(line) }, words);
      return { code, lines };
    };
  const save = terminal(backup);
  const bring = terminal(restore);

  /** Opens the account as a gateway that is linked, and is killed: it gives back nothing. */
  const linked = async (): Promise<string> => {
    const database = await openSqlite(join(folder, "data/perch.db"));
    const state = channelState(database, "family", { owner: "gateway", clock });
    const lease = await state.lease(60_000);
    if (!lease) throw new Error("somebody has the lease");
    const host = { id: "family", state, log: memoryLog([]) };
    const auth = await openAuthState({ host, seal: await sealWith(KEY, STATE), lease, fatal: () => {} });
    if (!auth.paired()) linkedNow(auth.creds);
    await auth.save();
    await database.close();
    return auth.creds.advSecretKey;
  };

  it("carry an account to a file of its owner's alone and back, over whoever was killed with it", async () => {
    const account = await linked();
    const lock = lockFolder(join(folder, "data"), clock.now()); // the gateway runs
    const file = join(folder, "family.backup");
    expect(await save("family", "family.backup")).toEqual({
      code: 0,
      lines: [
        `The account of family is in ${file}.`,
        "Whoever has this file and the connection's stateKey is the account. Run it in one place at a time.",
      ],
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await expect(bring("family", "family.backup")).rejects.toMatchObject({ code: "data.in_use" });
    lock.release();
    await rm(join(folder, "data"), { recursive: true });
    expect(await linked()).not.toBe(account);
    expect((await bring("family", "family.backup")).code).toBe(0);
    expect(await linked()).toBe(account);
  });

  it("put nothing in the place of an account that another process is, and keep processes from it meanwhile", async () => {
    const account = await linked();
    await save("family", "family.backup");
    const database = await openSqlite(join(folder, "data/perch.db"));
    const holder = { owner: "another machine", clock };
    const lease = await takeLease(database, leaseOf("family"), holder, 30_000, async () => {});
    await expect(bring("family", "family.backup")).rejects.toMatchObject({
      code: "data.in_use",
      message:
        "family is open in a process that runs, or was killed within the last 12 s; stop all of them, and try again",
    });
    await lease?.release();
    expect((await bring("family", "family.backup")).code).toBe(0);
    expect(await takeLease(database, leaseOf("family"), holder, 30_000, async () => {})).toBeDefined();
    await database.close();
    expect(await linked()).toBe(account);
  });

  it("leave a file alone that is there already", async () => {
    await linked();
    await writeFile(join(folder, "old.backup"), "the only good one");
    await expect(save("family", "old.backup")).rejects.toMatchObject({
      code: "data.unusable",
      message: `${join(folder, "old.backup")} cannot be written: it is there already; name another`,
    });
    expect(await readFile(join(folder, "old.backup"), "utf8")).toBe("the only good one");
  });

  it("say what is missing", async () => {
    await linked();
    expect(await save("family")).toEqual({
      code: 1,
      lines: ["perch backup <connection> <file> writes a backup of a connection's account."],
    });
    expect((await bring()).code).toBe(1);
    await expect(save("work", "x")).rejects.toMatchObject({
      code: "config.invalid",
      message: 'there is no connection "work" in perch.yaml; name one of: web, family, spare',
    });
    await expect(save("spare", "x")).rejects.toThrow("spare is off; set OTHER_KEY first");
    await expect(save("web", "x")).rejects.toThrow(
      "web is of kind web, which has no account of its own to keep; what it needs stands in perch.yaml and .env",
    );
    await expect(bring("family", "missing")).rejects.toThrow(
      /missing cannot be read \(ENOENT\); name a file/,
    );
    await writeFile(join(folder, "wrong"), "x");
    await expect(bring("family", "wrong")).rejects.toMatchObject({ code: "config.invalid" });
    await expect(save("family", "no/such/folder")).rejects.toThrow(/cannot be written: ENOENT/);
  });
});
