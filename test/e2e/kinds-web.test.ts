import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchBrowser } from "../support/browser.ts";
import { NO_FFMPEG } from "../support/ffmpeg.ts";
import { FILES, fixture, type ShownTurn, turnIn } from "../support/kinds.ts";
import { type KindsWorld, kindsWorld } from "../support/kinds-perch.ts";
import { lastTurn } from "../support/models/asked.ts";

const ANSWER = "I have it.";

let at: KindsWorld;
let browser: Browser;
/** What is said to whose words; else `ANSWER`. */
const answers = new Map<string, string>();

beforeAll(async () => {
  browser = await launchBrowser();
  at = await kindsWorld({ says: ({ body }) => answers.get(lastTurn(body).texts[0] ?? "") ?? ANSWER });
}, 60_000);
afterAll(async () => {
  await browser.close();
  await at.close();
});

/** A conversation that has just begun. */
async function conversation(): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_100, height: 860 } });
  await page.goto(at.origin);
  return page;
}

type Outcome = ShownTurn & { readonly told: readonly string[] };

/** What becomes of what is attached once it is sent: the one turn that the model gets, and all that is said to it. */
async function outcomeOf(page: Page, sent: readonly Buffer[], words = ""): Promise<Outcome> {
  const said = page.locator("#log .message.agent .answer");
  const ends = said.getByText(ANSWER, { exact: true });
  const [asked, before, ended] = [at.model.requests.length, await said.count(), await ends.count()];
  const field = page.getByRole("textbox", { name: "Message" });
  await field.fill(words);
  await field.press("Enter");
  await ends.nth(ended).waitFor();
  const [request, ...more] = at.model.requests.slice(asked);
  if (!request || more.length > 0) throw new Error(`${more.length + 1} requests for what should be one turn`);
  const told = await said.allInnerTexts();
  return { ...(await turnIn(request, ...sent)), told: told.slice(before) };
}

/** As `outcomeOf` should give it. */
function turn(words: ShownTurn["words"], media: ShownTurn["media"] = [], told?: string): unknown {
  return {
    words: words.map((each) => (typeof each === "string" ? each : expect.stringMatching(each))),
    media,
    told: [...(told === undefined ? [] : [told]), ANSWER],
  };
}

// The browser's side is written as text: this project's types know no DOM.

/** Every medium of the conversation: what it is shown as, under which name, and whether it really shows or plays. */
const SHOWN = `Promise.all(
  [...document.querySelectorAll("#log .media :is(img, audio, video, a.file)")].map(async (each) => {
    const till = (event) => new Promise((resolve) => {
      for (const one of [event, "error"]) each.addEventListener(one, resolve, { once: true });
    });
    const name = each.alt ?? each.getAttribute("aria-label") ?? each.download;
    switch (each.tagName) {
      case "A":
        return "file " + name;
      case "IMG":
        each.loading = "eager";
        if (!each.complete) await till("load");
        return "picture " + name + (each.naturalWidth > 0 ? "" : ", broken");
      default:
        if (each.readyState === 0 && !each.error) await till("loadedmetadata");
        return each.tagName.toLowerCase() + " " + name + (each.duration > 0 ? "" : ", does not play");
    }
  }),
)`;

function shown(page: Page): Promise<readonly string[]> {
  return page.evaluate(SHOWN);
}

describe("a person at the web chat", () => {
  let page: Page;
  beforeAll(async () => {
    page = await conversation();
  });
  afterAll(() => page.close());

  it.each(FILES.map((file) => [file.what, file] as const))("sends %s", async (_what, file) => {
    const { name, mimeType, told } = file;
    const buffer = await file.bytes();
    await page.setInputFiles("#files", { name, mimeType, buffer });
    expect(await outcomeOf(page, [buffer])).toEqual(turn(file.turn.words, file.turn.media, told));
  });

  it("finds all of it again, shown and playing, when the page is loaded anew", async () => {
    const before = await shown(page);
    expect(before).toEqual([
      "picture photo.jpg",
      "picture exif6.jpg",
      "picture red.png",
      "file IMG_4271.heic",
      "picture turning.gif",
      "file chart.svg",
      "file two_pages.pdf",
      "file brief.docx",
      "file stock.xlsx",
      "file offers.csv",
      "file owls.txt",
      "file archive.zip",
      "file password.pdf",
      "file empty.txt",
      "audio kettle.mp3",
      ...(NO_FFMPEG ? [] : ["video clip.mp4"]),
    ]);
    const said = await page.locator("#log .message").allInnerTexts();
    await page.reload();
    await page
      .locator("#log .message")
      .nth(said.length - 1)
      .waitFor();
    expect(await shown(page)).toEqual(before);
    expect(await page.locator("#log .message").allInnerTexts()).toEqual(said);
  });
});

describe("a person at the web chat also", () => {
  it("sees what is attached before it is sent, also what no browser shows", async () => {
    const page = await conversation();
    await page.setInputFiles("#files", [
      { name: "pond.jpg", mimeType: "image/jpeg", buffer: await fixture("photo.jpg") },
      { name: "IMG_4271.heic", mimeType: "image/heic", buffer: await fixture("images/photo.heic") },
    ]);
    const attached = page.getByRole("list", { name: "Attached files" }).getByRole("listitem");
    await attached.nth(1).waitFor();
    expect(await attached.allInnerTexts()).toEqual([
      expect.stringMatching(/^pond\.jpg\s+13 KB$/),
      expect.stringMatching(/^IMG_4271\.heic\s+4 KB$/),
    ]);
    await expect
      .poll(() =>
        page.evaluate(`[...document.querySelectorAll("#attached img")].map((each) => each.naturalWidth)`),
      )
      .toEqual([640]);
    await page.close();
  });

  it("drops several files at once, which are one turn", async () => {
    const page = await conversation();
    const [photo, pdf] = await Promise.all(["photo.jpg", "two_pages.pdf"].map(fixture));
    if (!photo || !pdf) throw new Error("two files were asked for");
    const dataTransfer = await page.evaluateHandle(`(() => {
      const bytes = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes("${photo.toString("base64")}")], "pond.jpg", { type: "image/jpeg" }));
      transfer.items.add(new File([bytes("${pdf.toString("base64")}")], "report.pdf", { type: "application/pdf" }));
      return transfer;
    })()`);
    await page.dispatchEvent("#scroll", "drop", { dataTransfer });
    expect(await outcomeOf(page, [photo, pdf], "Do these belong together?")).toEqual(
      turn(
        [
          "Do these belong together?",
          '[image "pond.jpg", image/jpeg, 640 × 480 px, 13 KB, at /uploads/pond.jpg]',
          '[file "report.pdf", application/pdf, 954 bytes, 2 pages, at /uploads/report.pdf]',
        ],
        ["image/jpeg 640 × 480, as it was sent", "application/pdf, as it was sent"],
      ),
    );
    expect(await shown(page)).toEqual(["picture pond.jpg", "file report.pdf"]);
    await page.close();
  });

  it("pastes a screenshot", async () => {
    const page = await conversation();
    const png = await fixture("red64.png");
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      const bytes = Uint8Array.from(atob("${png.toString("base64")}"), (letter) => letter.charCodeAt(0));
      clipboardData.items.add(new File([bytes], "image.png", { type: "image/png" }));
      document.getElementById("text").dispatchEvent(
        new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
      );
    })()`);
    expect(await outcomeOf(page, [png])).toEqual(
      turn(
        [
          /^\[image "Screenshot [\d .-]+\.png", image\/png, 64 × 64 px, 155 bytes, at "\/uploads\/Screenshot .*\.png"\]$/,
        ],
        ["image/png 64 × 64, as it was sent"],
      ),
    );
    await page.close();
  });

  it("records a voice note, which is written down", async () => {
    const page = await conversation();
    await page.getByRole("button", { name: "Record a voice note" }).click();
    await page.getByRole("group", { name: "Recording" }).getByText("0:01").waitFor();
    await page.getByRole("button", { name: "Stop and attach" }).click();
    await page.getByRole("list", { name: "Attached files" }).getByText("Voice note").waitFor();
    expect(await outcomeOf(page, [])).toEqual(
      turn([
        /^\[audio "Voice note .*", audio\/webm, \d s, \d+ KB, at "\/uploads\/Voice note .*\.webm"\]$/,
        /^\[machine-made transcript of a recording "Voice note .*", \d s; .*<transcript>\n.* third shelf\.\n<\/transcript>$/s,
      ]),
    );
    expect(await shown(page)).toEqual(["audio Voice note"]);
    await page.close();
  });
});

describe("an answer in the web chat shows", () => {
  let page: Page;
  let asked = 0;
  beforeAll(async () => {
    page = await conversation();
  });
  afterAll(() => page.close());

  /** The HTML of what is said to it, and the media that came with it. */
  async function answered(
    markdown: string,
  ): Promise<{ readonly html: readonly string[]; readonly media: readonly string[] }> {
    asked += 1;
    const [before, media] = [await page.locator("#log .message.agent").count(), (await shown(page)).length];
    answers.set(`Question ${asked}`, `${markdown}\n\nThat was answer ${asked}.`);
    const field = page.getByRole("textbox", { name: "Message" });
    await field.fill(`Question ${asked}`);
    await field.press("Enter");
    await page.locator("#log").getByText(`That was answer ${asked}.`).waitFor();
    const html: readonly string[] = await page.evaluate(
      `[...document.querySelectorAll("#log .message.agent")].slice(${before}).map((each) => each.querySelector(".answer")?.innerHTML ?? "")`,
    );
    return { html, media: (await shown(page)).slice(media) };
  }

  it.each([
    ["a picture", "kingfisher.png", "picture kingfisher.png"],
    ["a drawing, as a picture of it", "drawing.svg", "picture drawing.png"],
    ["a HEIC, as a JPEG", "photo.heic", "picture photo.jpg"],
    ["a picture however high", "tower.png", "picture tower.png"],
    ["a GIF that moves", "turning.gif", "picture turning.gif"],
    ["a video in a player", "clip.mp4", "video clip.mp4"],
    ["music in a player", "kettle.mp3", "audio kettle.mp3"],
    ["Opus in a player", "said.ogg", "audio said.ogg"],
    ["a PDF to download", "report.pdf", "file report.pdf"],
    ["a workbook to download", "stock.xlsx", "file stock.xlsx"],
  ])("%s", async (_what, file, medium) => {
    expect(await answered(`![The *${file}*](${file})`)).toEqual({
      html: [`<p>The ${file}</p>`, expect.stringContaining("That was answer")],
      media: [medium],
    });
  });

  it("pictures beside each other in one message, its words before and after them", async () => {
    const { html, media } = await answered("Look:\n\n![](kingfisher.png)\n![](red.png)");
    expect(html).toEqual(["<p>Look:</p>", "", expect.stringContaining("That was answer")]);
    expect(media).toEqual(["picture kingfisher.png", "picture red.png"]);
  });

  it("text, tables and code as what they are, and what must not be sent as words", async () => {
    const { html, media } = await answered(
      '# Birds\n\n**Bold** and <b>raw</b>\n\n| Bird | cm |\n| :-- | --: |\n| Owl | 38 |\n\n```js\nlet a = "<b>";\n```\n\n![Theirs](/etc/passwd)',
    );
    expect(html.map((each) => each.replaceAll(/<button.*?<\/button>/g, ""))).toEqual([
      expect.stringMatching(
        /^<h1>Birds<\/h1>\n<p><strong>Bold<\/strong> and .*<\/p>\n<div class="table-scroll".*<td class="align-right">38<\/td>.*<pre.*><code class="language-js">let a = "&lt;b&gt;";<\/code><\/pre>.*<p>Theirs \[passwd: not a file that may be sent\]<\/p>\n<p>That was answer/s,
      ),
    ]);
    expect(media).toEqual([]);
  });

  it("a file to download, byte for byte", async () => {
    await answered("![The stock](stock.xlsx)");
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "stock.xlsx" }).last().click();
    expect(await readFile(await (await download).path())).toEqual(await fixture("docs/table.xlsx"));
  });
});
