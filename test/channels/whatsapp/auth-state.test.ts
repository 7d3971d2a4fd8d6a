import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AuthenticationCreds, proto, type SignalDataSet } from "@whiskeysockets/baileys";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AuthState, openAuthState } from "../../../channels/whatsapp/baileys/keys/auth-state.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import type { Lease } from "../../../src/core/host.ts";
import { channelState } from "../../../src/store/channel-state.ts";
import type { Database } from "../../../src/store/database.ts";
import { openSqlite } from "../../../src/store/sqlite.ts";
import { type LoggedLine, memoryLog } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";
import { linkedNow } from "../../support/whatsapp/linked-creds.ts";
import { secretsIn } from "../../support/whatsapp/secret-scan.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const MINUTE_MS = 60_000;
const SOME_KEYS: SignalDataSet = {
  "pre-key": { "1": { public: Buffer.alloc(32, 1), private: Buffer.alloc(32, 2) } },
  session: { "9000000002.0": Buffer.from([1, 2, 3]) },
  "sender-key": { "1@g.us::9000000002::0": Buffer.from([4, 5]) },
  "sender-key-memory": { "1@g.us": { "15550000002@s.whatsapp.net": true } },
  "app-state-sync-version": {
    regular: {
      version: 3,
      hash: Buffer.alloc(4, 3),
      indexValueMap: { "QUI=": { valueMac: Buffer.from([6]) } },
    },
  },
  "lid-mapping": { "15550000002": "9000000002", "9000000002_reverse": "15550000002" },
  "device-list": { "9000000002": ["0", "12"] },
  tctoken: { "9000000002@lid": { token: Buffer.from([7]), timestamp: "1700000000", senderTimestamp: 17 } },
  "identity-key": { "9000000002.0": Buffer.alloc(33, 8) },
};

describe("the account's state", () => {
  let folder: string;
  let database: Database;
  const logged: LoggedLine[] = [];
  const fatal: Error[] = [];
  const clock = manualClock();
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "perch-auth-"));
    database = await openSqlite(join(folder, "perch.db"));
    logged.length = 0;
    fatal.length = 0;
  });
  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });

  const stateOf = (owner = "a") => channelState(database, "family", { owner, clock });
  const rows = async (): Promise<ReadonlyMap<string, string>> =>
    new Map(await stateOf().list("", { limit: 100 }));
  const taken = async (): Promise<Lease> => {
    const lease = await stateOf().lease(MINUTE_MS);
    if (!lease) throw new Error("another owner has the lease");
    return lease;
  };
  const open = async (stateKey?: string): Promise<AuthState> =>
    await openAuthState({
      host: { id: "family", state: stateOf(), log: memoryLog(logged) },
      seal: await sealWith(stateKey, "test"),
      lease: await taken(),
      fatal: (error) => void fatal.push(error),
    });
  /** One that is linked and stored. */
  const linked = async (stateKey?: string): Promise<AuthState> => {
    const auth = await open(stateKey);
    linkedNow(auth.creds);
    await auth.save();
    return auth;
  };

  it("is new and leaves nothing behind until it is linked", async () => {
    const auth = await open(KEY);
    auth.creds.me = { id: "15550000001@s.whatsapp.net" }; // a code was asked for
    await auth.save();
    expect([auth.paired(), await rows()]).toEqual([false, new Map()]);
    const before = auth.creds;
    await auth.discard("abandoned");
    expect([auth.creds.me, await rows()]).toEqual([undefined, new Map()]);
    expect(auth.creds.advSecretKey).not.toBe(before.advSecretKey);
  });

  it("is the same account after a restart, whole as it was at the last save", async () => {
    const auth = await linked(KEY);
    const saves: Promise<void>[] = [];
    for (let next = 2; next <= 5; next += 1) {
      auth.creds.nextPreKeyId = next;
      saves.push(auth.save());
    }
    await Promise.all(saves);
    const again = await open(KEY);
    expect([again.paired(), again.creds.nextPreKeyId, again.creds.me]).toEqual([true, 5, auth.creds.me]);
    const bytes = ({ account }: AuthenticationCreds): Uint8Array =>
      proto.ADVSignedDeviceIdentity.encode(account ?? {}).finish();
    expect(bytes(again.creds)).toEqual(bytes(auth.creds));
    expect({ ...again.creds, account: undefined }).toEqual({ ...auth.creds, account: undefined });
    expect(again.creds.account?.accountSignatureKey).toEqual(Buffer.alloc(32, 7));
  });

  it("keeps keys of every type, also of types that come later, and forgets what is set to null", async () => {
    const auth = await linked(KEY);
    const keys = auth.keys();
    const appState = proto.Message.AppStateSyncKeyData.create({
      keyData: Buffer.from([1, 2, 3]),
      timestamp: 1_700_000_000_000,
      fingerprint: { rawId: 7, currentIndex: 1, deviceIndexes: [0, 1] },
    });
    const later = { "not-yet-known": { x: { a: [Buffer.from([9])] } } };
    await keys.set({ ...SOME_KEYS, "app-state-sync-key": { AAA: appState }, ...later });
    const again = (await open(KEY)).keys();
    for (const [type, values] of Object.entries({ ...SOME_KEYS, ...later }))
      expect(await again.get(type as "session", Object.keys(values))).toEqual(values);
    const read = (await again.get("app-state-sync-key", ["AAA", "BBB"]))["AAA"] ?? {};
    expect(proto.Message.AppStateSyncKeyData.encode(read).finish()).toEqual(
      proto.Message.AppStateSyncKeyData.encode(appState).finish(),
    );
    await again.set({ session: { "9000000002.0": null, other: Buffer.from([1]) }, "pre-key": { "1": null } });
    expect(await again.get("session", ["9000000002.0", "other"])).toEqual({ other: Buffer.from([1]) });
    expect(await again.get("pre-key", ["1"])).toEqual({});
  });

  it("ends the socket when a write fails, once, and writes nothing more of it, whatever it tries again", async () => {
    const auth = await linked(KEY);
    const before = await rows();
    const keys = auth.keys();
    await channelState(database, "family", { owner: "a", clock }).lease(MINUTE_MS); // somebody else is it now
    const lost = { code: "store.hold_lost" };
    const both = [keys.set(SOME_KEYS), keys.set({ session: { b: Buffer.from([1]) } })];
    for (const write of both) await expect(write).rejects.toMatchObject(lost);
    await expect(keys.set(SOME_KEYS)).rejects.toThrow("a socket of family that has ended writes no keys");
    expect(fatal).toEqual([expect.objectContaining(lost)]);
    await expect(auth.save()).rejects.toMatchObject(lost);
    expect([fatal.length, await rows()]).toEqual([2, before]);
  });

  it("lets only the newest socket write, and shows it all that the one before has written", async () => {
    const auth = await linked(KEY);
    const first = auth.keys();
    const writing = first.set({ session: { a: Buffer.from([1]) } });
    await writing;
    const second = auth.keys();
    await expect(first.set({ session: { a: Buffer.from([0]) } })).rejects.toMatchObject({
      code: "store.hold_lost",
    });
    expect(fatal).toHaveLength(0); // the one that ended is no loss
    expect(await second.get("session", ["a"])).toEqual({ a: Buffer.from([1]) });
    await second.set({ session: { a: Buffer.from([2]) } });
    expect(await second.get("session", ["a"])).toEqual({ a: Buffer.from([2]) });
  });

  it("is never begun anew over what is left of an account", async () => {
    const auth = await linked(KEY);
    await auth.keys().set(SOME_KEYS);
    await stateOf().set({ "auth/creds": undefined });
    await expect(open(KEY)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(
        /^the credentials of family are missing and \d+ or more of its keys are there; restore a backup/,
      ),
    });
  });

  it("is not opened with another key, nor damaged, and is as it was then", async () => {
    await (await linked(KEY)).keys().set(SOME_KEYS);
    const before = await rows();
    const refused = (message: RegExp) => ({ code: "data.unusable", message: expect.stringMatching(message) });
    await expect(open("another key, of thirty-two letters")).rejects.toMatchObject(
      refused(/^the account of family cannot be opened: it is sealed with another stateKey than/),
    );
    await expect(open()).rejects.toMatchObject(refused(/^the account of family .* no stateKey is set/));
    expect(await rows()).toEqual(before);
    const keys = (await open(KEY)).keys();
    const swapped = before.get("auth/session/9000000002.0");
    await stateOf().set({ "auth/session/9000000003.0": swapped, "auth/lid-mapping/1": "p1.bm8ganNvbg" });
    await expect(keys.get("session", ["9000000003.0"])).rejects.toMatchObject(refused(/changed or damaged/));
    await expect(keys.get("lid-mapping", ["1"])).rejects.toMatchObject(refused(/it is damaged/));
  });

  it("warns once a start where nothing is sealed, and seals all that stands there once a key is set", async () => {
    const auth = await linked();
    await auth.keys().set(SOME_KEYS);
    expect(logged.map(({ level, sentence }) => [level, sentence.slice(0, 48)])).toEqual([
      ["warn", "the keys of the account are stored readable, and"],
    ]);
    logged.length = 0;
    const sealed = await open(KEY);
    expect(logged.map(({ level, sentence }) => [level, sentence])).toEqual([
      ["info", "the keys of the account are sealed now"],
    ]);
    expect(sealed.creds).toMatchObject({ me: auth.creds.me, advSecretKey: auth.creds.advSecretKey });
    const texts = [...(await rows()).values()];
    expect(texts.filter((text) => !text.startsWith("s1."))).toEqual([]);
    expect(await sealed.keys().get("device-list", ["9000000002"])).toEqual(SOME_KEYS["device-list"]);
    logged.length = 0;
    await open(KEY);
    expect(logged).toEqual([]);
  });

  it("keeps a sealed copy of the credentials of an account that was unlinked, and nothing else of it", async () => {
    const auth = await linked(KEY);
    await auth.keys().set(SOME_KEYS);
    await stateOf().set({ "contact/1": "stays" });
    const old = auth.creds.advSecretKey;
    const saving = auth.save();
    await Promise.all([auth.discard("unpaired"), auth.save(), saving]);
    expect([...(await rows()).keys()]).toEqual(["contact/1", "unlinked/creds"]);
    const copy = (await rows()).get("unlinked/creds") ?? "";
    const seal = await sealWith(KEY, "test");
    expect(JSON.parse(seal.open(copy, "unlinked/creds").toString())).toMatchObject({ advSecretKey: old });
    expect([auth.paired(), (await open(KEY)).paired()]).toEqual([false, false]);
  });

  it.each([
    ["none of its private keys", KEY, []],
    [
      "all of its private keys, without a key",
      undefined,
      ["noiseKey", "signedIdentityKey", "signedPreKey", "pairingEphemeralKeyPair", "advSecretKey"],
    ],
  ])("has %s in the files of the database", async (_, stateKey, found) => {
    const auth = await linked(stateKey);
    await auth.keys().set(SOME_KEYS);
    await auth.save();
    const files = ["perch.db", "perch.db-wal"].map((name) => readFile(join(folder, name)));
    expect(secretsIn(Buffer.concat(await Promise.all(files)), auth.creds)).toEqual(found);
  });

  it("holds every write that has returned, whole, when its process is killed", async () => {
    const at = (path: string): string =>
      JSON.stringify(new URL(`../../../dist/${path}`, import.meta.url).href);
    const script = `
      import { openAuthState } from ${at("channels/whatsapp/baileys/keys/auth-state.js")};
      import { sealWith } from ${at("channels/whatsapp/baileys/keys/seal.js")};
      import { channelState } from ${at("src/store/channel-state.js")};
      import { openSqlite } from ${at("src/store/sqlite.js")};
      const database = await openSqlite(process.argv[1]);
      const state = channelState(database, "family", { owner: "b", clock: { now: () => 1 } });
      const log = { info() {}, warn() {} };
      const seal = await sealWith(${JSON.stringify(KEY)}, "test");
      const auth = await openAuthState({ host: { id: "family", state, log }, seal, lease: await state.lease(1), fatal() {} });
      auth.creds.account = {};
      await auth.save();
      const keys = auth.keys();
      for (let n = 0; ; n += 1) {
        const value = Buffer.from(String(n));
        await keys.set({ session: { a: value, b: value }, "identity-key": { a: value }, "pre-key": { [n]: null } });
        process.send(n);
      }`;
    const child = spawn(
      process.execPath,
      ["--input-type=module", "--eval", script, join(folder, "perch.db")],
      { stdio: ["ignore", "inherit", "inherit", "ipc"] },
    );
    let told = -1;
    child.on("message", (n: number) => {
      told = n;
      if (n === 20) child.kill("SIGKILL");
    });
    await once(child, "exit");
    const keys = (await open(KEY)).keys();
    const { a, b } = await keys.get("session", ["a", "b"]);
    const identity = (await keys.get("identity-key", ["a"]))["a"];
    const newest = Number(Buffer.from(a ?? []).toString());
    expect(newest).toBeGreaterThanOrEqual(told);
    expect(told).toBeGreaterThanOrEqual(20);
    expect([b, identity]).toEqual([a, a]);
  });
});
