import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { MessageEvent } from "../../../src/core/events.ts";
import { launchBrowser } from "../../support/browser.ts";
import { PICTURE, type WebChat, openWebChat, picture, text } from "./set-up.ts";
import { fileURLToPath } from "node:url";

let browser: Browser;
const open: { readonly chat: WebChat; readonly context: BrowserContext; readonly faults: string[] }[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
});
afterEach(async () => {
  for (const { chat, context, faults } of open.splice(0)) {
    await context.close();
    await chat.close();
    if (faults.length > 0) throw new Error(`the page went wrong: ${faults.join("; ")}`);
  }
});
afterAll(() => browser.close());

type OpenPage = {
  readonly chat: WebChat;
  readonly page: Page;
  readonly field: ReturnType<Page["getByRole"]>;
  /** Sends what the field is filled with and gives the conversation and the event that came of it. */
  readonly ask: (words: string) => Promise<MessageEvent>;
  /** The text of each message shown, in order. */
  readonly shown: () => Promise<readonly string[]>;
  /** What the page's policy blocked, and errors in its own program; a test that leaves any fails. */
  readonly faults: string[];
};

async function setUp(options: BrowserContextOptions = {}): Promise<OpenPage> {
  const chat = await openWebChat();
  const context = await browser.newContext({ viewport: { width: 1100, height: 800 }, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Uncaught/.test(message.text())) faults.push(message.text());
  });
  open.push({ chat, context, faults });
  await page.goto(chat.origin);
  const field = page.getByRole("textbox", { name: "Message" });
  await field.waitFor();
  return {
    chat,
    page,
    field,
    faults,
    async ask(words) {
      const before = chat.accepted.length;
      await field.fill(words);
      await field.press("Enter");
      await chat.whenAccepted(before + 1);
      await page.getByRole("log").getByText(words).waitFor();
      return chat.accepted[before] as MessageEvent; // only messages were sent
    },
    shown: () => page.getByRole("log").locator(".said, .answer").allInnerTexts(),
  };
}

// The browser's side is written as text: this project's types know no DOM.
const PICTURE_SHOWN = `document.querySelector("#log img")?.naturalWidth === 320`;

const to = (chat: string): { channel: string; chat: string } => ({ channel: "web", chat });

describe("the page", () => {
  it("says what it is while nothing was said", async () => {
    const { page } = await setUp();
    await page.getByRole("heading", { name: "What’s on your mind?" }).waitFor();
    expect(await page.getByText("This is your own line to the agent").isVisible()).toBe(true);
  });

  it("sends text on Enter and breaks the line on Shift+Enter", async () => {
    const { chat, page, field, shown } = await setUp();
    await field.pressSequentially("one");
    await field.press("Shift+Enter");
    await field.pressSequentially("two");
    await field.press("Enter");
    await chat.whenAccepted(1);
    await page.getByRole("log").getByText("two").waitFor();
    expect(chat.accepted).toMatchObject([{ content: [{ type: "text", text: "one\ntwo" }], whole: true }]);
    expect([await shown(), await field.inputValue()]).toEqual([["one\ntwo"], ""]);
    expect(await page.getByRole("heading", { name: "What’s on your mind?" }).isVisible()).toBe(false);
  });

  it("shows a draft grow, and the final in its place", async () => {
    const { chat, page, ask, shown } = await setUp();
    const { place } = await ask("hello");
    await chat.channel.progress?.(to(place.chat), { kind: "typing" });
    await page.getByRole("status").getByText("The agent is answering").waitFor({ state: "attached" });
    for (const words of ["Good", "Good morn"]) {
      await chat.channel.progress?.(to(place.chat), { kind: "draft", text: words });
      await page.locator("#draft").getByText(words, { exact: true }).waitFor();
    }
    await chat.say(place.chat, 1, { type: "bold", inline: [text("Good morning")] });
    await page.locator(".answer strong").getByText("Good morning").waitFor();
    expect([await shown(), await page.locator("#draft").isVisible()]).toEqual([
      ["hello", "Good morning"],
      false,
    ]);
  });

  it("stops a running turn", async () => {
    const { chat, page, ask } = await setUp();
    const { place } = await ask("count to a million");
    const button = page.getByRole("button", { name: "Stop", exact: true });
    expect(await button.isVisible()).toBe(false);
    await chat.channel.progress?.(to(place.chat), { kind: "draft", text: "1, 2, 3" });
    await button.click();
    await chat.whenAccepted(2);
    expect(chat.accepted[1]).toMatchObject({ type: "stop", place: { chat: place.chat } });
    await chat.say(place.chat, 1, text("Stopped."));
    await button.waitFor({ state: "hidden" });
    expect(await page.locator("#draft").isVisible()).toBe(false);
  });

  it("keeps everything over a reload: what was said, what is being written, what is attached", async () => {
    const { chat, page, field, ask, shown } = await setUp();
    const { place } = await ask("a question");
    await chat.say(place.chat, 1, text("an answer"));
    await page.getByText("an answer").waitFor();
    await field.fill("not sent yet");
    await page.setInputFiles("#files", fileURLToPath(PICTURE));
    await page.getByRole("list", { name: "Attached files" }).getByText("feeder.png").waitFor();
    await page.reload();
    await page.getByText("an answer").waitFor();
    await page.getByRole("list", { name: "Attached files" }).getByText("feeder.png").waitFor();
    expect([await shown(), await field.inputValue()]).toEqual([["a question", "an answer"], "not sent yet"]);
    await field.press("Enter");
    await chat.whenAccepted(2);
    expect(chat.accepted[1]).toMatchObject({ content: [{ text: "not sent yet" }, { kind: "image" }] });
  });

  it("keeps two conversations apart", async () => {
    const { chat, page, ask, shown } = await setUp();
    const first = await ask("about birds");
    await page.getByRole("button", { name: "New conversation" }).click();
    await page.getByRole("heading", { name: "What’s on your mind?" }).waitFor();
    const second = await ask("about trees");
    expect(second.place.chat).not.toBe(first.place.chat);
    await chat.say(first.place.chat, 1, text("Birds fly."));
    const list = page.getByRole("navigation", { name: "Conversations" });
    await list.getByRole("link", { name: "about birds (new messages)" }).click();
    await page.getByText("Birds fly.").waitFor();
    expect(await shown()).toEqual(["about birds", "Birds fly."]);
    expect(await page.title()).toBe("about birds · Perch");
    expect(await list.getByRole("link").allInnerTexts()).toEqual(["about birds", "about trees"]);
  });

  it("shows more than it loads at first, on request", async () => {
    const { chat, page, ask } = await setUp();
    const { place } = await ask("the first words");
    for (let id = 1; id <= 60; id += 1) await chat.say(place.chat, id, text(`line ${id}`));
    await page.locator(".answer").getByText("line 60", { exact: true }).waitFor();
    await page.reload();
    await page.locator(".answer").getByText("line 60", { exact: true }).waitFor();
    expect(await page.getByRole("log").getByText("the first words").count()).toBe(0);
    await page.getByRole("button", { name: "Show earlier messages" }).click();
    await page.getByRole("log").getByText("the first words").waitFor();
    expect(await page.getByRole("log").locator(".message").count()).toBe(61);
    expect(await page.getByRole("button", { name: "Show earlier messages" }).isVisible()).toBe(false);
  });

  it("brings earlier messages once, also on a double click", async () => {
    const { chat, page, ask } = await setUp();
    const { place } = await ask("first");
    for (let id = 1; id <= 120; id += 1) await chat.say(place.chat, id, text(`answer ${id}`));
    await page.reload();
    await page.getByText("answer 120", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Show earlier messages" }).dblclick();
    await page.getByText("answer 21", { exact: true }).waitFor();
    await page.waitForLoadState("networkidle");
    expect(await page.getByText("answer 60", { exact: true }).count()).toBe(1);
  });
});

describe("files", () => {
  it("go with the message when they are dropped on the page, and are shown", async () => {
    const { chat, page, field } = await setUp();
    const bytes = [...(await picture())];
    const dropped = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(${JSON.stringify(bytes)})], "feeder.png", { type: "image/png" }));
      transfer.items.add(new File(["1,2"], "tally.csv", { type: "text/csv" }));
      return transfer;
    })()`);
    await page.dispatchEvent("#scroll", "dragenter", { dataTransfer: dropped });
    await page.getByText("Drop to attach").waitFor();
    await page.dispatchEvent("#scroll", "drop", { dataTransfer: dropped });
    expect(await page.getByText("Drop to attach").isVisible()).toBe(false);
    await field.press("Enter");
    await chat.whenAccepted(1);
    expect(chat.accepted).toMatchObject([
      {
        content: [
          { kind: "image", declared: { filename: "feeder.png" } },
          { kind: "file", declared: { filename: "tally.csv" } },
        ],
      },
    ]);
    const { content } = chat.accepted[0] as MessageEvent; // only a message was sent
    const [sent] = content;
    expect(sent?.type === "unfetched" && [...(await chat.fetched(sent.ref))]).toEqual(bytes);
    await expect.poll(() => page.evaluate(PICTURE_SHOWN)).toBe(true);
    const download = page.waitForEvent("download");
    await page.getByRole("log").getByRole("link", { name: "tally.csv" }).click();
    expect((await download).suggestedFilename()).toBe("tally.csv");
  });

  it("are named when they are pasted as a screenshot", async () => {
    const { chat, page, field } = await setUp();
    const bytes = JSON.stringify([...(await picture())]);
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([new Uint8Array(${bytes})], "image.png", { type: "image/png" }));
      const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
      document.getElementById("text").dispatchEvent(paste);
    })()`);
    await page.getByRole("list", { name: "Attached files" }).getByText("Screenshot").waitFor();
    await field.press("Enter");
    await chat.whenAccepted(1);
    const filename = expect.stringMatching(/^Screenshot \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.png$/) as string;
    expect(chat.accepted).toMatchObject([{ content: [{ kind: "image", declared: { filename } }] }]);
  });

  it("are turned down on the page when there are too many", async () => {
    const { page } = await setUp();
    const files = Array.from({ length: 11 }, (_, n) => ({
      name: `${n}.txt`,
      mimeType: "text/plain",
      buffer: Buffer.from("a"),
    }));
    await page.setInputFiles("#files", files);
    await page.getByRole("alert").getByText("A message takes at most 10 files").waitFor();
    expect(await page.getByRole("list", { name: "Attached files" }).getByRole("listitem").count()).toBe(10);
  });

  it("come from the microphone as a voice note with its length", async () => {
    const { chat, page, field } = await setUp();
    await page.getByRole("button", { name: "Record a voice note" }).click();
    await page.locator("#length").getByText("0:01").waitFor();
    await page.getByRole("button", { name: "Stop and attach" }).click();
    await page.getByRole("list", { name: "Attached files" }).getByText("Voice note").waitFor();
    await field.press("Enter");
    await chat.whenAccepted(1);
    const [note] = (chat.accepted[0] as MessageEvent).content; // only a message was sent
    expect(note).toMatchObject({ kind: "audio", declared: { mimeType: "audio/webm", label: "voice note" } });
    if (note?.type !== "unfetched") throw new Error("no voice note");
    expect(note.declared.durationSeconds).toBeGreaterThanOrEqual(1);
    // EBML, the head of every WebM file
    expect((await chat.fetched(note.ref)).subarray(0, 4).toString("hex")).toBe("1a45dfa3");
    await expect
      .poll(() => page.evaluate(`document.querySelector("#log audio")?.readyState >= 1`))
      .toBe(true);
  });

  it("come from one microphone, also on a double click while the browser asks for it", async () => {
    const { page } = await setUp();
    await page.evaluate(`{
      window.given = [];
      const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = async (wanted) => {
        const stream = await ask(wanted);
        window.given.push(...stream.getTracks());
        return stream;
      };
    }`);
    await page.evaluate(
      `{ const record = document.getElementById("record"); record.click(); record.click(); }`,
    );
    await page.getByRole("button", { name: "Stop and attach" }).click();
    await page.getByRole("list", { name: "Attached files" }).getByText("Voice note").waitFor();
    expect(await page.evaluate("window.given.map((track) => track.readyState)")).toEqual(["ended"]);
  });

  it("from the agent are shown: a picture in place, a document to download", async () => {
    const { chat, page, ask } = await setUp();
    const { place } = await ask("show me");
    const bytes = await picture();
    const blob = chat.putBlob(bytes);
    await chat.send(place.chat, 1, {
      kind: "media",
      as: "image",
      media: { type: "image", mimeType: "image/png", blob, bytes: bytes.length, filename: "feeder.png" },
      caption: { text: "<em>The feeder</em>", marks: [] },
    });
    await chat.send(place.chat, 2, {
      kind: "media",
      as: "file",
      media: { type: "file", mimeType: "application/pdf", blob, bytes: bytes.length, filename: "birds.pdf" },
    });
    await expect.poll(() => page.evaluate(PICTURE_SHOWN)).toBe(true);
    await page.locator("figcaption em").getByText("The feeder").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "birds.pdf" }).click();
    expect((await download).suggestedFilename()).toBe("birds.pdf");
  });
});

describe("when the server does not take a message", () => {
  it("keeps it, says so, and sends the same message again by hand", async () => {
    const { chat, page, field, shown } = await setUp();
    chat.refuse(new Error("the store is down"));
    await field.fill("important");
    await field.press("Enter");
    const waiting = page.getByRole("group", { name: "Messages on their way" });
    await waiting.getByText("Not sent. The server could not take the message just now").waitFor();
    expect(await shown()).toEqual([]);
    chat.refuse(undefined);
    await waiting.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("log").getByText("important").waitFor();
    await waiting.getByText("important").waitFor({ state: "detached" });
    expect([chat.accepted.length, await shown()]).toEqual([1, ["important"]]);
  });

  it("sends it after a reload, with its file", async () => {
    const { chat, page, field } = await setUp();
    chat.refuse(new Error("the store is down"));
    await page.setInputFiles("#files", fileURLToPath(PICTURE));
    await field.fill("important");
    await field.press("Enter");
    await page.getByText("Not sent.").first().waitFor();
    chat.refuse(undefined);
    await page.reload();
    await page.getByRole("log").getByText("important").waitFor();
    expect(chat.accepted).toMatchObject([{ content: [{ text: "important" }, { kind: "image" }] }]);
  });

  it("gives it back for another wording", async () => {
    const { chat, page, field } = await setUp();
    chat.refuse(new Error("the store is down"));
    await field.fill("importent");
    await field.press("Enter");
    await page.getByRole("button", { name: "Edit" }).click();
    // Taken out of what waits first, which takes a moment.
    await expect.poll(() => field.inputValue()).toBe("importent");
    chat.refuse(undefined);
    await field.fill("important");
    await field.press("Enter");
    await page.getByRole("log").getByText("important").waitFor();
    expect(chat.accepted).toMatchObject([{ content: [{ text: "important" }] }]);
  });

  it("sends it by itself when the connection is back", async () => {
    const { chat, page, field } = await setUp();
    await page.context().setOffline(true);
    await field.fill("from the tunnel");
    await field.press("Enter");
    await page.getByText("Not sent. The server cannot be reached.").first().waitFor();
    await page.context().setOffline(false);
    await page.getByRole("log").getByText("from the tunnel").waitFor();
    expect(chat.accepted.length).toBe(1);
  });
});

describe("hostile words", () => {
  const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;

  it("are nothing but words, in messages, names, titles and drafts", async () => {
    const { chat, page, field } = await setUp();
    await page.setInputFiles("#files", {
      name: `${HOSTILE.replaceAll("/", "∕")}.txt`,
      mimeType: "text/html",
      buffer: Buffer.from(HOSTILE),
    });
    await field.fill(HOSTILE);
    await field.press("Enter");
    await chat.whenAccepted(1);
    const { place } = chat.accepted[0] as MessageEvent; // only a message was sent
    await chat.channel.progress?.(to(place.chat), { kind: "draft", text: HOSTILE });
    await page.locator("#draft").getByText(HOSTILE).waitFor();
    await chat.say(place.chat, 1, text(HOSTILE));
    await page.locator(".answer").getByText(HOSTILE).waitFor();
    expect(await page.locator("#log img, #log script, #chats img, #live img").count()).toBe(0);
    expect(await page.title()).toMatch(/^<img src=x/);
  });

  it("run nothing even when an answer's HTML was not made safe", async () => {
    const { chat, page, ask, faults } = await setUp();
    const { place } = await ask("hello");
    const html = `${HOSTILE}<a href="javascript:document.title='owned'">a link</a><p style="position:fixed">the end</p>`;
    await chat.send(place.chat, 1, { kind: "text", rendered: { text: html, marks: [] } });
    await page.getByText("the end").waitFor();
    await page.getByText("a link").click();
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 0))");
    expect(await page.title()).toBe("hello · Perch");
    // The browser tells of each thing that it blocked while the page took it out.
    for (const fault of faults.splice(0))
      expect(fault).toContain("violates the following Content Security Policy");
    expect(await page.locator(".answer script, .answer [style], .answer [onerror]").count()).toBe(0);
  });
});

describe("everybody", () => {
  it("can do all of it by keyboard", async () => {
    const { chat, page, ask } = await setUp();
    const focused = (): Promise<string> =>
      page.evaluate(
        `document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim()`,
      );
    expect(await focused()).toBe("Message");
    await ask("about birds");
    const seen: string[] = [];
    for (let n = 0; n < 12 && !seen.includes("New conversation"); n += 1) {
      await page.keyboard.press("Tab");
      seen.push(await focused());
    }
    expect(seen).toEqual(expect.arrayContaining(["Record a voice note", "Send", "New conversation"]));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "What’s on your mind?" }).waitFor();
    await expect.poll(() => page.evaluate(`document.activeElement.id === "text"`)).toBe(true);
    await page.keyboard.type("about trees");
    await page.keyboard.press("Enter");
    await chat.whenAccepted(2);
    await page.getByRole("link", { name: "about trees" }).waitFor();
    await page.getByRole("link", { name: "about birds" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("log").getByText("about birds").waitFor();
    // A recording that was begun by mistake ends with Escape.
    await page.getByRole("button", { name: "Record a voice note" }).press("Enter");
    await page.getByRole("button", { name: "Discard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Discard" }).waitFor({ state: "hidden" });
    expect(await page.getByRole("list", { name: "Attached files" }).isVisible()).toBe(false);
  });

  it("finds every control by a name", async () => {
    const { page, ask } = await setUp();
    await ask("hello");
    const nameless = await page.evaluate(
      `[...document.querySelectorAll("button, a, input:not([hidden]), textarea")]
        .filter((each) => !(each.getAttribute("aria-label") ?? each.labels?.[0]?.textContent ?? each.textContent).trim())
        .map((each) => each.outerHTML)`,
    );
    expect(nameless).toEqual([]);
  });

  it.each(["light", "dark"] as const)("can read it in %s", async (colorScheme) => {
    const { chat, page, ask } = await setUp({ colorScheme });
    const { place } = await ask("hello");
    await chat.say(place.chat, 1, text("Good morning"), {
      type: "link",
      url: "https://example.org",
      inline: [text("a link")],
    });
    await page.getByText("Good morning").waitFor();
    const ground = await color(page, "body", "backgroundColor");
    const bubble = await color(page, ".said", "backgroundColor");
    expect(lightness(ground) < 0.2).toBe(colorScheme === "dark");
    // WCAG 2.2, 1.4.3: at least 4.5 to 1
    for (const words of [".answer p", ".answer a", "#title", ".day"])
      expect(contrast(ground, await color(page, words, "color"))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(bubble, await color(page, ".said", "color"))).toBeGreaterThanOrEqual(4.5);
  });

  it("has room on a narrow screen, with the conversations behind a button", async () => {
    const { page, ask } = await setUp({ viewport: { width: 360, height: 640 } });
    await ask(
      "a word that is as long as a name-of-a-file-without-any-space-in-it-at-all-and-then-some-more.txt",
    );
    const side = page.getByRole("navigation", { name: "Conversations" });
    expect(await side.isVisible()).toBe(false);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
    await page.getByRole("button", { name: "Conversations", exact: true }).click();
    await side.getByRole("button", { name: "New conversation" }).waitFor();
    await page.keyboard.press("Escape");
    await side.waitFor({ state: "hidden" });
  });
});

function color(page: Page, query: string, property: string): Promise<string> {
  return page.evaluate(`getComputedStyle(document.querySelector("${query}")).${property}`);
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [lightness(one), lightness(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Relative luminance by WCAG 2.2 of "rgb(r, g, b)". */
function lightness(rgb: string): number {
  const [red = 0, green = 0, blue = 0] = (rgb.match(/[\d.]+/g) ?? []).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
