import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import type { MediaKind } from "../../src/core/blocks.ts";
import { systemClock } from "../../src/core/clock.ts";
import { inChildren } from "../../src/media/children.ts";
import { programsOn } from "../../src/media/programs.ts";
import { takeIn } from "../../src/media/take-in.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { memoryLog } from "../support/channel-host.ts";
import { MEDIA_LIMITS, reading } from "../support/media.ts";
import { mutated } from "../support/mutate.ts";

const MANY = process.env["PERCH_LONG"] ? 5_000 : 150;
const MOST_BYTES = 400_000_000;
const FIXTURES = join(import.meta.dirname, "../fixtures/media");
const WORKER = pathToFileURL(join(import.meta.dirname, "../../dist/src/media/worker.js"));
const KINDS: readonly MediaKind[] = ["file", "image", "audio", "video"];
const AT_ONCE = 3;
const WORK_SECONDS = 20;

it(
  `gives each of ${MANY} damaged files one outcome, within its time and its memory`,
  { timeout: 3_600_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "perch-mutations-"));
    const workshop = inChildren({
      entry: WORKER,
      blobsFolder: folder,
      workSeconds: WORK_SECONDS,
      path: process.env["PATH"],
      clock: systemClock,
      log: memoryLog([]),
    });
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown): void => void rejections.push(reason);
    process.on("unhandledRejection", onRejection);
    const peak = watchMemory();
    try {
      const files = await fixtures();
      const blobs = new FileBlobs(folder);
      const programs = await programsOn(process.env);
      const outcomes = new Map<string, number>();
      const slow: string[] = [];
      let seed = 0;
      const workers = Array.from({ length: AT_ONCE }, async () => {
        while (seed < MANY) {
          seed += 1;
          const mine = seed;
          const file = files[mine % files.length] as Fixture; // there are some
          const bytes = mutated(file.bytes, others(files, mine), mine);
          const kind = KINDS[Math.floor(mine / files.length) % KINDS.length] ?? "file";
          const filename = mine % 3 === 0 ? undefined : file.name;
          const taken = await takeIn(
            { type: "unfetched", kind, ref: "r", declared: filename === undefined ? {} : { filename } },
            reading(blobs, {
              open: async () => once(bytes),
              workshop,
              programs,
              limits: { ...MEDIA_LIMITS, workSeconds: WORK_SECONDS },
              // It hears, so that every sound is decoded.
              senses: { images: true, pdf: true, audio: true },
            }),
            new AbortController().signal,
          );
          expect(taken.blocks.length, `seed ${mine}, ${file.name}`).toBeGreaterThan(0);
          if (taken.notice?.key === "media.too_slow") slow.push(`seed ${mine}, ${file.name}`);
          const told = taken.notice ? `${taken.outcome} ${taken.notice.key}` : taken.outcome;
          outcomes.set(told, (outcomes.get(told) ?? 0) + 1);
        }
      });
      await Promise.all(workers);
      if (process.env["PERCH_COUNTS"])
        console.log(
          JSON.stringify({
            files: MANY,
            peakMB: Math.round(peak.bytes() / 1e6),
            slow,
            ...Object.fromEntries(outcomes),
          }),
        );
      expect([...outcomes.values()].reduce((sum, many) => sum + many, 0)).toBe(MANY);
      expect(slow).toEqual([]);
      expect(rejections).toEqual([]);
      expect(peak.bytes()).toBeLessThan(MOST_BYTES);
    } finally {
      peak.stop();
      workshop.close();
      process.off("unhandledRejection", onRejection);
      await rm(folder, { recursive: true, force: true });
    }
  },
);

type Fixture = { readonly name: string; readonly bytes: Buffer };

/** All of the collection but what is large: damage to its head is the same as to that of a small one. */
async function fixtures(): Promise<readonly Fixture[]> {
  const entries = readdirSync(FIXTURES, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const all = await Promise.all(
    entries.map(async ({ name, parentPath }) => ({ name, bytes: await readFile(join(parentPath, name)) })),
  );
  return all.filter(({ bytes }) => bytes.length < 200_000).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function others(files: readonly Fixture[], seed: number): readonly Uint8Array[] {
  return [1, 7, 19].map((step) => files[(seed + step) % files.length]?.bytes ?? new Uint8Array());
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/**
 * The most that this process and all that it has started had in memory together, as Linux counts it, with what several
 * of them share counted once; this one's alone elsewhere.
 */
function watchMemory(): { bytes(): number; stop(): void } {
  let most = 0;
  const look = (): void => {
    const sum = [process.pid, ...startedBy(process.pid)].reduce((bytes, pid) => bytes + resident(pid), 0);
    most = Math.max(most, sum || process.memoryUsage.rss());
  };
  const timer = setInterval(look, 50);
  return { bytes: () => most, stop: () => clearInterval(timer) };
}

function startedBy(pid: number): readonly number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...startedBy(child)]);
}

function resident(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1_024;
}

function read(path: string): string {
  try {
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  } catch {
    return ""; // it ended meanwhile
  }
}
