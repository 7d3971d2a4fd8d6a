import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { refsIn } from "../../src/store/blob-use.ts";
import { forgetChat } from "../../src/store/forget.ts";
import type { ChatId } from "../../src/core/identity.ts";
import type { Place } from "../../src/core/events.ts";
import type { Reply } from "../support/models/server.ts";
import { facts, remembering, type Remembering, setUp } from "./remembering.ts";

const GROUP: Place = { chat: "family", kind: "group" };
const SECRET = "the-word-4711";
const last = (perch: Remembering, chat = "ada"): string => perch.platform.textsIn(chat).at(-1) ?? "";

/** Everything that the database holds, as one text. */
async function everything({ database }: Remembering): Promise<string> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(
    database.db,
  );
  const tables = await Promise.all(
    rows.map(
      async ({ name }) => (await sql<object>`select * from ${sql.table(name)}`.execute(database.db)).rows,
    ),
  );
  return JSON.stringify(tables, (_key, value: unknown) =>
    value instanceof Uint8Array || (value as { type?: unknown } | null)?.type === "Buffer"
      ? Buffer.from(value as Uint8Array).toString("latin1")
      : value,
  );
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** A chat in which the secret is in a message, a file, a fact and a file of the agent's. */
async function spoken(perch: Remembering): Promise<void> {
  perch.note(facts(`knows ${SECRET}`));
  await perch.say("ada", `remember ${SECRET}`);
  await perch.wait(30_000, 1);
  await perch.platform.sendFile("ada", Buffer.from(`a file with ${SECRET}`), "notes.txt");
  await perch.clock.advance(10_000);
  await perch.until(() => perch.platform.textsIn("ada").length === 2);
  const workspace = join(perch.folder, "chats", "1", "workspace");
  await mkdir(workspace, { recursive: true });
  await writeFile(join(workspace, "draft.md"), SECRET);
}

describe("what people ask of memory", () => {
  it("shows what is remembered here, numbered and dated, and forgets one by its number", async () => {
    const perch = await setUp();
    await perch.say("ada", "/memory");
    expect(last(perch)).toBe("I remember nothing yet.");
    perch.note(facts("lives in Basel", "likes tea"));
    await perch.say("ada", "I live in Basel and like tea");
    await perch.wait(30_000, 1);
    await perch.say("ada", "/memory");
    expect(last(perch)).toMatch(/1\. lives in Basel \(\d{4}-\d\d-\d\d\)\n2\. likes tea \(/);
    await perch.say("ada", "/forget 1");
    expect(last(perch)).toBe("Forgotten: 1.");
    await perch.say("ada", "/forget 1");
    expect(last(perch)).toBe("I remember nothing under that number.");
    expect(await perch.remembered()).toEqual(["likes tea"]);
    // The other keeps its number.
    await perch.say("ada", "/memory");
    expect(last(perch)).toContain("2. likes tea");
  });

  it.each(["/forget", "/forget it all", "/forget ALL", "/forget 1x", "/forget all please"])(
    "deletes nothing for %j, and says how it is done",
    async (wish) => {
      const perch = await setUp();
      perch.note(facts("likes tea"));
      await perch.say("ada", "I like tea");
      await perch.wait(30_000, 1);
      await perch.say("ada", wish);
      expect(last(perch)).toContain("Send exactly /forget all");
      expect(await perch.remembered()).toEqual(["likes tea"]);
    },
  );

  it("keeps what is remembered over /new", async () => {
    const perch = await setUp();
    perch.note(facts("likes tea"));
    await perch.say("ada", "I like tea");
    await perch.wait(30_000, 1);
    await perch.say("ada", "/new");
    await perch.say("ada", "what do I like?");
    expect(JSON.stringify(perch.server.requests.at(-1)?.body)).toContain("likes tea");
  });

  it("shows in a group what was said in it to whoever asks, and nothing of their own", async () => {
    const perch = await setUp();
    perch.note(facts("likes tea"));
    await perch.say("ada", "I like tea");
    await perch.wait(30_000, 1);
    perch.note(facts("meets on Fridays"));
    await perch.say("ada", "we meet on Fridays", { place: GROUP });
    await perch.wait(30_000, 2);
    await perch.say("bob", "/memory", { place: GROUP });
    expect(last(perch, "family")).toContain("meets on Fridays");
    expect(last(perch, "family")).not.toContain("tea");
    await perch.say("bob", "/memory");
    expect(last(perch, "bob")).toBe("I remember nothing yet.");
  });

  it("hands out all that is kept of the chat, as a file", async () => {
    const perch = await setUp();
    await spoken(perch);
    await perch.platform.say("ada", "/export", { whole: true });
    const shown = await perch.platform.until((all) => all.some(({ media }) => media.length > 0));
    const [blob] = shown.flatMap(({ media }) => refsIn(media.join(" ")));
    const exported = JSON.parse(Buffer.from(await perch.blobs.read(blob!)).toString("utf8")) as Record<
      string,
      unknown
    >;
    expect(exported["threads"]).toMatchObject([
      {
        thread: "1/helper/1",
        agent: "helper",
        messages: [{ by: "person", text: `remember ${SECRET}` }, { by: "agent" }, {}, {}],
      },
    ]);
    expect(exported["remembered"]).toMatchObject([
      { agent: "helper", facts: [{ number: 1, content: `knows ${SECRET}` }] },
    ]);
    expect(exported["files"]).toEqual([
      { path: "/uploads/notes.txt", bytes: 25 },
      { path: "/workspace/draft.md", bytes: 13 },
    ]);
    expect(shown.at(-1)?.names.join()).toMatch(/export-.*\.json/);
    await perch.say("bob", "/export", { place: GROUP });
    expect(last(perch, "family")).toBe("Only the owner can do that.");
  });
});

describe("/forget all", () => {
  it("deletes messages, media, memory, checkpoints and files, and says how many of each", async () => {
    const perch = await setUp();
    await spoken(perch);
    expect(await everything(perch)).toContain(SECRET);
    await perch.say("bob", "I am another chat");
    await perch.say("ada", "/forget all");
    expect(last(perch)).toBe(
      "Everything of this chat is deleted. Messages: 4. Media: 1. Remembered: 1. Checkpoints: 1. Files: 2.",
    );
    const left = await everything(perch);
    expect(left).not.toContain(SECRET);
    expect(left).not.toContain("notes.txt");
    expect(left).toContain("I am another chat");
    await perch.until(
      async () => (await perch.database.db.selectFrom("forgotten").selectAll().execute()).length === 0,
    );
    expect(await filesIn(join(perch.folder, "chats"))).toEqual([]);
    expect(await filesIn(join(perch.folder, "blobs"))).toEqual([]);
    // It begins anew, in a thread of its own.
    await perch.say("ada", "hello");
    expect(JSON.stringify(perch.server.requests.at(-1)?.body)).not.toContain(SECRET);
    expect(
      await perch.database.db
        .selectFrom("thread_checkpoint")
        .select("thread")
        .distinct()
        .orderBy("thread")
        .execute(),
    ).toEqual([{ thread: "1/helper/2" }, { thread: "2/helper/1" }]);
  });

  it("does not answer again what is handed over again", async () => {
    const perch = await setUp();
    const said = await perch.platform.say("ada", "hello", { whole: true });
    await perch.platform.until((shown) => shown.length >= 1);
    await perch.say("ada", "/forget all");
    await perch.platform.deliver([said]);
    await perch.clock.advance(60_000);
    expect(perch.platform.textsIn("ada")).toHaveLength(2);
  });

  it("is brought back by no turn that was running", async () => {
    const perch = await setUp({ answered: () => `${SECRET}, as you say` });
    let release = (): void => {};
    const free = new Promise<void>((resolve) => (release = resolve));
    const asked = new Promise<void>((resolve) => {
      perch.server.on("request", async () => {
        resolve();
        await free;
      });
    });
    await perch.platform.say("ada", `remember ${SECRET}`, { whole: true });
    await asked;
    await perch.say("ada", "/forget all");
    release();
    await perch.clock.advance(120_000);
    expect(perch.platform.textsIn("ada")).toHaveLength(1);
    expect(await everything(perch)).not.toContain(SECRET);
  });

  it("keeps a file that another chat has, too", async () => {
    const perch = await setUp();
    const photo = randomBytes(2_000).toString("hex");
    for (const chat of ["ada", "bob"]) {
      const ref = perch.platform.files.size;
      await perch.platform.sendFile(chat, Buffer.from(photo), "same.txt");
      expect(perch.platform.files.size).toBe(ref + 1);
      await perch.clock.advance(10_000);
      await perch.until(() => perch.platform.textsIn(chat).length === 1);
    }
    const before = await filesIn(join(perch.folder, "blobs"));
    await perch.say("ada", "/forget all");
    await perch.until(
      async () => (await perch.database.db.selectFrom("forgotten").selectAll().execute()).length === 0,
    );
    expect(await filesIn(join(perch.folder, "blobs"))).toEqual(before);
    await perch.say("bob", "/forget all");
    await perch.until(
      async () => (await perch.database.db.selectFrom("forgotten").selectAll().execute()).length === 0,
    );
    expect(await filesIn(join(perch.folder, "blobs"))).toEqual([]);
  });

  it("is finished by the next start where the process ends behind its commit", async () => {
    const first = await remembering();
    await spoken(first);
    const to = { channel: "toy", chat: "ada" };
    const chat = 1 as ChatId; // the first
    await first.database.db
      .transaction()
      .execute((trx) => forgetChat(trx, { chat, to, person: "ada", now: first.clock.now() }));
    await first.kill();
    expect(await filesIn(join(first.folder, "chats", "1"))).toHaveLength(2);
    const { folder, platform, server, clock } = first;
    const perch = await setUp({ folder, platform, server, manual: clock });
    await perch.until(() => last(perch).startsWith("Everything"));
    expect(last(perch)).toContain("Files: 2.");
    await perch.until(
      async () => (await perch.database.db.selectFrom("forgotten").selectAll().execute()).length === 0,
    );
    expect(await filesIn(join(folder, "chats"))).toEqual([]);
    expect(await filesIn(join(folder, "blobs"))).toEqual([]);
    await server.close();
  });

  it("takes nothing along that came after it", async () => {
    const perch = await setUp();
    await spoken(perch);
    await perch.platform.say("ada", "/forget all", { whole: true });
    await perch.platform.sendFile("ada", Buffer.from("a new file"), "new.txt");
    await perch.clock.advance(10_000);
    await perch.until(() => perch.platform.textsIn("ada").length === 4);
    expect(await readFile(join(perch.folder, "chats", "1", "uploads", "new.txt"), "utf8")).toBe("a new file");
    expect(existsSync(join(perch.folder, "chats", ".forgotten-1"))).toBe(false);
  });

  it("keeps nothing of a file that was still on its way", async () => {
    const perch = await setUp();
    let release = (): void => {};
    const free = new Promise<void>((resolve) => (release = resolve));
    const asked = new Promise<void>((resolve) => {
      perch.platform.files.set("slow", async function* () {
        resolve();
        await free;
        yield Buffer.from(SECRET);
      });
    });
    const declared = { bytes: SECRET.length, filename: "slow.txt" };
    await perch.platform.say("ada", [{ type: "unfetched", kind: "file", ref: "slow", declared }]);
    await asked;
    await perch.say("ada", "/forget all");
    release();
    await perch.until(() => perch.logged.some(({ sentence }) => sentence.includes("forgotten meanwhile")));
    expect(await filesIn(join(perch.folder, "chats"))).toEqual([]);
    expect(await everything(perch)).not.toContain("slow.txt");
  });

  it("leaves a file to the daily survey where others are at work for hours: one of them may be about to name it", async () => {
    const perch = await setUp({ limits: { fetchSeconds: 36_000, stallSeconds: 36_000 } });
    const { platform, database, blobs, clock } = perch;
    const bytes = Buffer.from("the same in two chats");
    const declared = { bytes: bytes.length, filename: "same.txt" };
    const send = (chat: string, ref: string) =>
      platform.say(chat, [{ type: "unfetched", kind: "file", ref, declared }], {
        from: { id: chat, name: chat },
      });
    platform.files.set("at-once", async function* () {
      yield bytes;
    });
    let release = (): void => {};
    const free = new Promise<void>((resolve) => (release = resolve));
    platform.files.set("slow", async function* () {
      await free;
      yield bytes;
    });
    await send("ada", "at-once");
    await perch.until(async () => {
      await clock.advance(2_000);
      return platform.textsIn("ada").length === 1;
    });
    const ref = await blobs.put(bytes);
    await send("bob", "slow");
    await perch.say("ada", "/forget all");
    await perch.until(async () => {
      await clock.advance(60_000);
      return (await database.db.selectFrom("forgotten").selectAll().execute()).length === 0;
    });
    expect(await blobs.read(ref)).toEqual(bytes);
    release();
    await perch.until(async () => {
      await clock.advance(2_000);
      return platform.textsIn("bob").length === 1;
    });
    expect(await blobs.read(ref)).toEqual(bytes);
  });

  it("is the owner's in a group, and leaves what people have said in private", async () => {
    const reply: Reply = facts("meets on Fridays");
    const perch = await setUp({ rules: { owner: "ada" } });
    perch.note(facts("likes tea"));
    await perch.say("ada", "I like tea");
    await perch.wait(30_000, 1);
    perch.note(reply);
    await perch.say("bob", "we meet on Fridays", { place: GROUP });
    await perch.wait(30_000, 2);
    await perch.say("bob", "/forget all", { place: GROUP });
    expect(last(perch, "family")).toBe("Only the owner can do that.");
    await perch.say("ada", "/forget all", { place: GROUP });
    expect(last(perch, "family")).toContain("Remembered: 1.");
    expect(await perch.remembered("ada")).toEqual(["likes tea"]);
    await perch.say("bob", "/memory", { place: GROUP });
    expect(last(perch, "family")).toBe("I remember nothing yet.");
  });
});
