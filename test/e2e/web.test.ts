import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { launchBrowser } from "../support/browser.ts";
import { launch, operatorFolder, type PerchProcess, spawnPerch } from "../support/perch-process.ts";

const MEDIA = join(import.meta.dirname, "../fixtures/media");
// A free port each, so that tests and a Perch of the developer's own do not meet.
const OWN_PORT = "channels: { web: { kind: web } }\nhttp: { port: 0 }\nagents: { folder: ../agents }\n";
const AGENT = "---\nmodel: ${PERCH_MODEL:-demo}\n---\nBe brief.\n";

let browser: Browser;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
afterAll(() => browser.close());

async function setUp(): Promise<{ readonly folder: string; readonly start: () => Promise<PerchProcess> }> {
  const folder = await operatorFolder({ "config/perch.yaml": OWN_PORT, "agents/helper.md": AGENT });
  cleanups.push(folder.remove);
  return {
    folder: folder.path,
    start: async () => {
      const perch = await launch({ folder: folder.path });
      cleanups.push(perch.kill);
      return perch;
    },
  };
}

describe("a person at the web chat of a Perch that was just started", () => {
  it("sends a photo, a PDF and a voice note, is told each rightly, and is shown a picture that comes back", async () => {
    const { start } = await setUp();
    const perch = await start();
    const page = await browser.newPage({ viewport: { width: 1_100, height: 860 } });
    await page.goto(perch.origin);
    const field = page.getByRole("textbox", { name: "Message" });
    const answers = page.locator("#log .answer");
    for (const [at, [file, words]] of (
      [
        ["photo.jpg", "Here is a photo."],
        ["two_pages.pdf", "And a PDF."],
        ["voice_known.ogg", "And a voice note."],
      ] as const
    ).entries()) {
      await page.locator("input[type=file]").setInputFiles(join(MEDIA, file));
      await field.fill(words);
      await field.press("Enter");
      await answers.nth(at).waitFor();
    }
    await field.fill("Show me a picture and a table, please.");
    await field.press("Enter");
    await page.locator("#log .answer table").first().waitFor();
    // Not waitForFunction, which evaluates again later, when the page's policy forbids it.
    await expect
      .poll(() => page.evaluate("[...document.querySelectorAll('#log img')].at(-1)?.naturalWidth"))
      .toBe(640);
    const said = await answers.allInnerTexts();
    expect(said[0]).toMatch(/image photo\.jpg: image\/jpeg, 13 KB, 640 × 480/);
    expect(said[1]).toMatch(/file two_pages\.pdf: application\/pdf, 954 bytes/);
    expect(said[1]).toContain("page 1");
    expect(said[2]).toMatch(/audio voice_known\.ogg: audio\/wav, .*, made from audio\/ogg, 17 KB/);
    const shots = process.env["PERCH_SCREENSHOTS"];
    if (shots !== undefined) {
      await mkdir(shots, { recursive: true });
      await page.screenshot({ path: join(shots, "web-chat.png") });
      await page.emulateMedia({ colorScheme: "dark" });
      await page.screenshot({ path: join(shots, "web-chat-dark.png") });
    }
    await page.close();
  }, 60_000);

  it("finds the conversation again after the process was killed, and goes on with it", async () => {
    const { start } = await setUp();
    const first = await start();
    const page = await browser.newPage();
    await page.goto(first.origin);
    const field = page.getByRole("textbox", { name: "Message" });
    await field.fill("Remember the blue kettle.");
    await field.press("Enter");
    await page.locator("#log .answer").waitFor();
    const chat = new URL(page.url());
    await first.kill();
    const second = await start();
    await page.goto(new URL(chat.pathname + chat.search + chat.hash, second.origin).href);
    await page.locator("#log").getByText("Remember the blue kettle.").first().waitFor();
    await page.getByRole("textbox", { name: "Message" }).fill("What did I say?");
    await page.getByRole("textbox", { name: "Message" }).press("Enter");
    await page.locator("#log .answer").nth(1).waitFor();
    expect(await page.locator("#log .answer").nth(1).innerText()).toMatch(
      /1 earlier message.*Remember the blue kettle/s,
    );
    await page.close();
  }, 60_000);
});

describe("the process", () => {
  it("refuses a data folder that another one has, naming it", async () => {
    const { folder, start } = await setUp();
    const first = await start();
    const second = spawnPerch({ folder });
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(new RegExp(`is in use by process ${first.pid} since `));
  }, 30_000);

  it("says what is on, what is off and what would turn it on, and ends gently", async () => {
    const folder = await operatorFolder({
      "config/perch.yaml": OWN_PORT.replace(
        "{ kind: web } }",
        '{ kind: web }, bot: { kind: telegram, token: "${TELEGRAM_TOKEN}" } }',
      ),
      "agents/helper.md": AGENT,
    });
    cleanups.push(folder.remove);
    const perch = await launch({ folder: folder.path });
    cleanups.push(perch.kill);
    expect(perch.output()).toMatch(/web +on at http:\/\/127\.0\.0\.1:\d+/);
    expect(perch.output()).toMatch(/bot +off: set TELEGRAM_TOKEN/);
    expect(perch.output()).toContain("Set PERCH_MODEL=openai:gpt-5 and OPENAI_API_KEY");
    expect(await perch.stop()).toBe(0);
  }, 30_000);

  it("lists all faults of a configuration and ends with 2", async () => {
    const folder = await operatorFolder({
      "config/perch.yaml":
        "channels: { web: { kind: wep }, tg: { kind: telegram, tokn: x, allow: 5 } }\nhtpp: {}\n",
      "agents/helper.md": AGENT,
    });
    cleanups.push(folder.remove);
    const perch = spawnPerch({ folder: folder.path });
    expect(await perch.ended).toBe(2);
    expect(perch.output()).toContain('Did you mean "web"?');
    expect(perch.output()).toContain('Did you mean "http"?');
  }, 30_000);
});
