import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import type { MediaBlock, Unfetched } from "../../src/core/blocks.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { manualClock, settle } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";
import { ToyPlatform } from "../support/toy-channel.ts";
import { startTranscriber, type TranscriberServer } from "../support/transcriber.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
let server: TranscriberServer;
let listens: AgentDefinition;
let folder: string;
let gateways: TestGateway[] = [];

beforeAll(async () => {
  server = await startTranscriber();
  listens = { ...AGENT, transcriber: server.transcriber };
});
afterAll(() => server.close());
beforeEach(async () => {
  server.otherwise = "blue kettle";
  folder = await mkdtemp(join(tmpdir(), "perch-attachments-"));
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close();
  await rm(folder, { recursive: true, force: true });
});

async function setUp(options: TestGatewayOptions = {}) {
  const gateway = await testGateway({ folder, agents: [listens], ...options });
  gateways.push(gateway);
  return gateway;
}

const voice = (): Promise<Buffer> => readFile(join(FIXTURES, "voice_known.ogg"));
const photo = (): Promise<Buffer> => readFile(join(FIXTURES, "red64.png"));

/** Announces a file; what it holds, the platform is told apart. */
function announced(ref: string, kind: Unfetched["kind"], fields: Unfetched["declared"] = {}): Unfetched {
  return { type: "unfetched", kind, ref, declared: fields };
}

async function put(platform: ToyPlatform, ref: string, bytes: Uint8Array): Promise<void> {
  platform.files.set(ref, async function* () {
    yield bytes;
  });
}

/** Lets windows and retries pass, and then no more time, until the predicate holds: files and servers take real time. */
async function pass(clock: ReturnType<typeof manualClock>, until: () => boolean): Promise<void> {
  for (let n = 0; n < 50 && !until(); n += 1) await clock.advance(200);
  while (!until()) await settle();
}

async function attempts(gateway: TestGateway): Promise<readonly (readonly [string, number])[]> {
  const rows = await gateway.database.db
    .selectFrom("attachment")
    .select(["state", "attempts"])
    .orderBy("id")
    .execute();
  return rows.map(({ state, attempts: many }) => [state, many] as const);
}

describe("a transcription that hangs", () => {
  it("holds neither another chat's photo nor its own chat's commands", async () => {
    const clock = manualClock();
    server.otherwise = { fault: "silence" };
    const gateway = await setUp({ clock });
    const { platform } = gateway;
    await put(platform, "voice", await voice());
    await put(platform, "photo", await photo());
    const uploads = server.uploads.length;
    // More than all lanes together take.
    for (let n = 0; n < 20; n += 1)
      await platform.say("1", [announced("voice", "audio", { label: "voice note" })]);
    await server.whenUploads(uploads + 2);
    await platform.say("2", [announced("photo", "image"), { type: "text", text: "what is this?" }]);
    await platform.say("1", "/new");
    await pass(clock, () => platform.textsIn("2").length > 0 && platform.textsIn("1").length > 0);
    expect(platform.textsIn("2")).toEqual(["heard: <image> what is this?"]);
    expect(platform.textsIn("1")).toHaveLength(1);
    expect(gateway.asked).toHaveLength(1);
  });

  it("is asked again after the process was killed in the middle, and the turn has one transcript", async () => {
    const platform = new ToyPlatform();
    const clock = manualClock();
    server.reply({ fault: "silence" });
    const first = await testGateway({ folder, platform, clock, agents: [listens] });
    await put(platform, "voice", await voice());
    const uploads = server.uploads.length;
    await platform.say("1", [announced("voice", "audio", { label: "voice note" })]);
    await server.whenUploads(uploads + 1);
    // It is read; whatever ends the process now is not this file.
    expect(await attempts(first)).toEqual([["waiting", 0]]);
    await first.kill();

    const second = await setUp({ platform, clock });
    await pass(clock, () => second.asked.length > 0);
    expect(server.uploads.length).toBe(uploads + 2);
    expect(second.asked.map(textOf)).toEqual(["<audio>"]);
    const [block] = second.asked[0]?.content ?? [];
    const { extract } = block as MediaBlock; // the one block of the turn, as its words say
    expect(extract?.as).toBe("transcript");
    expect(Buffer.from(await second.blobs.read(extract!.blob)).toString()).toBe("blue kettle");
    expect(await attempts(second)).toEqual([["done", 0]]);
  });

  it("is left to the next start when the gateway stops", async () => {
    server.reply({ fault: "silence" });
    const first = await testGateway({ folder, agents: [listens] });
    await put(first.platform, "voice", await voice());
    const uploads = server.uploads.length;
    await first.platform.say("1", [announced("voice", "audio")]);
    await server.whenUploads(uploads + 1);
    await first.gateway.stop(0);
    expect(await attempts(first)).toEqual([["waiting", 0]]);
    expect(first.logged.filter(({ level }) => level === "error")).toEqual([]);
    await first.database.close();
  });

  it("does not hold up a start at which it runs alone", async () => {
    const platform = new ToyPlatform();
    const clock = manualClock();
    const first = await testGateway({ folder, platform, clock, agents: [listens] });
    platform.files.set("voice", async function* () {
      yield new Uint8Array(1);
      await new Promise(() => {});
    });
    await platform.say("1", [announced("voice", "audio")]);
    await first.database.db.updateTable("attachment").set({ attempts: 2 }).execute();
    await first.kill();
    await put(platform, "voice", await voice());
    server.otherwise = { fault: "silence" };
    const uploads = server.uploads.length;
    const second = await setUp({ platform, clock }); // it has begun when this is there
    expect(second.logged.map(({ sentence }) => sentence)).toContain(
      "work that was in flight at two crashes is run alone before everything else",
    );
    await server.whenUploads(uploads + 1);
  });
});

describe("downloads", () => {
  it("that hang in one chat leave room for the others", async () => {
    const clock = manualClock();
    const { platform } = await setUp({ clock, limits: { fetchSeconds: 1_000_000, stallSeconds: 1_000_000 } });
    platform.files.set("hangs", async function* () {
      yield new Uint8Array(1);
      await new Promise(() => {});
    });
    await put(platform, "photo", await photo());
    for (let n = 0; n < 20; n += 1) await platform.say("1", [announced("hangs", "image")]);
    await platform.say("2", [announced("photo", "image")]);
    await pass(clock, () => platform.textsIn("2").length > 0);
    expect(platform.textsIn("2")).toEqual(["heard: <image>"]);
    expect(platform.textsIn("1")).toEqual([]);
  });

  it("that fail once are tried again, and those that fail for good are told of once", async () => {
    const clock = manualClock();
    const gateway = await setUp({ clock });
    const { platform } = gateway;
    const bytes = await photo();
    const tries = { flaky: 0, gone: 0 };
    platform.files.set("flaky", async function* () {
      tries.flaky += 1;
      if (tries.flaky === 1) throw new GatewayError("media.unavailable", "not now");
      yield bytes;
    });
    platform.files.set("gone", async function* () {
      tries.gone += 1;
      if (tries.gone > 0) throw new GatewayError("media.unavailable", "never");
      yield bytes;
    });
    await platform.say("1", [announced("flaky", "image"), announced("gone", "image", { label: "photo" })]);
    while (platform.textsIn("1").length === 0) await clock.advance(100);
    expect(tries).toEqual({ flaky: 2, gone: 2 });
    expect(gateway.asked.map(textOf)).toEqual([
      "<image> [I could not use the photo: the download failed. Please send it again.]",
    ]);
  });

  it("of files that are declared too large are never begun", async () => {
    const clock = manualClock();
    const gateway = await setUp({ clock });
    const { platform } = gateway; // it holds no such file and would say so
    const declared = { bytes: 31_457_280, filename: "big.pdf" };
    await platform.say("1", [{ type: "text", text: "notes attached" }, announced("big", "file", declared)]);
    await pass(clock, () => gateway.asked.length > 0);
    const [text, notice] = gateway.asked[0]?.content ?? [];
    expect(text).toMatchObject({ text: "notes attached" });
    expect(notice).toMatchObject({
      text: "[I could not use big.pdf: it has 31.5 MB, and I take at most 20 MB.]",
    });
  });
});

describe("the copy for the agent's tools", () => {
  it("that cannot be written is logged without the file's name, and the message is answered", async () => {
    const clock = manualClock();
    const gateway = await setUp({ clock });
    const { platform } = gateway;
    await writeFile(join(folder, "chats"), "a file stands where the folder should");
    await put(platform, "photo", await photo());
    await platform.say("1", [announced("photo", "image", { filename: "secret name.png" })]);
    await pass(clock, () => gateway.asked.length > 0);
    const [block] = gateway.asked[0]?.content ?? [];
    expect(block).toMatchObject({ type: "image", filename: "secret name.png" });
    expect(block).not.toHaveProperty("path");
    const line = gateway.logged.find(({ level }) => level === "error");
    expect(line).toMatchObject({
      sentence: "a file could not be kept for the agent",
      fields: { code: "ENOTDIR" },
    });
    expect(JSON.stringify(gateway.logged)).not.toContain("secret name");
  });

  it("is made of a voice note that nobody could listen to", async () => {
    const clock = manualClock();
    const gateway = await setUp({ clock, agents: [AGENT] });
    const { platform } = gateway;
    await put(platform, "voice", await voice());
    await platform.say("1", [announced("voice", "audio", { label: "voice note", filename: "note.ogg" })]);
    await pass(clock, () => gateway.asked.length > 0);
    expect(gateway.asked[0]?.content[1]).toMatchObject({ type: "audio", path: "/uploads/note.ogg" });
    const [chat = ""] = await readdir(join(folder, "chats"));
    expect(await readFile(join(folder, "chats", chat, "uploads/note.ogg"))).toEqual(await voice());
  });

  it("stays for the days that the settings say, and no longer", async () => {
    const clock = manualClock();
    const first = await setUp({ clock });
    await put(first.platform, "photo", await photo());
    await first.platform.say("1", [announced("photo", "image", { filename: "red.png" })]);
    await pass(clock, () => first.asked.length > 0);
    await first.close();
    const [chat = ""] = await readdir(join(folder, "chats"));
    const uploads = join(folder, "chats", chat, "uploads");
    const seconds = clock.now() / 1_000 - 2 * 86_400;
    await utimes(join(uploads, "red.png"), seconds, seconds);
    // What is old is looked for at each start.
    const startWith = async (uploadDays: number): Promise<readonly string[]> => {
      await (await setUp({ clock, limits: { uploadDays } })).close();
      return await readdir(uploads);
    };
    expect(await startWith(3)).toEqual(["red.png"]);
    expect(await startWith(1)).toEqual([]);
  });
});
