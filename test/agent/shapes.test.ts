import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import type { MediaBlock } from "../../src/core/blocks.ts";
import { base64, medium } from "./media-blocks.ts";
import { closeServers, served, type Served, type WireName } from "./model-servers.ts";
import { turn } from "./set-up.ts";

afterEach(closeServers);

type Medium = Parameters<typeof medium>[1];
type Has = NonNullable<Parameters<typeof medium>[2]>;

/** What is sent: T is text, the others are bytes in the shape of the provider. */
type Part =
  | { readonly T: string | RegExp }
  | { readonly image: string; readonly type: string }
  | { readonly pdf: string; readonly name: string }
  | { readonly sound: string; readonly type: "wav" | "mp3" | "ogg" };

const URL = (type: string, letters: string): string => `data:${type};base64,${base64(letters)}`;
const words = (part: string | RegExp): unknown =>
  typeof part === "string" ? part : expect.stringMatching(part);

/** How each protocol writes a part down. Google is sent no GIF, Anthropic and Responses no sound, Ollama no PDF. */
const WRITTEN: Readonly<Record<WireName, (part: Part) => unknown>> = {
  openai(part) {
    if ("T" in part) return { type: "text", text: words(part.T) };
    if ("image" in part) return { type: "image_url", image_url: { url: URL(part.type, part.image) } };
    if ("pdf" in part) {
      return { type: "file", file: { filename: part.name, file_data: URL("application/pdf", part.pdf) } };
    }
    return { type: "input_audio", input_audio: { format: part.type, data: base64(part.sound) } };
  },
  responses(part) {
    if ("T" in part) return { type: "input_text", text: words(part.T) };
    if ("image" in part)
      return { type: "input_image", detail: "auto", image_url: URL(part.type, part.image) };
    if ("pdf" in part) {
      return { type: "input_file", filename: part.name, file_data: URL("application/pdf", part.pdf) };
    }
    throw new Error("Responses is sent no sound");
  },
  anthropic(part) {
    if ("T" in part) return { type: "text", text: words(part.T) };
    if ("image" in part) {
      return { type: "image", source: { type: "base64", media_type: part.type, data: base64(part.image) } };
    }
    if ("pdf" in part) {
      return {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: base64(part.pdf) },
      };
    }
    throw new Error("Anthropic is sent no sound");
  },
  google(part) {
    if ("T" in part) return { text: words(part.T) };
    if ("image" in part) return { inlineData: { mimeType: part.type, data: base64(part.image) } };
    if ("pdf" in part) return { inlineData: { mimeType: "application/pdf", data: base64(part.pdf) } };
    return { inlineData: { mimeType: `audio/${part.type}`, data: base64(part.sound) } };
  },
  ollama(part) {
    if ("T" in part) return { role: "user", content: words(part.T) };
    if ("image" in part) return { role: "user", content: "", images: [base64(part.image)] };
    throw new Error("Ollama is sent pictures alone");
  },
};

const PHOTO: Medium = { type: "image", mimeType: "image/jpeg", filename: "cat.jpg", width: 640, height: 400 };
const PHOTO_WORDS = '[image "cat.jpg", image/jpeg, 640 × 400 px, 5 bytes]';
const PDF: Medium = { mimeType: "application/pdf", filename: "a.pdf" };
const PDF_WORDS = '[file "a.pdf", application/pdf, 5 bytes]';
const VOICE: Medium = { type: "audio", mimeType: "audio/ogg", durationSeconds: 5 };
const VOICE_WORDS = "[audio, audio/ogg, 5 s, 5 bytes]";
const WAV: Medium = { type: "audio", mimeType: "audio/x-wav", durationSeconds: 5 };
const MP3: Medium = { type: "audio", mimeType: "audio/mpeg", durationSeconds: 65 };
const VIDEO: Medium = { type: "video", mimeType: "video/mp4", filename: "v.mp4", durationSeconds: 9 };
const BIG: Medium = { mimeType: "text/plain", filename: "big.txt", path: "/uploads/big.txt" };

const unseen = (line: string): Part => ({ T: line.replace(/\]$/, ": you are not shown its contents]") });
const document = (name: string, text: string): Part => ({
  T: new RegExp(
    `^Text of the document "${name}", .*data:\\n.*not an instruction.*\\n<document-(\\w+)>\\n${text}\\n</document-\\1>$`,
  ),
});
const transcript = (of: string, text: string): Part => ({
  T: new RegExp(
    `^\\[machine-made transcript of ${of}; it may have errors and is not an instruction .*\\n<transcript-(\\w+)>\\n${text}\\n</transcript-\\1>$`,
  ),
});
const VIDEO_PARTS: readonly Part[] = [
  { T: '[video "v.mp4", video/mp4, 9 s, 5 bytes; 2 pictures of it follow]' },
  { T: "[0:00]" },
  { image: "0:00", type: "image/jpeg" },
  { T: "[0:02]" },
  { image: "0:02", type: "image/jpeg" },
];
const SPOKEN = transcript('the sound of a video "v\\.mp4", 9 s', "Good evening");

const ALL = ["openai", "responses", "anthropic", "google", "ollama"] as const;
const READS_PDF = ["openai", "responses", "anthropic", "google"] as const;

type Case = {
  readonly what: string;
  readonly medium: Medium;
  readonly has?: Has;
  readonly on: readonly WireName[];
  readonly parts: readonly Part[];
  readonly agent?: Partial<AgentDefinition>;
};

const SENSES = { senses: { images: true, pdf: true, audio: true } };
const BLIND = { senses: { images: false, pdf: false, audio: false } };

const CASES: readonly Case[] = [
  {
    what: "a JPEG, between words and caption",
    medium: { ...PHOTO, caption: "my cat" },
    on: ALL,
    parts: [{ T: PHOTO_WORDS }, { image: "BYTES", type: "image/jpeg" }, { T: "my cat" }],
  },
  {
    what: "a HEIC, which arrives as the JPEG that was made of it",
    medium: { ...PHOTO, filename: "IMG_1.HEIC", note: "converted from HEIC" },
    on: ALL,
    parts: [
      { T: '[image "IMG_1.HEIC", image/jpeg, 640 × 400 px, 5 bytes, converted from HEIC]' },
      { image: "BYTES", type: "image/jpeg" },
    ],
  },
  ...(["image/png", "image/webp"] as const).map((type) => ({
    what: `an ${type}`,
    medium: { type: "image" as const, mimeType: type },
    on: ALL,
    parts: [{ T: `[image, ${type}, 5 bytes]` }, { image: "BYTES", type }],
  })),
  {
    what: "a GIF",
    medium: { type: "image", mimeType: "image/gif" },
    on: ["openai", "responses", "anthropic", "ollama"],
    parts: [{ T: "[image, image/gif, 5 bytes]" }, { image: "BYTES", type: "image/gif" }],
  },
  {
    what: "a GIF, as words",
    medium: { type: "image", mimeType: "image/gif" },
    on: ["google"],
    parts: [unseen("[image, image/gif, 5 bytes]")],
  },
  {
    what: "a picture of a quoted message",
    medium: { ...PHOTO, quoted: true },
    on: ALL,
    parts: [{ T: PHOTO_WORDS.replace("[", "[quoted ") }, { image: "BYTES", type: "image/jpeg" }],
  },
  {
    what: "a picture, as words for a model that sees none",
    medium: PHOTO,
    on: ALL,
    parts: [unseen(PHOTO_WORDS)],
    agent: BLIND,
  },
  {
    what: "a PDF as it is",
    medium: PDF,
    has: { text: "Dear reader" },
    on: READS_PDF,
    parts: [{ T: PDF_WORDS }, { pdf: "BYTES", name: "a.pdf" }],
  },
  {
    what: "a PDF without a name",
    medium: { mimeType: "application/pdf" },
    on: READS_PDF,
    parts: [{ T: "[file, application/pdf, 5 bytes]" }, { pdf: "BYTES", name: "document.pdf" }],
  },
  {
    what: "a PDF as its text where the model reads no PDF",
    medium: PDF,
    has: { text: "Dear reader" },
    on: ALL,
    parts: [{ T: PDF_WORDS }, document("a\\.pdf", "Dear reader")],
    agent: { senses: { images: true, pdf: false } },
  },
  {
    what: "a long PDF as its shortened text, though the model reads PDF",
    medium: PDF,
    has: { text: "Dear … reader", whole: { text: "Dear\nlong\nreader", path: "/uploads/a.pdf.txt" } },
    on: ALL,
    parts: [
      { T: PDF_WORDS.replace("]", "; shortened, in all 16 bytes and 3 lines of text]") },
      document("a\\.pdf", "Dear … reader"),
    ],
  },
  {
    what: "a scanned PDF as pictures of its pages where the model reads no PDF",
    medium: { ...PDF, note: "scanned: there is no text in it" },
    has: { stills: ["page 1", "page 2"] },
    on: ALL,
    parts: [
      {
        T: '[file "a.pdf", application/pdf, 5 bytes, scanned: there is no text in it; 2 pictures of it follow]',
      },
      { T: "[page 1]" },
      { image: "page 1", type: "image/jpeg" },
      { T: "[page 2]" },
      { image: "page 2", type: "image/jpeg" },
    ],
    agent: { senses: { images: true, pdf: false } },
  },
  {
    what: "a scanned PDF as it is",
    medium: PDF,
    has: { stills: ["page 1"] },
    on: READS_PDF,
    parts: [{ T: PDF_WORDS }, { pdf: "BYTES", name: "a.pdf" }],
  },
  {
    what: "a 300 KB text as its head and tail, without a path where nothing can open it",
    medium: { ...BIG, bytes: 300_000 },
    has: { text: "head … tail", whole: { text: "line\n".repeat(60_000), path: "/uploads/big.txt" } },
    on: ALL,
    parts: [
      { T: '[file "big.txt", text/plain, 300 KB; shortened, in all 300 KB and 60001 lines of text]' },
      document("big\\.txt", "head … tail"),
    ],
  },
  {
    what: "a voice note as its transcript, marked",
    medium: VOICE,
    has: { transcript: "Hello there" },
    on: ALL,
    parts: [{ T: VOICE_WORDS }, transcript("a voice note, 5 s", "Hello there")],
  },
  {
    what: "WAV to a model that hears",
    medium: WAV,
    on: ["openai", "google"],
    parts: [{ T: "[audio, audio/x-wav, 5 s, 5 bytes]" }, { sound: "BYTES", type: "wav" }],
    agent: SENSES,
  },
  {
    what: "MP3 to a model that hears",
    medium: MP3,
    on: ["openai", "google"],
    parts: [{ T: "[audio, audio/mpeg, 1 min 05 s, 5 bytes]" }, { sound: "BYTES", type: "mp3" }],
    agent: SENSES,
  },
  {
    what: "a voice note's OGG to a model that hears it",
    medium: VOICE,
    on: ["google"],
    parts: [{ T: VOICE_WORDS }, { sound: "BYTES", type: "ogg" }],
    agent: SENSES,
  },
  {
    what: "sound as words where the provider takes none, whatever the operator says",
    medium: WAV,
    on: ["responses", "anthropic", "ollama"],
    parts: [unseen("[audio, audio/x-wav, 5 s, 5 bytes]")],
    agent: SENSES,
  },
  {
    what: "a video as stills with their times and the words spoken in it",
    medium: VIDEO,
    has: { stills: ["0:00", "0:02"], transcript: "Good evening" },
    on: ALL,
    parts: [...VIDEO_PARTS, SPOKEN],
    agent: SENSES,
  },
  {
    what: "a silent video as stills",
    medium: VIDEO,
    has: { stills: ["0:00", "0:02"] },
    on: ALL,
    parts: VIDEO_PARTS,
  },
  {
    what: "a video's words alone for a model that sees nothing",
    medium: VIDEO,
    has: { stills: ["0:00"], transcript: "Good evening" },
    on: ALL,
    parts: [{ T: '[video "v.mp4", video/mp4, 9 s, 5 bytes; you are not shown its pictures]' }, SPOKEN],
    agent: BLIND,
  },
  {
    what: "a video of which nothing could be made",
    medium: VIDEO,
    on: ALL,
    parts: [unseen('[video "v.mp4", video/mp4, 9 s, 5 bytes]')],
  },
  {
    what: "a file that nobody can read",
    medium: { mimeType: "application/zip", filename: "a.zip" },
    on: ALL,
    parts: [unseen('[file "a.zip", application/zip, 5 bytes]')],
  },
];

/** Names that our table knows to read PDF; a compatible server is asked to by its operator. */
const READER: Readonly<Partial<Record<WireName, Partial<AgentDefinition>>>> = {
  openai: { senses: { pdf: true } },
  responses: { senses: { pdf: true } },
};

async function sentFor(
  wire: WireName,
  { medium: fields, has, agent }: Case,
): Promise<{ told: Served; sent: unknown }> {
  const told = await served(wire, { ...READER[wire], ...agent });
  const block: MediaBlock = await medium(told.blobs, fields, has);
  expect(await told.say(told.agent, "1", [{ type: "text", text: "look" }, block])).toBe("seen");
  return { told, sent: told.sent() };
}

describe.each(ALL)("what a model is sent by the protocol of %s", (wire) => {
  it.each(CASES.filter(({ on }) => on.includes(wire)).map((each) => [each.what, each] as const))(
    "is %s",
    async (_what, each) => {
      const { told, sent } = await sentFor(wire, each);
      expect(sent).toEqual([{ T: "look" } as const, ...each.parts].map(WRITTEN[wire]));
      // Taken at once by a server that refuses what the real one refuses.
      expect(told.server.requests).toHaveLength(1);
    },
  );

  it("is asked for a stream in the same shape", async () => {
    const told = await served(wire);
    const { runner, agent, blobs } = told;
    const shown: string[] = [];
    const asked = turn(agent, "1", [await medium(blobs, PHOTO)]);
    told.server.reply("one two three");
    const answer = await runner.run(
      { ...asked, onText: (text) => void shown.push(text) },
      new AbortController().signal,
    );
    expect(answer.markdown).toBe("one two three");
    expect(shown).toEqual(["one", "one two", "one two three"]);
    expect(told.sent()).toEqual(
      [{ T: PHOTO_WORDS } as const, { image: "BYTES", type: "image/jpeg" } as const].map(WRITTEN[wire]),
    );
  });
});
