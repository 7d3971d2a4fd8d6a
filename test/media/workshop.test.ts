import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { systemClock } from "../../src/core/clock.ts";
import { inChildren } from "../../src/media/children.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { manualClock, settle } from "../support/clock.ts";
import { MEDIA_LIMITS } from "../support/media.ts";

const SUPPORT = join(import.meta.dirname, "../support");
const HOSTILE = pathToFileURL(join(SUPPORT, "hostile-worker.mjs"));
const REAL = pathToFileURL(join(import.meta.dirname, "../../dist/src/media/worker.js"));
const WORK_SECONDS = 30;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type Described = {
  readonly pid: number;
  readonly environment: Record<string, string>;
  readonly flags: string[];
};

async function setUp(entry = HOSTILE, clock: Clock = systemClock) {
  const folder = await mkdtemp(join(tmpdir(), "perch-workshop-"));
  const logged: LoggedLine[] = [];
  const workshop = inChildren({
    entry,
    blobsFolder: folder,
    workSeconds: WORK_SECONDS,
    path: process.env["PATH"],
    clock,
    log: memoryLog(logged),
  });
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  cleanups.push(() => workshop.close());
  // The hostile worker's jobs are not those of the real one.
  const run = async (what: string, signal = new AbortController().signal, more = {}): Promise<unknown> =>
    await workshop.run("image", { do: what, ...more } as never, signal);
  const child = async (): Promise<Described> => (await run("describe")) as Described;
  return { workshop, run, child, folder, logged };
}

/** Gone, or a zombie that nobody has collected yet. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, "utf8") : "";
  return / Z /.test(stat);
}

const untilGone = (pid: number): Promise<void> =>
  vi.waitFor(() => expect(isGone(pid)).toBe(true), { timeout: 20_000, interval: 10 });

describe("the workshop", () => {
  it("does the real work in a child, bytes by way of the blob store", async () => {
    const { workshop, folder } = await setUp(REAL);
    const blobs = new FileBlobs(folder);
    const bytes = await readFile(join(import.meta.dirname, "../fixtures/media/photo.jpg"));
    const file = { mimeType: "image/jpeg", blob: await blobs.put(bytes), bytes: bytes.length };
    const taken = await workshop.run(
      "image",
      { fetched: { file, called: "the photo" }, limits: MEDIA_LIMITS },
      new AbortController().signal,
    );
    expect(taken).toMatchObject({ outcome: "seen", blocks: [{ type: "image", width: 640, height: 480 }] });
  });

  it("starts no child before there is work, and one is enough for one job after another", async () => {
    const { child } = await setUp();
    const first = await child();
    expect((await child()).pid).toBe(first.pid);
    expect(first.pid).not.toBe(process.pid);
  });

  it("does two jobs at once and no more; the next ones go in the order in which they came", async () => {
    const { run, child } = await setUp();
    const stopped = [new AbortController(), new AbortController()];
    const hanging = stopped.map(({ signal }) => run("wait", signal).catch(() => "aborted"));
    const ended: string[] = [];
    const waiting = ["a", "b", "c"].map(async (name) => {
      await run("echo");
      ended.push(name);
    });
    await settle();
    expect(ended).toEqual([]);
    stopped[0]?.abort();
    await Promise.all(waiting);
    expect(ended).toEqual(["a", "b", "c"]);
    stopped[1]?.abort();
    expect(await Promise.all(hanging)).toEqual(["aborted", "aborted"]);
    expect((await child()).pid).toBeGreaterThan(0);
  });

  it("lets a child see nothing of the environment but where programs are", async () => {
    process.env["PERCH_TEST_SECRET"] = "4271";
    cleanups.push(() => delete process.env["PERCH_TEST_SECRET"]);
    const { child } = await setUp();
    const { environment, flags } = await child();
    const names = Object.keys(environment).filter((name) => !name.startsWith("NODE_CHANNEL"));
    expect(names).toEqual(["PATH", "MALLOC_ARENA_MAX"]);
    for (const flag of flags) expect(flag).toMatch(/^--max-/);
  });

  it("ends a job that takes too long, and only that one", async () => {
    const clock = manualClock();
    const { run, child } = await setUp(HOSTILE, clock);
    const { pid } = await child();
    const hanging = run("hang").catch((error: unknown) => error);
    await clock.whenTimer(WORK_SECONDS * 1_000);
    await clock.advance(WORK_SECONDS * 1_000);
    expect(await hanging).toMatchObject({ code: "media.too_slow" });
    await untilGone(pid);
    expect((await child()).pid).not.toBe(pid);
  });

  it.each(["eat", "eat heap"])(
    "ends a job that is there to %s up the memory, and only that one",
    async (what) => {
      const { run, child } = await setUp();
      const { pid } = await child();
      await expect(run(what)).rejects.toMatchObject({ code: "media.unreadable" });
      expect(isGone(pid)).toBe(true);
      expect((await child()).pid).not.toBe(pid);
    },
  );

  it.skipIf(process.platform !== "linux")("counts the memory of a job's programs with its own", async () => {
    const { run, child } = await setUp();
    const { pid } = await child();
    await expect(run("eat by a program")).rejects.toMatchObject({ code: "media.unreadable" });
    expect(isGone(pid)).toBe(true);
  });

  it.each(["exit", "crash"])("takes a child's %s for a fault of its job alone", async (what) => {
    const { run } = await setUp();
    const jobs = await Promise.allSettled([run("echo"), run(what), run("echo"), run("echo")]);
    expect(jobs.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(jobs[1]).toMatchObject({ reason: { code: "media.unreadable" } });
  });

  it("goes on with a fresh child when somebody else kills one, at work or idle", async () => {
    const { run, child } = await setUp();
    const { pid } = await child();
    const waiting = run("wait").catch((error: unknown) => error);
    process.kill(pid, "SIGKILL");
    expect(await waiting).toMatchObject({ code: "media.unreadable" });
    const next = await child();
    process.kill(next.pid, "SIGKILL");
    await untilGone(next.pid);
    // The system tells of it a moment later.
    await vi.waitFor(async () => expect((await child()).pid).not.toBe(next.pid), 20_000);
  });

  it("is not ended by signals that are meant for the gateway", async () => {
    const { child } = await setUp();
    const { pid } = await child();
    process.kill(pid, "SIGTERM");
    process.kill(pid, "SIGINT");
    expect((await child()).pid).toBe(pid);
  });

  it("tells of an unknown error without what it says", async () => {
    const { run, logged } = await setUp();
    const error = await run("throw").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "media.unreadable", message: "a decoder failed (Error)" });
    expect(logged).toHaveLength(1);
    expect(JSON.stringify(logged)).toContain("hostile-worker");
    expect(JSON.stringify(logged)).not.toContain("TOP-SECRET");
  });

  it("tells a fault of the disk from one of the file, without a path", async () => {
    const { run } = await setUp();
    await expect(run("find the disk full")).rejects.toMatchObject({
      code: "media.unavailable",
      message: "the data folder is of no use now (ENOSPC)",
    });
  });

  it("lives on when a job leaves a rejected promise behind", async () => {
    const { run, child } = await setUp();
    const { pid } = await child();
    expect(await run("throw later")).toBe("done");
    expect((await child()).pid).toBe(pid);
  });

  it("rejects with the caller's own reason when it aborts: before, while it waits, while it works", async () => {
    const { run, child } = await setUp();
    const reason = new Error("the gateway is stopping");
    const caller = new AbortController();
    const jobs = [1, 2, 3].map(() => run("hang", caller.signal).catch((error: unknown) => error));
    await settle();
    caller.abort(reason);
    expect(await Promise.all(jobs)).toEqual([reason, reason, reason]);
    await expect(run("hang", caller.signal)).rejects.toBe(reason);
    expect((await child()).pid).toBeGreaterThan(0);
  });

  it("ends a child that has had no work for a minute", async () => {
    const clock = manualClock();
    const { child } = await setUp(HOSTILE, clock);
    const { pid } = await child();
    await clock.advance(59_000);
    expect((await child()).pid).toBe(pid);
    await clock.advance(59_000);
    expect(isGone(pid)).toBe(false);
    await clock.advance(1_000);
    await untilGone(pid);
    expect((await child()).pid).not.toBe(pid);
  });

  it("leaves no process behind when it is closed, and takes no more work", async () => {
    const { workshop, run, child } = await setUp();
    const { pid } = await child();
    const jobs = ["hang", "hang", "echo"].map((what) => run(what).catch((error: unknown) => error));
    await settle();
    workshop.close();
    for (const error of await Promise.all(jobs)) expect(error).toMatchObject({ code: "media.unreadable" });
    await expect(run("echo")).rejects.toMatchObject({ code: "media.unreadable" });
    await untilGone(pid);
  });

  it("ends the programs that a job has started along with it", async () => {
    const clock = manualClock();
    const { run, folder } = await setUp(HOSTILE, clock);
    const file = join(folder, "program");
    const hanging = run("start a program", new AbortController().signal, { file }).catch(() => "ended");
    const program = await vi.waitFor(() => {
      const pid = Number(readFileSync(file, "utf8"));
      expect(pid).toBeGreaterThan(0);
      return pid;
    }, 20_000);
    await clock.advance(WORK_SECONDS * 1_000);
    expect(await hanging).toBe("ended");
    await untilGone(program);
  });

  it.each(["describe", "wait", "hang"])(
    "leaves no child behind a gateway that was killed (%s)",
    async (what) => {
      const parent = fork(join(SUPPORT, "workshop-parent.mjs"), [what], { execArgv: [] });
      const [pid] = (await once(parent, "message")) as [number];
      parent.kill("SIGKILL");
      await untilGone(pid);
      expect(isGone(pid)).toBe(true);
    },
  );
});
