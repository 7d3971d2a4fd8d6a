import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Unfetched } from "../../src/core/blocks.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import { storyOf } from "../../src/store/queue.ts";
import { manualClock } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";

const PHOTO = await readFile(join(import.meta.dirname, "../fixtures/media/photo.jpg"));
const VOICE = await readFile(join(import.meta.dirname, "../fixtures/media/voice_known.ogg"));
const CLIP = await readFile(join(import.meta.dirname, "../fixtures/media/video/clip_with_audio.mp4"));
const GROUP = { chat: "g1", kind: "group" } as const;

let gateway: TestGateway & { clock: ReturnType<typeof manualClock> };
afterEach(() => gateway.close());

async function setUp(options: TestGatewayOptions = {}): Promise<typeof gateway> {
  const clock = manualClock();
  gateway = { ...(await testGateway({ clock, ...options })), clock };
  return gateway;
}

const photo = (ref: string): Unfetched => ({
  type: "unfetched",
  kind: "image",
  ref,
  declared: { label: "photo" },
});

async function* bytesOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

describe("a reply to a picture", () => {
  it("complaint 35: brings the picture along, marked as quoted, however old it is", async () => {
    const { platform, clock, asked, blobs, database } = await setUp();
    platform.files.set("old", () => bytesOf(PHOTO));
    const quote = { text: "[photo]", from: "Tom", ref: "long ago", media: [photo("old")] };
    await platform.say("g1", "what is it?", { place: GROUP, quote });
    await clock.advance(300);
    await platform.until((shown) => shown.length >= 1);
    const [frame, image, question] = asked[0]!.content;
    expect([frame, question]).toEqual([
      { type: "text", text: "[from Ada (1)]\n[in reply to a message from Tom:]\n> [photo]" },
      { type: "text", text: "what is it?" },
    ]);
    if (image?.type !== "image") throw new Error("no picture came along");
    expect(image).toMatchObject({ mimeType: "image/jpeg", quoted: true });
    expect((await blobs.read(image.blob)).length).toBe(image.bytes);
    expect((await storyOf(database, 1))?.attachments).toEqual([
      { quoted: true, state: "done", outcome: "seen", notice: "", attempts: 1 },
    ]);
  });

  it("tells the agent, and not the person, of one that cannot be had", async () => {
    const { platform, clock, asked } = await setUp();
    await platform.say("c1", "what is it?", { quote: { text: "[photo]", media: [photo("gone")] } });
    await clock.whenTimer(2_000);
    await clock.advance(2_000);
    await platform.until((shown) => shown.length >= 1);
    expect(textOf(asked[0]!)).toBe(
      "[in reply to a message:]\n> [photo] " +
        "[I could not use the photo: the download failed. Please send it again.] what is it?",
    );
    expect(platform.shown).toHaveLength(1);
  });

  it("does not bring it a second time where the picture itself is in the same turn", async () => {
    const { platform, clock, asked } = await setUp();
    platform.files.set("new", () => bytesOf(PHOTO));
    const sent = await platform.say("c1", [photo("new")]);
    await clock.advance(500);
    await platform.say("c1", "what is it?", {
      quote: { text: "[photo]", ref: sent.ref, media: [photo("new")] },
    });
    await clock.advance(2_000);
    await platform.until((shown) => shown.length >= 1);
    expect(textOf(asked[0]!)).toBe("<image> [in reply to a message:]\n> [photo] what is it?");
  });

  it("is a command still, and fetches nothing then", async () => {
    const { platform, clock, asked, database } = await setUp();
    await platform.say("c1", "/new", { quote: { text: "[photo]", media: [photo("never")] } });
    await clock.advance(60_000);
    expect(asked).toEqual([]);
    expect(platform.textsIn("c1")).toHaveLength(1);
    expect(await database.db.selectFrom("attachment").selectAll().execute()).toEqual([]);
  });
});

describe("what people send in several messages", () => {
  it("complaint 33: is one turn where a comment is followed by what it forwards", async () => {
    const { platform, clock, asked } = await setUp();
    platform.files.set("f", () => bytesOf(Buffer.from("the minutes")));
    const file: MessageEvent["content"] = [
      { type: "unfetched", kind: "file", ref: "f", declared: { filename: "minutes.txt" } },
    ];
    await platform.say("c1", "sum this up");
    await clock.advance(90);
    await platform.say("c1", file, { forward: { from: "Tom" } });
    await clock.advance(2_000);
    await platform.until((shown) => shown.length >= 1);
    expect(asked.map(textOf)).toEqual([
      "sum this up [forwarded from Tom; lines with > are their words] <file>",
    ]);
  });

  it("complaint 25: are all there with their bytes, not only the one with the caption", async () => {
    const { platform, clock, asked, blobs } = await setUp();
    platform.files.set("p", () => bytesOf(PHOTO));
    await platform.say("c1", [photo("p")], { albumId: "a" });
    await platform.say("c1", [{ type: "text", text: "compare" }, photo("p")], { albumId: "a" });
    await platform.say("c1", [photo("p")], { albumId: "a" });
    await clock.advance(1_000);
    await platform.until((shown) => shown.length >= 1);
    expect(textOf(asked[0]!)).toBe("<image> compare <image> <image>");
    for (const block of asked[0]!.content)
      if (block.type !== "text") expect((await blobs.read(block.blob)).length).toBe(block.bytes);
  });

  it("keeps what could be fetched of an album in its order, with words in the place of the rest", async () => {
    const { platform, clock, asked } = await setUp();
    platform.files.set("p", () => bytesOf(PHOTO));
    platform.files.set("broken", () => bytesOf(PHOTO.subarray(0, 40)));
    await platform.say("c1", [photo("p")], { albumId: "a" });
    await platform.say("c1", [photo("broken")], { albumId: "a" });
    await platform.say("c1", [photo("p")], { albumId: "a" });
    await clock.advance(1_000);
    await platform.until((shown) => shown.length >= 2);
    const sentence = "I could not use the photo: it is damaged, or not what it says it is.";
    expect(textOf(asked[0]!)).toBe(`<image> [${sentence}] <image>`);
    expect(platform.textsIn("c1")[0]).toBe(sentence);
  });

  it("keeps albums of one name apart that come to two chats at once", async () => {
    const { platform, clock, asked } = await setUp();
    platform.files.set("p", () => bytesOf(PHOTO));
    for (const chat of ["c1", "c2", "c1", "c2"]) await platform.say(chat, [photo("p")], { albumId: "a" });
    await clock.advance(1_000);
    await platform.until((shown) => shown.length >= 2);
    expect(asked.map(textOf)).toEqual(["<image> <image>", "<image> <image>"]);
  });

  it("complaint 41: stays in one thread from turn to turn", async () => {
    const { platform, clock, asked } = await setUp();
    for (const text of ["one", "two"]) {
      await platform.say("c1", text, { whole: true });
      await clock.advance(0);
    }
    expect(asked.map((turn) => turn.thread)).toEqual(["1/helper/1", "1/helper/1"]);
  });
});

describe("a voice note", () => {
  it("complaint 29: is its transcript and a reference in the turn, and none of its bytes", async () => {
    const words = "The tide is at six.";
    const { platform, asked, blobs } = await setUp({
      agents: [
        {
          ...AGENT,
          transcriber: { use: "command", command: [process.execPath, "-p", JSON.stringify(words)] },
        },
      ],
    });
    platform.files.set("v", () => bytesOf(VOICE));
    const note = { label: "voice note", durationSeconds: 40 };
    await platform.say("c1", [{ type: "unfetched", kind: "audio", ref: "v", declared: note }], {
      whole: true,
    });
    await platform.until((shown) => shown.length >= 1);
    const [block, ...more] = asked[0]!.content;
    if (block?.type !== "audio" || !block.extract) throw new Error("there is no transcript");
    expect([more, Buffer.from(await blobs.read(block.extract.blob)).toString()]).toEqual([[], words]);
    expect(JSON.stringify(asked[0]!.content).length).toBeLessThan(1_000);
  });
});

describe("a file that is larger than its platform hands out", () => {
  const setUpBounded = async (): Promise<typeof gateway> => {
    const at = await setUp();
    await at.gateway.opened("toy", { ...(await at.kind.open({}, at.host)), fetchBytes: 10_000_000 });
    return at;
  };
  const pdf = (declared: Unfetched["declared"]): MessageEvent["content"] => [
    { type: "text", text: "notes attached" },
    { type: "unfetched", kind: "file", ref: "big", declared: { filename: "big.pdf", ...declared } },
  ];

  it("complaint 39: is told with that bound, without asking for it, and its caption is kept", async () => {
    const { platform, asked } = await setUpBounded();
    let fetches = 0;
    platform.files.set("big", () => {
      fetches += 1;
      return bytesOf(Buffer.from("%PDF-1.4"));
    });
    await platform.say("c1", pdf({ bytes: 12_345_678 }), { whole: true });
    await platform.until((shown) => shown.length >= 2);
    const sentence = "I could not use big.pdf: it has 12.3 MB, and I take at most 10 MB.";
    expect([platform.textsIn("c1")[0], textOf(asked[0]!), fetches]).toEqual([
      sentence,
      `notes attached [${sentence}]`,
      0,
    ]);
  });

  it("is told with that bound where only the platform knows its size, and is not asked for again", async () => {
    const { platform, asked } = await setUpBounded();
    let fetches = 0;
    platform.files.set("big", () => {
      fetches += 1;
      throw new GatewayError("media.too_large", "file is too big");
    });
    await platform.say("c1", pdf({}), { whole: true });
    await platform.until((shown) => shown.length >= 2);
    const sentence = "I could not use big.pdf: it has over 10 MB, and I take at most 10 MB.";
    expect([platform.textsIn("c1")[0], textOf(asked[0]!), fetches]).toEqual([
      sentence,
      `notes attached [${sentence}]`,
      1,
    ]);
  });
});

describe("a video where nothing looks into videos", () => {
  it("is what its platform shows of it, with its caption and its path, and no word to the person", async () => {
    const { platform, asked, database } = await setUp();
    platform.files.set("clip", () => bytesOf(CLIP));
    platform.files.set("small", () => bytesOf(PHOTO));
    const clip = { type: "unfetched", kind: "video", ref: "clip", thumbnail: "small", declared: {} } as const;
    await platform.say("c1", [{ type: "text", text: "what is this?" }, clip], { whole: true });
    await platform.until((shown) => shown.length >= 1);
    expect(asked[0]!.content).toMatchObject([
      { type: "text", text: "what is this?" },
      { type: "video", mimeType: "video/mp4", path: "/uploads/video-1.mp4", stills: [{ label: "preview" }] },
    ]);
    expect((await storyOf(database, 1))?.attachments).toMatchObject([{ state: "done", outcome: "seen" }]);
  });
});

describe("a message whose only file is no use", () => {
  it("is told to the person and asked of the agent in words, never as an empty turn", async () => {
    const { platform, clock, asked, database } = await setUp();
    platform.files.set("zero", () => bytesOf(new Uint8Array()));
    const file: MessageEvent["content"] = [
      { type: "text", text: " \n" },
      { type: "unfetched", kind: "file", ref: "zero", declared: { filename: "a.pdf" } },
    ];
    await platform.say("c1", file, { whole: true });
    await platform.until((shown) => shown.length >= 2);
    const sentence = "I could not use a.pdf: it is empty.";
    expect(asked[0]!.content).toEqual([{ type: "text", text: `[${sentence}]` }]);
    expect(platform.textsIn("c1")[0]).toBe(sentence);
    expect((await storyOf(database, 1))?.attachments).toEqual([
      { quoted: false, state: "done", outcome: "unreadable", notice: "media.empty", attempts: 1 },
    ]);
    // The name is in its thread now, and nowhere else.
    expect(JSON.stringify(await database.db.selectFrom("attachment").selectAll().execute())).not.toContain(
      "a.pdf",
    );
    await clock.advance(0);
  });
});
