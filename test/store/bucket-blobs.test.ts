import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import sharp from "sharp";
import { systemClock } from "../../src/core/clock.ts";
import { sharing } from "../../src/media/sharing.ts";
import { inThisProcess } from "../../src/media/workshop.ts";
import { BucketBlobs } from "../../src/store/bucket-blobs.ts";
import { openBucket } from "../../src/store/bucket.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { startBucket } from "../support/bucket.ts";

const ending: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

const HELLO = Buffer.from("hello from one machine");
const REF = `sha256:${createHash("sha256").update(HELLO).digest("hex")}` as const;
const DAY = 24 * 3_600_000;

async function setUp() {
  const server = await startBucket();
  ending.push(() => server.close());
  const folder = async (): Promise<string> => {
    const made = await mkdtemp(join(tmpdir(), "perch-bucket-"));
    ending.push(() => rm(made, { recursive: true, force: true }));
    return made;
  };
  /** A machine of its own, with an empty folder. */
  const machine = async () => {
    const at = await folder();
    const bucket = openBucket(server.settings, systemClock);
    ending.push(() => bucket.close());
    return { at, blobs: new BucketBlobs(at, bucket) };
  };
  return { server, machine };
}

describe("blobs in a bucket", () => {
  it("are there for another machine as soon as their reference is, and brought there once", async () => {
    const { server, machine } = await setUp();
    const [one, two] = [await machine(), await machine()];
    expect(await one.blobs.put(HELLO)).toBe(REF);
    const before = server.calls.length;
    expect(Buffer.from(await two.blobs.read(REF))).toEqual(HELLO);
    expect(await readFile(await two.blobs.here(REF))).toEqual(HELLO);
    const copy = join(two.at, "copy");
    expect([await two.blobs.copyTo(REF, copy), await readFile(copy)]).toEqual([true, HELLO]);
    expect(server.calls.slice(before).map((call) => call.split(" ")[0])).toEqual(["GET"]);
  });

  it.each([
    ["is busy", 503],
    ["breaks the line before it has taken them", "reset"],
    ["breaks the line after it has taken them", "reset after"],
  ] as const)("are put again where the server %s", async (_what, fault) => {
    const { server, machine } = await setUp();
    const { blobs } = await machine();
    server.faults.push(fault);
    await blobs.put(HELLO);
    expect([...server.objects.values()].map(({ bytes }) => bytes)).toEqual([HELLO]);
  });

  it("are no blobs where the bucket cannot be written, and the error names no key", async () => {
    const { server, machine } = await setUp();
    const { blobs } = await machine();
    server.faults.push(503, 503, 503);
    await expect(blobs.put(HELLO)).rejects.toMatchObject({
      code: "store.unavailable",
      message:
        'media in the bucket "media" could not be written (SlowDown, 503); look at its address and its keys',
    });
    const wrong = openBucket({ ...server.settings, secret: "another" }, systemClock);
    ending.push(() => wrong.close());
    await expect(wrong.get("ab/cd")).rejects.toMatchObject({
      message: expect.stringMatching(/^media in the bucket "media" could not be read \(\w+, 403\)/),
    });
  });

  it("say that they are missing where the bucket has none, or other bytes", async () => {
    const { server, machine } = await setUp();
    const [one, two] = [await machine(), await machine()];
    await expect(two.blobs.read(REF)).rejects.toMatchObject({ code: "blob.missing" });
    await one.blobs.put(HELLO);
    for (const [key] of server.objects)
      server.objects.set(key, { bytes: Buffer.from("something else"), putAt: Date.now() });
    await expect(two.blobs.read(REF)).rejects.toMatchObject({ code: "blob.missing" });
    // What came instead is not kept either.
    const left = await readdir(two.at, { recursive: true, withFileTypes: true });
    expect(left.filter((entry) => entry.isFile())).toEqual([]);
  });

  it("are listed by age and removed everywhere but where they were put again", async () => {
    const { server, machine } = await setUp();
    const { blobs } = await machine();
    const refs = await Promise.all([1, 2, 3, 4, 5].map((n) => blobs.put(Buffer.from(`old ${n}`))));
    for (const object of server.objects.values()) object.putAt -= 2 * DAY;
    const young = await blobs.put(Buffer.from("young"));
    const before = Date.now() - DAY;
    const found: string[] = [];
    for await (const page of blobs.olderThan(before, 2)) found.push(...page);
    expect(found.toSorted()).toEqual(refs.toSorted());
    const [first, again] = refs as [(typeof refs)[0], (typeof refs)[0]];
    await blobs.put(Buffer.from("old 2"));
    expect(await Promise.all([first, again, young].map((ref) => blobs.remove(ref, before)))).toEqual([
      true,
      false,
      false,
    ]);
    await expect(blobs.read(first)).rejects.toMatchObject({ code: "blob.missing" });
  });

  it("leave the machine when it has not used them for days, and stay in the bucket", async () => {
    const { machine } = await setUp();
    const { at, blobs } = await machine();
    await blobs.put(HELLO);
    const long = new Date(Date.now() - 10 * DAY);
    await utimes(blobs.pathOf(REF), long, long);
    expect(await blobs.sweep(Date.now() - DAY)).toBe(1);
    expect(await readdir(join(at, REF.slice(7, 9)))).toEqual([]);
    expect(Buffer.from(await blobs.read(REF))).toEqual(HELLO);
  });

  it("are brought to the children of a workshop, and what these make is in the bucket", async () => {
    const { server, machine } = await setUp();
    const [one, two] = [await machine(), await machine()];
    const bytes = await sharp({ create: { width: 64, height: 32, channels: 3, background: "red" } })
      .webp()
      .toBuffer();
    const blob = await one.blobs.put(bytes);
    // A child knows the folder alone.
    const workshop = sharing(inThisProcess(new FileBlobs(two.at)), two.blobs);
    const { media } = await workshop.run(
      "fit",
      {
        file: { blob, mimeType: "image/webp", bytes: bytes.length },
        shows: { image: { types: ["image/png"], bytes: 1_000_000 } },
        imagePixels: 1_000_000,
      },
      new AbortController().signal,
    );
    expect(media.blob).not.toBe(blob);
    expect([...server.objects.keys()]).toContain(`perch/${media.blob.slice(7, 9)}/${media.blob.slice(9)}`);
  });
});
