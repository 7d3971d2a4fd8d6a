import { readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, it } from "vitest";
import type { BlobRef } from "../../src/core/blocks.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import { refsIn } from "../../src/store/blob-use.ts";
import { AGENT } from "../support/gateway.ts";
import { manualClock } from "../support/clock.ts";
import { remembering, type Remembering } from "./remembering.ts";

const LONG = process.env["PERCH_LONG"] !== undefined;
const STEPS = LONG ? 600 : 80;
const CHATS = ["ada", "bob", "third"];
const HOUR = 3_600_000;

/** The same numbers for the same seed: a run that fails can be run again. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** All blobs that any row names, whatever that row is for, but for the lists of uses themselves; and where they are named. */
async function named({ database, folder }: Remembering): Promise<ReadonlyMap<BlobRef, string>> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(
    database.db,
  );
  const refs = new Map<BlobRef, string>();
  for (const { name } of rows.filter((row) => !["blob_use", "forgotten"].includes(row.name))) {
    const all = (await sql<object>`select * from ${sql.table(name)}`.execute(database.db)).rows;
    for (const row of all)
      for (const value of Object.values(row))
        for (const ref of refsIn(
          value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value),
        ))
          refs.set(ref, name);
  }
  // Also what was summed up is read there.
  for (const path of filesIn(join(folder, "chats")))
    for (const ref of refsIn(readFileSync(path, "latin1"))) refs.set(ref, path);
  return refs;
}

/** What is being written or removed just now is none. */
function filesIn(folder: string): readonly string[] {
  const inside = (path: string): readonly string[] => {
    try {
      return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
        if (/^\.(?:partial|forgotten)-/.test(entry.name)) return [];
        const each = join(path, entry.name);
        return entry.isDirectory() ? inside(each) : [each];
      });
    } catch {
      return [];
    }
  };
  return inside(folder);
}

const there = ({ folder }: Remembering): readonly BlobRef[] =>
  filesIn(join(folder, "blobs")).map((path): BlobRef => `sha256:${path.split("/").slice(-2).join("")}`); // as FileBlobs lays them

it.each(LONG ? [1, 2, 3, 4, 5, 6] : [1, 2])(
  "media stay as long as anything names them, and go when nothing does (seed %i)",
  { timeout: LONG ? 1_200_000 : 120_000 },
  async (seed) => {
    const next = numbers(seed);
    const clock = manualClock();
    const perch = await remembering({
      manual: clock,
      rules: { allow: CHATS, turnsPerHour: 100_000, edits: { running: "wait", answered: "note" } },
      agent: { files: true, limits: { ...AGENT.limits, mediaTurns: 2 } },
      answered: () => (next(4) === 0 ? "here: ![it](/workspace/made.txt)" : "ok"),
    });
    const { platform, folder, gateway } = perch;
    const marked = new Map<string, number>();
    /** The disk's time is not the test's: what was written since has the test's. */
    const mark = (): void => {
      for (const path of filesIn(join(folder, "blobs"))) {
        if (marked.get(path) === statSync(path).mtimeMs) continue;
        utimesSync(path, clock.now() / 1_000, clock.now() / 1_000);
        marked.set(path, statSync(path).mtimeMs);
      }
    };
    const settle = async (): Promise<void> => {
      await perch.until(async () => {
        await clock.advance(3_000);
        const rows = await perch.database.db
          .selectFrom("inbox")
          .select("id")
          .where("state", "in", ["waiting", "claimed"])
          .execute();
        // A turn whose message was taken back is not in the rows any more, and runs.
        return rows.length === 0 && gateway.health().turns === 0;
      });
      mark();
    };
    const said: MessageEvent[] = [];
    try {
      for (const n of [1, 2, 3]) {
        await mkdir(join(folder, "chats", String(n), "workspace"), { recursive: true });
        await writeFile(join(folder, "chats", String(n), "workspace", "made.txt"), `made ${n % 2}`);
      }
      platform.outcome = () =>
        next(6) === 0
          ? new GatewayError("channel.unreachable", "it cannot be reached", { retryAfterMs: 60_000 })
          : "shown";
      for (let step = 0; step < STEPS; step += 1) {
        const chat = CHATS[next(CHATS.length)] ?? "ada";
        const from = { id: chat, name: chat };
        const bytes = Buffer.from(`file ${next(8)}`);
        switch (next(10)) {
          case 0:
          case 1:
          case 2:
          case 3: {
            const ref = `g${step}`;
            platform.files.set(ref, async function* () {
              yield bytes;
            });
            const declared = { bytes: bytes.length, filename: `${bytes.toString().replace(" ", "-")}.txt` };
            said.push(
              await platform.say(chat, [{ type: "unfetched", kind: "file", ref, declared }], { from }),
            );
            break;
          }
          case 4:
            said.push(
              await platform.say(chat, `words ${step} ${"word ".repeat(next(300))}`, { from, whole: true }),
            );
            break;
          case 5:
            await platform.say(chat, ["/compact", "/new", "/export", "/memory"][next(4)] ?? "/new", {
              from,
              whole: true,
            });
            break;
          case 6: {
            const of = said[next(said.length)];
            if (of) await platform.remove(of.place, of.ref);
            break;
          }
          case 7: {
            const of = said[next(said.length)];
            if (of) await platform.edit(of, `now ${step}`);
            break;
          }
          case 8:
            if (next(3) === 0) await platform.say(chat, "/forget all", { from, whole: true });
            break;
          case 9:
            break;
        }
        // What is on its way takes real time: days of the test's must not go by meanwhile, or what was put is old before it is named.
        const settled = next(3) > 0;
        if (settled) await settle();
        else mark();
        for (let hours = settled ? next(30) : 0; hours > 0; hours -= 5) {
          await clock.advance(5 * HOUR);
          mark();
        }
        // Names before files: what is put and named meanwhile is not lost.
        const names = [...(await named(perch))];
        const lying = new Set(there(perch));
        const gone = names.filter(([ref]) => !lying.has(ref));
        // What is being forgotten just now may have lost its name and its file in between.
        const still = gone.length === 0 ? new Map<BlobRef, string>() : await named(perch);
        expect({ step, lost: gone.filter(([ref]) => still.has(ref)) }).toEqual({ step, lost: [] });
      }
      platform.outcome = () => "shown";
      await settle();
      const orphan = await perch.blobs.put(Buffer.from("nobody has said this"));
      mark();
      // Real files take real time, which the test's clock knows nothing of.
      await perch.until(async () => {
        await clock.advance(HOUR);
        const names = await named(perch);
        return !there(perch).includes(orphan) && there(perch).every((ref) => names.has(ref));
      });
      expect(new Set(there(perch))).toEqual(new Set((await named(perch)).keys()));
      for (const chat of CHATS)
        await platform.say(chat, "/forget all", { from: { id: chat, name: chat }, whole: true });
      await perch.until(async () => {
        await clock.advance(60_000);
        return (await perch.database.db.selectFrom("forgotten").selectAll().execute()).length === 0;
      });
      expect(there(perch)).toEqual([]);
      expect(gateway.health().ok).toBe(true);
    } finally {
      await perch.close();
    }
  },
);
