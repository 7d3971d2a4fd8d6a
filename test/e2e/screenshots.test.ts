import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchBrowser } from "../support/browser.ts";
import { made } from "../support/ffmpeg.ts";
import { fixture } from "../support/kinds.ts";
import { type KindsWorld, kindsWorld } from "../support/kinds-perch.ts";
import { lastTurn } from "../support/models/asked.ts";
import { chatPage } from "../support/telegram/page.ts";

/** A folder for the pictures of docs/media.md; without it there is nothing to do here. */
const SHOTS = process.env["PERCH_SCREENSHOTS"];

const MOST_BYTES = 300_000;
const KINGFISHER = join(import.meta.dirname, "../../assets/demo/kingfisher.png");
const CAN_SEND = "Show me all that you can send.";

/** The agent is a script; what goes in and out around it is real. */
const ANSWERS: readonly (readonly [asked: RegExp, answer: string])[] = [
  [
    /papers/,
    "A **kingfisher**. The invoice is over *88.50*, the briefing wants forty chairs by Tuesday, and `stock.xlsx` has exactly 40.",
  ],
  [/Which bird/, "A **kingfisher**, on a branch over water."],
  [/These two/, "The same bird twice, first *whole*, then from nearer."],
  [
    /kettle/,
    "You say that the blue kettle is on the third shelf, and the pictures come nearer and nearer to the kingfisher.",
  ],
  [/archive/, "There are two files in it: `a.txt` and `../evil.txt`."],
  [
    /all that you can send/,
    [
      "## What I can send",
      "Text with **marks**, and tables:",
      "| Bird | Length | Seen |\n| :-- | --: | :-: |\n| Kingfisher | 17 cm | yes |\n| 翠鳥 | 17 cm | no |",
      '```js\nconst birds = ["kingfisher", "owl"];\n```',
      "![A picture](kingfisher.png)\n![and a drawing, as a picture of it](drawing.svg)",
      "![A GIF](near.gif)",
      "![A video](near.mp4)",
      "![Music](kettle.mp3)",
      "![A voice note](said.ogg)",
      "![The report](report.pdf)\n![The stock](stock.xlsx)",
      "![What I must not send](/etc/passwd)",
    ].join("\n\n"),
  ],
];

let at: KindsWorld;
let browser: Browser;
let film: Buffer;
let photo: Buffer;

describe.skipIf(SHOTS === undefined)("the pictures of docs/media.md", () => {
  beforeAll(async () => {
    const zoom = `zoompan=z='1+on/90':x='iw/2-iw/zoom/2':y='ih/2-ih/zoom/2':d=90:s=640x400:fps=15`;
    const sound = ["-f", "lavfi", "-i", "sine=frequency=440:duration=6"];
    film = Buffer.from(
      await made(".mp4", ["-i", KINGFISHER, ...sound, "-vf", `${zoom},format=yuv420p`, "-shortest"]),
    );
    const gif = await made(".gif", ["-i", KINGFISHER, "-vf", `${zoom},fps=5,scale=320:-1`, "-t", "3"]);
    photo = await sharp(KINGFISHER).jpeg({ quality: 88 }).toBuffer();
    at = await kindsWorld({
      says: ({ body }) => {
        const words = lastTurn(body).texts.join("\n");
        return ANSWERS.find(([asked]) => asked.test(words))?.[1] ?? "I have it.";
      },
      assets: { "near.mp4": film, "near.gif": gif },
    });
    browser = await launchBrowser();
    await mkdir(SHOTS ?? "", { recursive: true });
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await at.close();
  });

  it("the web chat: what is sent, wide and light; what is answered, narrow and dark", async () => {
    const page = await browser.newPage({ viewport: { width: 1_040, height: 900 } });
    await page.goto(at.origin);
    await attach(page, ["kingfisher.jpg", "image/jpeg", photo]);
    await attach(page, ["IMG_4271.heic", "image/heic", await fixture("images/photo.heic")]);
    await attach(page, ["invoice.pdf", "application/pdf", await fixture("two_pages.pdf")]);
    await attach(page, ["brief.docx", "application/octet-stream", await fixture("brief.docx")]);
    await attach(page, ["stock.xlsx", "application/octet-stream", await fixture("docs/table.xlsx")]);
    await say(page, "Which bird is this? And what do the papers say?", "kingfisher");
    await page.getByRole("button", { name: "Record a voice note" }).click();
    await page.getByRole("group", { name: "Recording" }).getByText("0:02").waitFor();
    await page.getByRole("button", { name: "Stop and attach" }).click();
    await page.getByRole("list", { name: "Attached files" }).getByText("Voice note").waitFor();
    await attach(page, ["near.mp4", "video/mp4", film]);
    await say(page, "", "third shelf, and");
    await attach(page, ["archive.zip", "application/zip", await fixture("docs/archive.zip")]);
    await say(page, "", "two files in it");
    expect(await save(page, "media-web.png")).toBeLessThan(MOST_BYTES);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 430, height: 900 });
    await say(page, CAN_SEND, "What I must not send");
    // The answer alone: what is above it is in the first picture.
    await page.evaluate(`(() => {
      let above = [...document.querySelectorAll("#log .message.you")].at(-1);
      while ((above = above.previousElementSibling)) above.hidden = true;
    })()`);
    expect(await save(page, "media-web-narrow.png")).toBeLessThan(MOST_BYTES);
    await page.close();
  }, 120_000);

  it("what reached Telegram", async () => {
    const ada = at.telegram.privateChat({ id: 700_500_001, firstName: "Ada" });
    const until = (words: string) =>
      at.telegram.sentMatching(({ text, caption }) => (text ?? caption ?? "").includes(words));
    ada.sendPhoto(photo, { caption: "Which bird is this?" });
    await until("over water");
    const near = await sharp(photo)
      .extract({ left: 220, top: 80, width: 320, height: 200 })
      .jpeg()
      .toBuffer();
    for (const [n, bytes] of [photo, near].entries())
      ada.sendPhoto(bytes, { mediaGroupId: "two", ...(n === 0 ? { caption: "These two?" } : {}) });
    await until("twice");
    ada.sendVoice(await fixture("voice_known.ogg"), { duration: 6 });
    ada.sendVideoNote(film, { duration: 6 });
    await until("third shelf, and");
    ada.sendDocument(await fixture("docs/archive.zip"), { fileName: "archive.zip" });
    await until("two files in it");
    ada.sendSticker(await sharp(KINGFISHER).resize(512, 320).webp().toBuffer(), {
      emoji: "🐦",
      set: "Birds",
    });
    ada.send({ location: { latitude: 52.52, longitude: 13.405 } });
    ada.send({ contact: { first_name: "Ben", phone_number: "+0 000 4271" } });
    ada.send({ dice: { emoji: "🎲", value: 4 } });
    await until("I have it.");
    ada.sendText(CAN_SEND);
    await until("What I must not send");
    const page = await browser.newPage({ viewport: { width: 1_040, height: 900 } });
    await page.setContent(await chatPage(at.telegram, ada.chatId));
    expect(await save(page, "media-telegram.png")).toBeLessThan(MOST_BYTES);
    await page.close();
  }, 120_000);
});

async function attach(
  page: Page,
  [name, mimeType, bytes]: readonly [string, string, Uint8Array],
): Promise<void> {
  await page.setInputFiles("#files", { name, mimeType, buffer: Buffer.from(bytes) });
  await page.getByRole("list", { name: "Attached files" }).getByText(name).waitFor();
}

async function say(page: Page, words: string, answered: string): Promise<void> {
  const field = page.getByRole("textbox", { name: "Message" });
  await field.fill(words);
  await field.press("Enter");
  await page.locator("#log .message.agent .answer").getByText(answered).first().waitFor();
}

/** Takes a picture of the whole page, once each picture and film in it is there; gives its bytes. */
async function save(page: Page, name: string): Promise<number> {
  await page.evaluate(`Promise.all([...document.querySelectorAll("img")].map((each) => {
    each.loading = "eager";
    return each.decode();
  }))`);
  // The web chat scrolls within itself, and a film that is not within the window is not drawn.
  const { width } = page.viewportSize() ?? { width: 1_040 };
  const height: number = await page.evaluate(`(() => {
    const inner = document.getElementById("scroll");
    return inner ? innerHeight + inner.scrollHeight - inner.clientHeight : document.documentElement.scrollHeight;
  })()`);
  await page.setViewportSize({ width, height });
  await page.evaluate(`Promise.all([...document.querySelectorAll("audio, video")].map(async (each) => {
    // Played a little, it shows no sign of loading any more.
    each.muted = true;
    await each.play();
    each.pause();
    each.muted = false;
    const there = new Promise((resolve) => each.addEventListener("seeked", resolve, { once: true }));
    each.currentTime = 0.01;
    await there;
    for (let frame = 0; frame < 10; frame += 1) await new Promise(requestAnimationFrame);
  }))`);
  await page.mouse.move(0, 0);
  const shot = await page.screenshot({ animations: "disabled" });
  const small = await sharp(shot).png({ palette: true, quality: 90, compressionLevel: 9 }).toBuffer();
  await writeFile(join(SHOTS ?? "", name), small);
  return small.length;
}
