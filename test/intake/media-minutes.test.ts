import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { afterEach, describe, expect, it } from "vitest";
import type { BoundNow } from "../../src/core/budget.ts";
import type { Bounded } from "../../src/core/bounds.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { AttachmentLanes, type AttachmentParts, fetchAttachment } from "../../src/intake/attachments.ts";
import { lookFor } from "../../src/intake/look.ts";
import { MinutesUnderWay } from "../../src/intake/media-minutes.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import type { Database } from "../../src/store/database.ts";
import { HOLD_MS } from "../../src/store/renew.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { Workspaces } from "../../src/store/workspace.ts";
import { manualClock } from "../support/clock.ts";
import { FFMPEG } from "../support/ffmpeg.ts";
import { AGENT, testGateway } from "../support/gateway.ts";
import { reading } from "../support/media.ts";
import { startTranscriber } from "../support/transcriber.ts";

const NOW = 1_700_000_000_000;
const CHAT = 7 as ChatId; // a chat of the test's own

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** Somebody who may have ten seconds listened to. */
const TEN: BoundNow = {
  scope: "person",
  channel: "toy",
  subject: "ada",
  measure: "media",
  limit: 10,
  from: NOW,
  until: NOW + 86_400_000,
};
const BOUNDED: Bounded = {
  payer: { channel: "toy", chat: CHAT, place: "ada", agent: "helper" },
  timeZone: "UTC",
  warnPercent: 100,
  at: () => [TEN],
};

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), "perch-minutes-"));
  ends.push(() => rm(folder, { recursive: true, force: true }));
  const database: Database = await openSqlite(join(folder, "perch.db"));
  ends.push(() => database.close());
  return { folder, database, clock: manualClock(NOW) };
}

describe("a recording that is under way", () => {
  it("counts before it is counted, and once where it is taken in again", async () => {
    const { database, clock } = await setUp();
    const all = new MinutesUnderWay();
    const [one, other] = [all.open(database, clock, BOUNDED), all.open(database, clock, BOUNDED)];
    expect(await one.take(6)).toBeUndefined();
    expect(await one.take(6)).toBeUndefined();
    expect(await other.take(6)).toEqual({ scope: "person", limit: 10, left: 4 });
    one.end();
    expect(await other.take(6)).toBeUndefined();
  });

  it("is under way no more where it could not be counted", async () => {
    const { folder, database, clock } = await setUp();
    const server = await startTranscriber();
    ends.push(() => server.close());
    server.otherwise = "blue kettle";
    const blobs = new FileBlobs(join(folder, "blobs"));
    const workspaces = new Workspaces(join(folder, "chats"), blobs);
    const uploads = join(workspaces.folderOf(CHAT), "uploads");
    await mkdir(uploads, { recursive: true });
    const sound = await readFile(join(import.meta.dirname, "../fixtures/media/voice_known.ogg"));
    await writeFile(join(uploads, "voice.ogg"), sound);
    const look = lookFor(
      CHAT,
      { ...AGENT, transcriber: server.transcriber },
      {
        ...reading(blobs, { open: async () => Promise.reject(new Error("not asked for")), clock }),
        programs: { environment: {}, ffmpeg: FFMPEG },
        senses: async () => ({ images: false, pdf: false, audio: false }),
        workspaces,
        lanes: new AttachmentLanes(),
      },
      { database, bounded: BOUNDED },
    );
    await sql`create trigger full before insert on use_count begin select raise(abort, 'full'); end`.execute(
      database.db,
    );
    await expect(look("/uploads/voice.ogg", {})).rejects.toThrow("full");
    await sql`drop trigger full`.execute(database.db);
    expect(await look("/uploads/voice.ogg", {})).toMatchObject([{ extract: { as: "transcript" } }]);
  });
});

describe("an attachment of whom nobody knows what bounds them", () => {
  it("is given back, and not kept from whoever comes next", async () => {
    const clock = manualClock(NOW);
    const gateway = await testGateway({ clock });
    gateway.platform.files.set("photo", () => new ReadableStream<Uint8Array>().values());
    await gateway.platform.say("ada", [{ type: "unfetched", kind: "image", ref: "photo", declared: {} }]);
    await gateway.kill();
    ends.push(() => rm(gateway.folder, { recursive: true, force: true }));
    const database = await openSqlite(join(gateway.folder, "perch.db"));
    ends.push(() => database.close());
    const blobs = new FileBlobs(join(gateway.folder, "blobs"));
    const by = {
      ...reading(blobs, { open: async () => Promise.reject(new Error("not asked for")) }),
      database,
      owner: "other",
      clock: manualClock(NOW + 2 * HOLD_MS),
      workspaces: new Workspaces(join(gateway.folder, "chats"), blobs),
      channel: () => ({}) as ReturnType<AttachmentParts["channel"]>, // nothing is asked of it
      agent: () => AGENT,
      senses: async () => ({ images: true, pdf: false, audio: false }),
      names: () => [],
      context: async () => 0,
      lanes: new AttachmentLanes(),
      bounded: async () => Promise.reject(new Error("the store is away")),
      closing: new AbortController().signal,
    };
    await expect(fetchAttachment(1, by, { alone: false })).rejects.toThrow("the store is away");
    await by.clock.advance(HOLD_MS);
    expect(await database.db.selectFrom("attachment").select(["state", "until"]).execute()).toEqual([
      { state: "waiting", until: 0 },
    ]);
  });
});
