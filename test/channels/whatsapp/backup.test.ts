import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCacheableSignalKeyStore, type WASocket } from "@whiskeysockets/baileys";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AuthState, openAuthState } from "../../../channels/whatsapp/baileys/keys/auth-state.ts";
import { backup, restore } from "../../../channels/whatsapp/baileys/keys/backup.ts";
import { guardConsole } from "../../../channels/whatsapp/baileys/life/console-guard.ts";
import { sealWith, STATE } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import type { KeepsakeHost, Lease } from "../../../src/core/host.ts";
import { channelState } from "../../../src/store/channel-state.ts";
import type { Database } from "../../../src/store/database.ts";
import { openSqlite } from "../../../src/store/sqlite.ts";
import { memoryLog } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";
import { linkedNow } from "../../support/whatsapp/linked-creds.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "../../support/whatsapp/loopback.ts";
import { PlainSocket } from "../../support/whatsapp/plain-socket.ts";
import { secretsIn } from "../../support/whatsapp/secret-scan.ts";
import { SILENT } from "../../support/whatsapp/silent-logger.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const OTHER = "fedcba9876543210fedcba9876543210";

/** A machine with a database and the account on it. */
class Machine {
  readonly host: KeepsakeHost;
  readonly #database: Database;
  #lease: Lease | undefined;

  constructor(database: Database) {
    this.#database = database;
    const clock = manualClock();
    const state = channelState(database, "family", { owner: "gateway", clock });
    this.host = { id: "family", state, clock, log: memoryLog([]) };
  }

  /** As a command of another process sees it. */
  get beside(): KeepsakeHost {
    const { clock } = this.host;
    return { ...this.host, state: channelState(this.#database, "family", { owner: "command", clock }) };
  }

  async open(stateKey?: string): Promise<AuthState> {
    this.#lease = await this.host.state.lease(60_000);
    if (!this.#lease) throw new Error("somebody else has the lease");
    return await openAuthState({
      host: this.host,
      seal: await sealWith(stateKey, STATE),
      lease: this.#lease,
      fatal: (error) => {
        throw error;
      },
    });
  }

  async leave(): Promise<void> {
    await this.#lease?.release();
  }

  async rows(): Promise<readonly string[]> {
    return (await this.host.state.list("", { limit: 1_000 })).map(([row]) => row);
  }
}

guardConsole();

const kept = (stateKey?: string) => ({
  transport: "baileys" as const,
  ...(stateKey === undefined ? {} : { stateKey }),
});

let folder: string;
const databases: Database[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-backup-"));
});
afterEach(async () => {
  await Promise.all(databases.splice(0).map((database) => database.close()));
  await rm(folder, { recursive: true });
});

async function machine(): Promise<Machine> {
  const database = await openSqlite(join(folder, `${databases.length}.db`));
  databases.push(database);
  return new Machine(database);
}

describe("a backup", () => {
  const linked = async (stateKey?: string): Promise<{ readonly on: Machine; readonly auth: AuthState }> => {
    const on = await machine();
    const auth = await on.open(stateKey);
    linkedNow(auth.creds);
    auth.creds.nextPreKeyId = 31;
    await auth.save();
    await auth.keys().set({
      "pre-key": { "30": { public: Buffer.alloc(32, 1), private: Buffer.alloc(32, 2) } },
      session: { "1.0": Buffer.from([1]) },
      "sender-key": { "1@g.us::1::0": Buffer.from([1]) },
      "sender-key-memory": { "1@g.us": { "1@lid": true } },
      "device-list": { "1": ["0"] },
      "identity-key": { "1.0": Buffer.from([1]) },
      "lid-mapping": { "1": "2" },
      tctoken: { "1@lid": { token: Buffer.from([1]) } },
    });
    return { on, auth };
  };
  const LONG_LIVED = ["auth/creds", "auth/identity-key/1.0", "auth/lid-mapping/1", "auth/pre-key/30"];

  it("is the account with its long-lived keys, taken while it is connected, and takes an old one's place", async () => {
    const { on, auth } = await linked(KEY);
    const bytes = await backup(kept(KEY), on.beside);
    expect(secretsIn(Buffer.from(bytes), auth.creds)).toEqual([]);
    const { on: there } = await linked(KEY);
    await there.host.state.set({ "auth/session/2.0": "of another account", "contact/1": "stays" });
    await there.leave();
    await restore(kept(KEY), there.beside, bytes);
    expect(await there.rows()).toEqual([...LONG_LIVED, "auth/tctoken/1@lid", "contact/1"]);
    const restored = await there.open(KEY);
    expect(restored.creds).toMatchObject({ advSecretKey: auth.creds.advSecretKey, me: auth.creds.me });
    // None of the numbers that were given out since the backup is used again.
    expect([restored.creds.nextPreKeyId, restored.creds.firstUnuploadedPreKeyId]).toEqual([10_031, 10_031]);
    expect(await restored.keys().get("pre-key", ["30"])).toEqual({
      "30": { public: Buffer.alloc(32, 1), private: Buffer.alloc(32, 2) },
    });
  });

  it("is sealed with the key of now when it was made without one", async () => {
    const { on, auth } = await linked();
    const bytes = await backup(kept(), on.beside);
    expect(secretsIn(Buffer.from(bytes), auth.creds)).not.toEqual([]);
    const there = await machine();
    await restore(kept(KEY), there.host, bytes);
    const texts = (await there.host.state.list("auth/", { limit: 100 })).map(([, text]) => text.slice(0, 3));
    expect(new Set(texts)).toEqual(new Set(["s1."]));
    expect((await there.open(KEY)).creds.advSecretKey).toBe(auth.creds.advSecretKey);
  });

  it("is refused where it is none, sealed with another key, or the connection is in use, and changes nothing", async () => {
    const { on } = await linked(KEY);
    const bytes = await backup(kept(KEY), on.beside);
    const before = await on.host.state.list("", { limit: 100 });
    await expect(restore(kept(KEY), on.beside, bytes)).rejects.toMatchObject({
      code: "data.in_use",
      message: "a running process is connected as family; stop it, and try again",
    });
    await on.leave();
    const refused = (message: string | RegExp) => ({
      code: "config.invalid",
      message: expect.stringMatching(message),
    });
    await expect(restore(kept(OTHER), on.beside, bytes)).rejects.toMatchObject(
      refused(/^this backup cannot be opened: it is sealed with another stateKey than the one that is set/),
    );
    await expect(restore(kept(), on.beside, bytes)).rejects.toMatchObject(refused(/no stateKey is set/));
    const text = Buffer.from(bytes).toString();
    for (const wrong of ["", "{}", "no JSON", text.replace('"version": 1', '"version": 2')])
      await expect(restore(kept(KEY), on.beside, Buffer.from(wrong))).rejects.toMatchObject(
        refused(/^this is no backup of a WhatsApp account; name a file that perch backup has written$/),
      );
    const seal = await sealWith(KEY, STATE);
    const empty = JSON.stringify({ ...JSON.parse(text), content: seal.seal(Buffer.from("{}"), "backup") });
    await expect(restore(kept(KEY), on.beside, Buffer.from(empty))).rejects.toMatchObject(
      refused(/^this is no backup of a WhatsApp account/),
    );
    expect(await on.host.state.list("", { limit: 100 })).toEqual(before);
  });

  it("is not made of a connection of the Cloud API, where no account is linked, or its keys cannot be opened", async () => {
    const there = await machine();
    await expect(backup({ transport: "cloud" }, there.host)).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringMatching(/^a connection of the Cloud API has no account of its own to keep/),
    });
    await expect(backup(kept(KEY), there.host)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(/^family is not linked with an account, so there is nothing to back up/),
    });
    const { on } = await linked(KEY);
    await expect(backup(kept(OTHER), on.beside)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(
        /^the account of family cannot be opened: it is sealed with another stateKey/,
      ),
    });
  });
});

/** The library on a machine's account, as the channel has it. */
class Phoneless extends PlainSocket {
  readonly #auth: AuthState;

  constructor(wa: LoopbackWhatsApp, auth: AuthState) {
    super(wa, {
      get auth() {
        return { creds: auth.creds, keys: makeCacheableSignalKeyStore(auth.keys(), SILENT) };
      },
    });
    this.#auth = auth;
  }

  override begin(): WASocket {
    const socket = super.begin();
    socket.ev.on("creds.update", () => void this.#auth.save());
    return socket;
  }
}

describe("an account that was restored from a backup", () => {
  it("hears and is heard in both kinds of chat, though all sessions have gone on since", async () => {
    const wa = await startWhatsApp();
    wa.trust();
    const sockets: PlainSocket[] = [];
    try {
      const owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
      const bob = await wa.addPerson({ phone: "15550000002", lid: "90000000000002", name: "Bob" });
      const group = wa.addGroup({ members: [owner, bob] });
      const here = await machine();
      const first = new Phoneless(wa, await here.open(KEY));
      sockets.push(first);
      const device = await first.pair(owner);
      const exchange = async (by: PlainSocket, round: string): Promise<void> => {
        await bob.say(device, `private ${round}`, { id: `P${round}` });
        await bob.say(device, `to all ${round}`, { id: `G${round}`, group });
        const heard = [await by.message(`P${round}`), await by.message(`G${round}`)];
        expect(heard.map(({ message }) => message?.conversation)).toEqual([
          `private ${round}`,
          `to all ${round}`,
        ]);
        for (const chat of [bob.lid, group.id]) {
          const text = `answer ${round} ${chat}`;
          await by.socket.sendMessage(chat, { text, linkPreview: null });
          await wa.waitForMessage((shown) => shown.person === bob && textOf(shown.message) === text);
        }
      };
      await exchange(first, "1");
      const bytes = await backup(kept(KEY), here.beside);
      for (const round of ["2", "3", "4"]) await exchange(first, round);
      first.close();
      await first.closes.when(() => true);
      await here.leave();

      const there = await machine();
      await restore(kept(KEY), there.host, bytes);
      expect((await there.rows()).filter((row) => /session|sender-key|device-list/.test(row))).toEqual([]);
      const second = new Phoneless(wa, await there.open(KEY));
      sockets.push(second);
      await second.open();
      await exchange(second, "5");
      await exchange(second, "6");
    } finally {
      for (const socket of sockets) socket.close();
      await wa.close();
    }
  });
});

function textOf(message: unknown): string | undefined {
  const { conversation, extendedTextMessage } = message as {
    conversation?: string;
    extendedTextMessage?: { text?: string };
  };
  return conversation || extendedTextMessage?.text;
}
