import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { MediaBlock, MediaKind, Unfetched } from "../../src/core/blocks.ts";
import type { Reading } from "../../src/media/reading.ts";
import { wavHeader } from "../../src/media/pcm.ts";
import type { SoundJob } from "../../src/media/sound.ts";
import { takeIn } from "../../src/media/take-in.ts";
import type { Taken } from "../../src/media/taken.ts";
import { inThisProcess, type Workshop } from "../../src/media/workshop.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { FFMPEG, made, NO_FFMPEG } from "../support/ffmpeg.ts";
import { MEDIA_LIMITS, reading } from "../support/media.ts";
import { startTranscriber, TRANSCRIBER_KEY, type TranscriberServer } from "../support/transcriber.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
const SAID = "The blue kettle is on the third shelf. Please call the office at half past seven.";

let server: TranscriberServer;
let folder: string;

beforeAll(async () => {
  server = await startTranscriber();
});
afterAll(() => server.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-voice-"));
  server.otherwise = SAID;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function setUp(fields: Partial<Reading> = {}) {
  const logged: LoggedLine[] = [];
  const blobs = new FileBlobs(folder);
  const uploaded = server.uploads.length;
  const take = (
    bytes: Uint8Array,
    declared: Unfetched["declared"] & { kind?: MediaKind } = {},
  ): Promise<Taken> => {
    const { kind = "audio", ...rest } = declared;
    async function* once(): AsyncIterable<Uint8Array> {
      yield bytes;
    }
    return takeIn(
      { type: "unfetched", kind, ref: "r", declared: rest },
      reading(blobs, {
        open: async () => once(),
        transcriber: server.transcriber,
        log: memoryLog(logged),
        ...fields,
      }),
      new AbortController().signal,
    );
  };
  return { blobs, logged, take, uploads: () => server.uploads.slice(uploaded) };
}

const fixture = (name: string): Promise<Uint8Array> => readFile(join(FIXTURES, name));

async function transcript(taken: Taken, blobs: FileBlobs): Promise<string> {
  const block = taken.blocks.at(-1) as MediaBlock | undefined; // asked only where a medium is expected
  if (!block?.extract) throw new Error(`no transcript: ${JSON.stringify(taken)}`);
  expect(block.extract.as).toBe("transcript");
  return new TextDecoder().decode(await blobs.read(block.extract.blob));
}

function tone(seconds: number, level: number): Uint8Array {
  const samples = Int16Array.from({ length: seconds * 16_000 }, (_zero, at) =>
    Math.round(Math.sin(at / 5) * level * 32_767),
  );
  return Buffer.concat([wavHeader(samples.byteLength), Buffer.from(samples.buffer)]);
}

/** Noise, in frames of 12.2 kbit/s (RFC 4867 §5): a byte that says so and 31 of speech. */
const AMR = Buffer.concat([Buffer.from("#!AMR\n"), Buffer.alloc(32 * 50, 0x3c)]);

const noFfmpeg = { programs: { environment: {}, ffmpeg: undefined } };
const machines: readonly (readonly [string, Partial<Reading>])[] = [
  ["without ffmpeg", noFfmpeg],
  ...(FFMPEG === undefined
    ? []
    : [["with ffmpeg", { programs: { environment: {}, ffmpeg: FFMPEG } }] as const]),
];

describe.each(machines)("a voice note %s", (_which, programs) => {
  it.each([
    ["voice_known.ogg", { mimeType: "audio/ogg; codecs=opus" }, "sound.ogg", "audio/ogg"],
    ["voice_known.ogg", { mimeType: "Audio/OGG; codecs=OPUS" }, "sound.ogg", "audio/ogg"],
    ["voice_known.ogg", { filename: "voice.oga" }, "sound.ogg", "audio/ogg"],
    ["voice_known.ogg", { filename: "PTT-20240101-WA0001.opus", kind: "file" }, "sound.ogg", "audio/ogg"],
    ["voice_known.ogg", { filename: "ogg_bytes_named.mp3", kind: "file" }, "sound.ogg", "audio/ogg"],
    ["voice_known.ogg", { mimeType: "application/octet-stream", kind: "file" }, "sound.ogg", "audio/ogg"],
    ["audio/voice_known.mp3", { mimeType: "audio/mpeg" }, "sound.mp3", "audio/mpeg"],
    ["audio/voice_known.m4a", { mimeType: "audio/x-m4a" }, "sound.m4a", "audio/mp4"],
    ["voice_known.webm", { mimeType: "audio/webm" }, "sound.webm", "audio/webm"],
  ] as const)(
    "%s, declared %j, is uploaded as it came under a name that tells what it is",
    async (name, declared, uploadedAs, mimeType) => {
      const { take, blobs, uploads } = setUp(programs);
      const bytes = await fixture(name);
      const taken = await take(bytes, declared);
      expect(taken.outcome).toBe("transcribed");
      expect(await transcript(taken, blobs)).toBe(SAID);
      expect(uploads().map(({ file }) => [file.name, file.mimeType, file.sha256])).toEqual([
        [uploadedAs, mimeType, createHash("sha256").update(bytes).digest("hex")],
      ]);
      expect(taken.blocks[0]).toMatchObject({ type: "audio", mimeType });
    },
  );

  it("has its real length and is kept as it came", async () => {
    const { take } = setUp(programs);
    const bytes = await fixture("voice_known.ogg");
    const taken = await take(bytes, { filename: "note.ogg", durationSeconds: 3 });
    expect(taken.blocks[0]).toMatchObject({ durationSeconds: 5.8, filename: "note.ogg" });
    expect(taken.original).toMatchObject({ mimeType: "audio/ogg", bytes: bytes.length });
  });

  it.each([
    ["holds no sound", "audio/zero_seconds.ogg"],
    ["ends in its first second", "audio/truncated.ogg"],
    ["lasts 60 ms", tone(0.06, 0.5)],
    ["is silent", tone(2, 0.0005)],
  ])("that %s is not asked about", async (_what, source) => {
    const { take, uploads } = setUp(programs);
    const taken = await take(typeof source === "string" ? await fixture(source) : source, {
      label: "voice note",
      durationSeconds: 0,
    });
    expect(taken.outcome).toBe("unreadable");
    expect(taken.notice).toMatchObject({ key: "media.voice_empty", values: { name: "the voice note" } });
    expect(taken.blocks).toHaveLength(1);
    expect(uploads()).toEqual([]);
  });

  it("that is longer than the limit is refused, whatever was declared", async () => {
    const { take, uploads } = setUp({ ...programs, limits: { ...MEDIA_LIMITS, audioSeconds: 3 } });
    const taken = await take(await fixture("voice_known.ogg"), { durationSeconds: 2 });
    expect(taken.notice).toEqual({
      key: "media.voice_too_long",
      values: { name: "the audio", length: "over 3 s", limit: "3 s" },
    });
    expect(uploads()).toEqual([]);
  });

  it("whose end is missing is written down as far as it goes, and says so", async () => {
    const { take } = setUp(programs);
    const taken = await take((await fixture("voice_known.ogg")).subarray(0, 12_000));
    expect(taken.outcome).toBe("transcribed");
    expect(taken.blocks[0]).toMatchObject({ note: "the end is missing" });
  });

  it("is decoded into a private folder, which is gone afterwards, also when the transcriber refuses", async () => {
    const real = inThisProcess(new FileBlobs(folder));
    const used: string[] = [];
    const workshop: Workshop = {
      ...real,
      run(kind, needs, signal) {
        const { into } = needs as SoundJob; // nothing else is asked for here
        expect(statSync(dirname(into)).mode & 0o777).toBe(0o700);
        used.push(into);
        return real.run(kind, needs, signal);
      },
    };
    const { take } = setUp({ ...programs, workshop });
    await take(await fixture("voice_known.ogg"));
    server.reply({ status: 400 });
    await take(await fixture("voice_known.ogg"));
    expect(used).toHaveLength(2);
    expect(used.filter((path) => existsSync(dirname(path)))).toEqual([]);
  });
});

describe("a voice note", () => {
  it("is not fetched when it is declared longer than the limit", async () => {
    const { take, uploads } = setUp({
      open: async () => {
        throw new Error("it was fetched");
      },
    });
    const taken = await take(new Uint8Array(), { durationSeconds: 1_801, label: "voice note" });
    expect(taken.outcome).toBe("too_large");
    expect(taken.notice).toEqual({
      key: "media.voice_too_long",
      values: { name: "the voice note", length: "30 min 01 s", limit: "30 min 00 s" },
    });
    expect(uploads()).toEqual([]);
  });

  it.each([
    "",
    " \n\t",
    "\u0000\u0007",
    "[BLANK_AUDIO]",
    " [ Silence ]\n(music playing) ♪",
    "*sighs*",
    "...",
  ])("whose transcript is %j holds no words", async (text) => {
    server.otherwise = text;
    const { take } = setUp();
    const taken = await take(await fixture("voice_known.ogg"));
    expect(taken.notice?.key).toBe("media.voice_empty");
    expect(taken.blocks).toEqual([
      { type: "text", text: "[I could not use the audio: I heard no words in it.]" },
    ]);
  });

  it("becomes a transcript without control characters and halves of characters", async () => {
    server.otherwise = "  one\u0000\u001b[31m two\r\nthree \ud83d ";
    const { take, blobs } = setUp();
    expect(await transcript(await take(await fixture("voice_known.ogg")), blobs)).toBe(
      "one[31m two\nthree \ufffd",
    );
  });

  it("with a very long transcript is shown by its head and tail, and the whole is kept", async () => {
    server.otherwise = `first ${"word ".repeat(40_000)}last`;
    const { take, blobs } = setUp();
    const taken = await take(await fixture("voice_known.ogg"));
    const text = await transcript(taken, blobs);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(102_400);
    expect(text).toMatch(/^first .* last$/s);
    const { extract } = taken.blocks[0] as MediaBlock; // transcript() has looked
    expect(extract?.whole?.bytes).toBe(Buffer.byteLength(server.otherwise));
  });

  it("becomes a notice when the transcriber refuses it, and nothing of the refusal is logged but its number", async () => {
    server.reply({ status: 400 });
    const { take, uploads, logged } = setUp();
    const taken = await take(await fixture("voice_known.ogg"), { filename: "secret name.ogg" });
    expect(taken.outcome).toBe("unavailable");
    expect(taken.notice?.key).toBe("media.voice_failed");
    expect(uploads()).toHaveLength(1);
    expect(logged.map(({ fields }) => fields["failed"])).toEqual(["the server answered 400"]);
    expect(JSON.stringify([taken, logged])).not.toContain(TRANSCRIBER_KEY);
    expect(JSON.stringify(logged)).not.toContain("secret name");
  });

  it("says that listening is not set up where nobody writes down or hears, and is kept for the agent's tools", async () => {
    const { take, uploads } = setUp({ transcriber: undefined });
    const bytes = await fixture("voice_known.ogg");
    const taken = await take(bytes, { label: "voice note", durationSeconds: 6 });
    expect(taken.outcome).toBe("unavailable");
    expect(taken.notice?.key).toBe("media.voice_unavailable");
    expect(taken.blocks).toEqual([
      {
        type: "text",
        text: "[I could not use the voice note: listening is not set up here. Please write instead.]",
      },
      expect.objectContaining({ type: "audio", mimeType: "audio/ogg", durationSeconds: 6 }),
    ]);
    expect(taken.original).toMatchObject({ mimeType: "audio/ogg", bytes: bytes.length });
    expect(uploads()).toEqual([]);
  });

  it("of a kind that nothing here plays is named so", async () => {
    const { take } = setUp(noFfmpeg);
    const taken = await take(AMR, { label: "voice note" });
    expect(taken.outcome).toBe("unsupported");
    expect(taken.notice).toEqual({
      key: "media.voice_unsupported",
      values: { name: "the voice note", format: "AMR" },
    });
  });
});

describe("a model that hears, without a transcriber", () => {
  const hears = { transcriber: undefined, senses: { images: false, pdf: false, audio: true } };

  it("is given the sound as a WAV of one channel at 16 kHz", async () => {
    const { take, blobs } = setUp(hears);
    const taken = await take(await fixture("voice_known.ogg"), { filename: "note.ogg" });
    expect(taken.outcome).toBe("seen");
    const block = taken.blocks[0] as MediaBlock; // an outcome that is "seen" has one
    expect(block).toMatchObject({ type: "audio", mimeType: "audio/wav", durationSeconds: 5.8 });
    const wav = Buffer.from(await blobs.read(block.blob));
    expect(wav.length).toBe(block.bytes);
    expect([wav.readUInt16LE(22), wav.readUInt32LE(24), wav.readUInt16LE(34)]).toEqual([1, 16_000, 16]);
    expect(wav.readUInt32LE(40)).toBe(wav.length - 44);
    expect(taken.original).toMatchObject({ mimeType: "audio/ogg" });
  });

  it("is given an MP3 as it is", async () => {
    const { take } = setUp(hears);
    const taken = await take(await fixture("audio/voice_known.mp3"));
    expect(taken.blocks[0]).toMatchObject({ mimeType: "audio/mpeg", bytes: 35_335 });
  });

  it("is told of silence and of what cannot be played instead", async () => {
    const { take } = setUp({ ...hears, ...noFfmpeg });
    expect((await take(tone(1, 0))).notice?.key).toBe("media.voice_empty");
    expect((await take(await fixture("audio/voice_known.m4a"))).notice?.key).toBe("media.voice_unsupported");
  });
});

describe.skipIf(NO_FFMPEG)("a sound that only ffmpeg decodes", () => {
  const ffmpeg = FFMPEG ?? ""; // skipped without
  it("is uploaded as a WAV where servers do not take it as it is", async () => {
    const { take, uploads } = setUp({ programs: { environment: {}, ffmpeg } });
    const taken = await take(AMR, { mimeType: "audio/amr" });
    expect(taken.outcome).toBe("transcribed");
    expect(uploads().map(({ file }) => [file.name, file.head.toString("latin1", 0, 4)])).toEqual([
      ["sound.wav", "RIFF"],
    ]);
  });

  it.each([".caf", ".au", ".wma", ".mka"])("is known by its bytes: %s", async (ending) => {
    const { take, uploads } = setUp({ programs: { environment: {}, ffmpeg } });
    const taken = await take(await made(ending, "-f lavfi -i sine=d=1".split(" ")));
    expect(taken.outcome).toBe("transcribed");
    expect(uploads().map(({ file }) => file.name)).toEqual(["sound.wav"]);
  });

  it("is damaged when ffmpeg finds no sound in it", async () => {
    const { take } = setUp({ programs: { environment: {}, ffmpeg } });
    const m4a = await fixture("audio/voice_known.m4a");
    const taken = await take(m4a.subarray(0, 600), { mimeType: "audio/mp4" });
    expect(taken.notice?.key).toBe("media.broken");
  });
});
