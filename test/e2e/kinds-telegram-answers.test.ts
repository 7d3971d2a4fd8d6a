import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ASSETS, LONG_TEXT } from "../support/kinds.ts";
import { type KindsWorld, kindsWorld } from "../support/kinds-perch.ts";
import { lastTurn } from "../support/models/asked.ts";
import type { Answer, Reply } from "../support/models/server.ts";
import type { SentMessage } from "../support/telegram/sent-log.ts";

let at: KindsWorld;
let people = 700_400_000;
/** What is said to whose words. */
const answers = new Map<string, Reply>();

beforeAll(async () => {
  at = await kindsWorld({
    says: (request) => {
      const reply = answers.get(lastTurn(request.body).texts[0] ?? "") ?? "…";
      return typeof reply === "function" ? reply(request) : reply;
    },
  });
}, 60_000);
afterAll(() => at.close());

/** What somebody gets whom the agent answers so. */
async function sentFor(
  answer: Reply,
  file?: { readonly fileName: string; readonly bytes: Buffer },
): Promise<readonly SentMessage[]> {
  people += 1;
  const ada = at.telegram.privateChat({ id: people, firstName: "Ada" });
  const [question, end] = [`question ${people}`, `end ${people}`];
  answers.set(question, answer);
  answers.set(end, end);
  if (file) ada.sendDocument(file.bytes, { fileName: file.fileName, caption: question });
  else ada.sendText(question);
  await at.telegram.untilSent(ada.chatId, 1);
  // Its answer comes after all that belongs to the first.
  ada.sendText(end);
  await at.telegram.sentMatching(({ text }) => text === end);
  return at.telegram.sentTo(ada.chatId).slice(0, -1);
}

/** A message in a line: how it was sent, as what, what stands below it, and its bytes if they are not the file's own. */
async function inALine({ method, media, caption, text, mediaGroupId }: SentMessage): Promise<string> {
  if (!media) return `${method}: ${text}`;
  const originals = await Promise.all(Object.values(ASSETS).map((bytes) => bytes()));
  const own = originals.some((bytes) => bytes.equals(media.bytes));
  const made = own ? undefined : await sharp(media.bytes).metadata();
  return [
    method,
    media.kind,
    media.kind === "photo" ? undefined : media.fileName,
    made && `made into ${made.format}, ${made.width} × ${made.height}`,
    caption === undefined ? undefined : `“${caption}”`,
    mediaGroupId === undefined ? undefined : "in an album",
  ]
    .filter((part) => part !== undefined)
    .join(", ");
}

const LONG_CAPTION = "It sits there for hours. ".repeat(60).trim();
const CODE = Array.from({ length: 300 }, (_, n) => `export const bird${n} = ["owl", ${n}];`).join("\n");
const WIDE =
  "| Bird | Length | Where |\n| :-- | --: | :-- |\n| Kingfisher | 17 cm | the third bridge behind the mill |\n| Heron | 95 cm | the pond |";
const NARROW = "| Bird | Length |\n| :-- | --: |\n| Owl | 38 cm |\n| 翠鳥 | 17 cm |";

describe("an answer reaches a person on Telegram", () => {
  it.each([
    [
      "a photo between words",
      "Look:\n\n![A **kingfisher**](kingfisher.png)\n\nLike it?",
      ["sendMessage: Look:", "sendPhoto, photo, “A kingfisher”", "sendMessage: Like it?"],
    ],
    [
      "photos beside each other as an album, what Telegram does not show made into what it does",
      "![one](kingfisher.png)\n![two](red.png)\n![three](photo.heic)\n![four](clip.mp4)",
      [
        "sendMediaGroup, photo, “one”, in an album",
        "sendMediaGroup, photo, “two”, in an album",
        "sendMediaGroup, photo, made into jpeg, 640 × 480, “three”, in an album",
        "sendMediaGroup, video, clip.mp4, “four”, in an album",
      ],
    ],
    ["an animation", "![It turns](turning.gif)", ["sendAnimation, animation, turning.gif, “It turns”"]],
    ["a video", "![A clip](clip.mp4)", ["sendVideo, video, clip.mp4, “A clip”"]],
    ["music", "![A song](kettle.mp3)", ["sendAudio, audio, kettle.mp3, “A song”"]],
    ["a voice note", "![Said](said.ogg)", ["sendVoice, voice, said.ogg, “Said”"]],
    [
      "documents as an album of their own",
      "![The report](report.pdf)\n![The stock](stock.xlsx)",
      [
        "sendMediaGroup, document, report.pdf, “The report”, in an album",
        "sendMediaGroup, document, stock.xlsx, “The stock”, in an album",
      ],
    ],
    [
      "a drawing, as a picture of it",
      "![Drawn](drawing.svg)",
      ["sendPhoto, photo, made into png, 1024 × 640, “Drawn”"],
    ],
    [
      "a picture that Telegram would refuse for its sides, as a file",
      "![High](tower.png)",
      ["sendDocument, document, tower.png, “High”"],
    ],
    [
      "a caption that is too long, as text below",
      `![${LONG_CAPTION}](kingfisher.png)`,
      ["sendPhoto, photo", `sendMessage: ${LONG_CAPTION}`],
    ],
    [
      "a wide table, as lines",
      WIDE,
      [
        "sendMessage: Bird: Kingfisher\nLength: 17 cm\nWhere: the third bridge behind the mill\n\nBird: Heron\nLength: 95 cm\nWhere: the pond",
      ],
    ],
    [
      "a picture out of a list",
      "- see ![It](kingfisher.png) there\n- and that",
      ["sendMessage: • see there\n• and that", "sendPhoto, photo, “It”"],
    ],
  ])("%s", async (_what, answer, lines) => {
    const sent = await sentFor(answer);
    expect(await Promise.all(sent.map(inALine))).toEqual(lines);
  });

  it("a text with its marks", async () => {
    const [sent, ...more] = await sentFor(
      "# Birds\n\n**Bold**, *italic*, ~~gone~~, `a**b`, [a link](https://example.org/a).\n\n> quoted\n\n1. one\n   - nested\n2. two\n\n- [x] done\n- [ ] open",
    );
    expect(more).toEqual([]);
    expect(sent?.text).toBe(
      "Birds\n\nBold, italic, gone, a**b, a link.\n\nquoted\n\n1. one\n   • nested\n2. two\n\n☑ done\n☐ open",
    );
    expect(
      sent?.entities.map(({ type, offset, length }) => [type, sent.text?.slice(offset, offset + length)]),
    ).toEqual([
      ["bold", "Birds"],
      ["bold", "Bold"],
      ["italic", "italic"],
      ["strikethrough", "gone"],
      ["code", "a**b"],
      ["text_link", "a link"],
      ["blockquote", "quoted"],
    ]);
  });

  it("a narrow table, drawn, with East Asian letters two columns wide", async () => {
    const [sent, ...more] = await sentFor(NARROW);
    expect(more).toEqual([]);
    expect(sent?.text).toBe("Bird | Length\n-----|-------\nOwl  |  38 cm\n翠鳥 |  17 cm");
    expect(sent?.entities).toEqual([{ type: "pre", offset: 0, length: sent?.text?.length }]);
  });

  it("code over several messages, byte for byte, each of them code of its language", async () => {
    const sent = await sentFor(`\`\`\`ts\n${CODE}\n\`\`\``);
    expect(sent.length).toBeGreaterThan(1);
    expect(sent.map(({ text }) => text).join("\n")).toBe(CODE);
    expect(sent.map(({ entities }) => entities)).toEqual(
      sent.map(({ text }) => [{ type: "pre", offset: 0, length: text?.length, language: "ts" }]),
    );
  });

  it("what must not be sent as words in its place, and all the rest of the answer", async () => {
    const sent = await sentFor(
      "Before.\n\n![Ours](../helper.md)\n\n![Theirs](/etc/passwd)\n\n![Gone](nothing.png)\n\n![The net](https://example.org/x.png)\n\nAfter.",
    );
    expect(sent.map(({ text }) => text)).toEqual([
      [
        "Before.",
        "Ours [helper.md: not a file that may be sent]",
        "Theirs [passwd: not a file that may be sent]",
        "Gone [nothing.png: the file is not there]",
        "The net",
        "After.",
      ].join("\n\n"),
    ]);
    const [{ text = "", entities } = {}] = sent;
    expect(entities).toEqual([
      { type: "text_link", offset: text.indexOf("The net"), length: 7, url: "https://example.org/x.png" },
    ]);
  });

  it("a file that the agent has written, after it has read on in what was sent", async () => {
    const results: unknown[] = [];
    const steps: readonly Answer[] = [
      {
        toolCalls: [{ name: "read_file", args: { file_path: "/uploads/owls.txt", offset: 4_000, limit: 2 } }],
      },
      { toolCalls: [{ name: "write_file", args: { file_path: "/outputs/notes.md", content: "# Owls\n" } }] },
      { text: "Here they are:\n\n![My notes](notes.md)" },
    ];
    const sent = await sentFor(
      ({ body }) => {
        const messages = body["messages"] as readonly { role: string; content: string }[]; // the protocol's shape
        const done = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
        results.splice(0, results.length, ...done);
        return steps[done.length] ?? "…";
      },
      { fileName: "owls.txt", bytes: Buffer.from(LONG_TEXT) },
    );
    expect(results).toEqual([
      expect.stringMatching(/Line 4001: owls sleep by day\.\n.*Line 4002: owls sleep by day\.$/s),
      "Successfully wrote to '/outputs/notes.md'",
    ]);
    expect(sent.map(({ method, caption, text }) => [method, caption ?? text])).toEqual([
      ["sendMessage", "Here they are:"],
      ["sendDocument", "My notes"],
    ]);
    expect(sent[1]?.media).toMatchObject({ fileName: "notes.md", bytes: Buffer.from("# Owls\n") });
  });
});
