import { execFileSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { AgentDefinition, Look, Senses } from "../../src/core/agent.ts";
import type { ContentBlock, MediaBlock } from "../../src/core/blocks.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { AttachmentLanes } from "../../src/intake/attachments.ts";
import { lookFor } from "../../src/intake/look.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { Workspaces } from "../../src/store/workspace.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { FFMPEG, NO_FFMPEG } from "../support/ffmpeg.ts";
import { AGENT } from "../support/gateway.ts";
import { reading } from "../support/media.ts";
import { pdf } from "../support/pdf.ts";
import { startTranscriber, type TranscriberServer } from "../support/transcriber.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
const CHAT = 7 as ChatId; // a chat of the test's own

let transcriber: TranscriberServer;
beforeAll(async () => {
  transcriber = await startTranscriber();
});
afterAll(() => transcriber.close());
afterEach(() => {
  transcriber.otherwise = "";
});

type Looking = {
  readonly look: Look;
  /** The chat's folder. */
  readonly folder: string;
  readonly blobs: FileBlobs;
  readonly logged: readonly LoggedLine[];
  readonly put: (path: string, bytes: Uint8Array | string) => Promise<void>;
  readonly textOf: (block: ContentBlock | undefined) => Promise<string>;
};

async function setUp(
  agent: Partial<AgentDefinition> = {},
  senses: Senses = { images: true, pdf: false, audio: false },
  limits: Partial<ReturnType<typeof reading>["limits"]> = {},
): Promise<Looking> {
  const root = await mkdtemp(join(tmpdir(), "perch-look-"));
  const blobs = new FileBlobs(join(root, "blobs"));
  const workspaces = new Workspaces(join(root, "chats"), blobs);
  const folder = workspaces.folderOf(CHAT);
  for (const name of ["uploads", "outputs", "workspace"])
    await mkdir(join(folder, name), { recursive: true });
  const logged: LoggedLine[] = [];
  const usual = reading(blobs, { open: async () => Promise.reject(new Error("not asked for")) });
  const look = lookFor(
    CHAT,
    { ...AGENT, ...agent },
    {
      ...usual,
      limits: { ...usual.limits, ...limits },
      programs: { environment: {}, ffmpeg: FFMPEG },
      log: memoryLog(logged),
      senses: async () => senses,
      workspaces,
      lanes: new AttachmentLanes(),
    },
  );
  return {
    look,
    folder,
    blobs,
    logged,
    put: (path, bytes) => writeFile(join(folder, path), bytes),
    async textOf(block) {
      if (block === undefined || block.type === "text" || block.extract === undefined)
        throw new Error(`no text in ${JSON.stringify(block)}`);
      return Buffer.from(await blobs.read(block.extract.blob)).toString("utf8");
    },
  };
}

const PAGES = ["one", "two", "three", "four", "five"].map((word) => ({ lines: [`This is page ${word}.`] }));

describe("a look at a file of the chat's folder", () => {
  it("gives a photo as what a model takes, under its path", async () => {
    const { look, folder, blobs } = await setUp();
    await copyFile(join(FIXTURES, "exif6.jpg"), join(folder, "uploads", "my photo.jpg"));
    const [block, ...rest] = await look("/uploads/my photo.jpg", {});
    expect(rest).toEqual([]);
    expect(block).toMatchObject({
      type: "image",
      mimeType: "image/jpeg",
      path: "/uploads/my photo.jpg",
      filename: "my photo.jpg",
    });
    const { blob } = block as MediaBlock;
    expect(Buffer.from(await blobs.read(blob)).includes("Exif")).toBe(false);
  });

  it("gives all pages of a PDF, or those that are wanted, and never the file itself for a part of it", async () => {
    const { look, put, textOf } = await setUp();
    await put("outputs/book.pdf", pdf(PAGES));
    const [all] = await look("/outputs/book.pdf", {});
    expect(await textOf(all)).toContain("[page 5]\nThis is page five.");
    expect(all).not.toHaveProperty("part");
    const [some] = await look("/outputs/book.pdf", { from: 1, count: 2 });
    expect(await textOf(some)).toBe("[page 2]\nThis is page two.\n\n[page 3]\nThis is page three.");
    expect(some).toMatchObject({
      part: true,
      note: "5 pages; pages 2 to 3 alone",
      path: "/outputs/book.pdf",
    });
    const [rest] = await look("/outputs/book.pdf", { from: 4 });
    expect(await textOf(rest)).toBe("[page 5]\nThis is page five.");
    const [none] = await look("/outputs/book.pdf", { from: 5, count: 1 });
    expect(await textOf(none)).toBe("[there is no page 6: the document has 5 pages]");
  });

  it("draws pages of a scan, the wanted ones", async () => {
    const { look, put } = await setUp();
    const jpeg = { bytes: await readFile(join(FIXTURES, "photo.jpg")), width: 64, height: 48 };
    await put("uploads/scan.pdf", pdf([{ lines: ["Cover"] }, { jpeg }, { jpeg }]));
    const [block] = await look("/uploads/scan.pdf", { from: 2, count: 1 });
    expect((block as MediaBlock).stills?.map(({ label }) => label)).toEqual(["page 3"]);
  });

  it("gives what is said in a voice note, or in some seconds of it", async () => {
    const { look, folder, textOf } = await setUp({ transcriber: transcriber.transcriber });
    await copyFile(join(FIXTURES, "voice_known.ogg"), join(folder, "uploads", "voice.ogg"));
    transcriber.otherwise = "The blue kettle is on the third shelf.";
    const [all] = await look("/uploads/voice.ogg", {});
    expect(all).toMatchObject({ type: "audio", durationSeconds: 5.8 });
    expect(await textOf(all)).toBe("The blue kettle is on the third shelf.");
    transcriber.otherwise = "third shelf";
    const [some] = await look("/uploads/voice.ogg", { from: 3, count: 2 });
    expect(some).toMatchObject({ durationSeconds: 2, note: "what is heard from 3 s on alone" });
    // Two seconds of one channel of 16 bits at 16 kHz.
    expect(transcriber.uploads.at(-1)?.file).toMatchObject({ mimeType: "audio/wav", bytes: 44 + 2 * 32_000 });
  });

  it.skipIf(NO_FFMPEG)(
    "gives pictures of a video, or of some seconds of it, with what is said there",
    async () => {
      const { look, folder, textOf } = await setUp({ transcriber: transcriber.transcriber });
      transcriber.otherwise = "look at this";
      await copyFile(join(FIXTURES, "video/clip_with_audio.mp4"), join(folder, "uploads", "clip.mp4"));
      const [all] = await look("/uploads/clip.mp4", {});
      expect((all as MediaBlock).stills?.[0]?.label).toBe("0:00");
      expect(await textOf(all)).toBe("look at this");
      const [some] = await look("/uploads/clip.mp4", { from: 1, count: 1 });
      const labels = (some as MediaBlock).stills?.map(({ label }) => label) ?? [];
      expect(labels.length).toBeGreaterThan(0);
      for (const label of labels) expect(label).toMatch(/^0:01/);
      expect((some as MediaBlock).note).toMatch(/^\d frames?, from 0:01 on alone$/);
    },
  );

  it("puts a text that is longer than what is shown where file tools read on", async () => {
    const { look, put, folder } = await setUp();
    await put("workspace/log.txt", Buffer.from("Grüße\r\n".repeat(30_000), "latin1"));
    const [block] = await look("/workspace/log.txt", {});
    expect(block).toMatchObject({ extract: { whole: { path: "/uploads/log.txt.txt" } } });
    expect(await readFile(join(folder, "uploads", "log.txt.txt"), "utf8")).toContain("Grüße");
  });

  it("says in words what is no use, and never how the disk is called", async () => {
    const { look, put, folder } = await setUp();
    await put(
      "uploads/broken.png",
      Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(100, 7)]),
    );
    await put("uploads/empty.bin", "");
    await copyFile(join(FIXTURES, "voice_known.ogg"), join(folder, "uploads", "voice.ogg"));
    const told = [
      ...(await look("/uploads/broken.png", {})),
      ...(await look("/uploads/empty.bin", {})),
      ...(await look("/uploads/voice.ogg", {})),
    ];
    expect(told.map((block) => block.type)).toEqual(["text", "text", "text", "audio"]);
    expect(JSON.stringify(told)).not.toContain(folder);
  });

  it("takes a file of no more bytes than one that is sent", async () => {
    const { look, put, folder } = await setUp({}, undefined, { documentBytes: 1_000, imageBytes: 2_000 });
    await put("uploads/big.pdf", pdf(PAGES));
    await put("uploads/huge.bin", "");
    await truncate(join(folder, "uploads", "huge.bin"), 3_000_000_000);
    for (const name of ["big.pdf", "huge.bin"])
      expect(await look(`/uploads/${name}`, {})).toEqual([
        { type: "text", text: expect.stringContaining("1 KB") },
      ]);
  });
});

describe("a look", () => {
  it.each([
    "/../secret.jpg",
    "/uploads/../../secret.jpg",
    "/uploads/link.jpg",
    "/outputs/up/secret.jpg",
    "/uploads/inner.jpg",
    "/outputs/inner/photo.jpg",
    "/uploads/pipe",
    "/uploads",
    "/",
    "",
    "/etc/hostname",
    "/uploads/photo.jpg\0",
  ])("finds nothing at %j, and waits for nothing", async (path) => {
    const { look, folder } = await setUp();
    await copyFile(join(FIXTURES, "photo.jpg"), join(folder, "..", "secret.jpg"));
    await copyFile(join(FIXTURES, "photo.jpg"), join(folder, "uploads", "photo.jpg"));
    await symlink(join(folder, "..", "secret.jpg"), join(folder, "uploads", "link.jpg"));
    await symlink(join(folder, "uploads"), join(folder, "outputs", "inner"));
    await symlink("photo.jpg", join(folder, "uploads", "inner.jpg"));
    await symlink(join(folder, ".."), join(folder, "outputs", "up"));
    execFileSync("mkfifo", [join(folder, "uploads", "pipe")]);
    expect(await look(path, {})).toEqual([
      { type: "text", text: `[there is no file ${JSON.stringify(path)}]` },
    ]);
  });

  it("ends with its signal", async () => {
    const { look, folder } = await setUp({ transcriber: transcriber.transcriber });
    await copyFile(join(FIXTURES, "voice_known.ogg"), join(folder, "uploads", "voice.ogg"));
    transcriber.otherwise = { fault: "silence" };
    const before = transcriber.uploads.length;
    const ending = new AbortController();
    const looking = look("/uploads/voice.ogg", {}, ending.signal);
    await transcriber.whenUploads(before + 1);
    ending.abort(new Error("the turn is over"));
    await expect(looking).rejects.toThrow("the turn is over");
  });

  it("that something is wrong with is told without the file's name in the log", async () => {
    const { folder } = await setUp();
    const logged: LoggedLine[] = [];
    await copyFile(join(FIXTURES, "photo.jpg"), join(folder, "uploads", "ada-and-bob.jpg"));
    const broken = lookFor(CHAT, AGENT, {
      ...(await partsThatFail(folder)),
      log: memoryLog(logged),
    });
    expect(await broken("/uploads/ada-and-bob.jpg", {})).toEqual([
      { type: "text", text: '["/uploads/ada-and-bob.jpg" could not be opened]' },
    ]);
    expect(JSON.stringify(logged)).toContain("could not be looked at");
    expect(JSON.stringify(logged)).not.toContain("ada-and-bob");
  });
});

/** What a look takes, whose agent cannot be asked for its senses. */
async function partsThatFail(folder: string) {
  const blobs = new FileBlobs(join(folder, "..", "blobs"));
  return {
    ...reading(blobs, { open: async () => Promise.reject(new Error("not asked for")) }),
    senses: async (): Promise<Senses> => Promise.reject(new Error("no senses for ada-and-bob.jpg")),
    workspaces: new Workspaces(join(folder, ".."), blobs),
    lanes: new AttachmentLanes(),
  };
}
