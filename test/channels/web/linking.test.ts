import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { PairingStep, PairingWish } from "../../../src/core/channel.ts";
import type { ConnectionShown } from "../../../src/core/standing.ts";
import { connectionsHandler } from "../../../src/http/connections.ts";
import { launchBrowser } from "../../support/browser.ts";
import { openWebChat, type WebChat } from "./set-up.ts";

let browser: Browser;
const open: { readonly chat: WebChat; readonly context: BrowserContext }[] = [];
beforeAll(async () => {
  browser = await launchBrowser();
});
afterEach(async () => {
  for (const { chat, context } of open.splice(0)) {
    await context.close();
    await chat.close();
  }
});
afterAll(() => browser.close());

const UNPAIRED: ConnectionShown = {
  id: "family",
  kind: "whatsapp",
  is: "unpaired",
  words: "not linked: no phone was linked yet",
  pairs: true,
};

/** The page with one connection beside it, whose steps the test gives one by one. */
async function setUp(connections: readonly ConnectionShown[] = [UNPAIRED]) {
  const chat = await openWebChat();
  const wishes: PairingWish[] = [];
  const steps: PairingStep[] = [];
  let wake = (): void => {};
  let abort = (): void => {};
  const aborted = new Promise<void>((resolve) => (abort = resolve));
  async function* pairing(signal: AbortSignal): AsyncIterable<PairingStep> {
    signal.addEventListener("abort", () => {
      abort();
      wake();
    });
    while (!signal.aborted) {
      const step = steps.shift();
      if (step) yield step;
      if (step?.kind === "linked" || step?.kind === "failed") return;
      if (!step) await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  chat.http.mount(
    "/connections",
    connectionsHandler({
      list: () => connections,
      pair(_id, wish, signal) {
        wishes.push(wish);
        return pairing(signal);
      },
    }),
  );
  const context = await browser.newContext();
  const page: Page = await context.newPage();
  open.push({ chat, context });
  await page.goto(chat.origin);
  const give = (step: PairingStep): void => {
    steps.push(step);
    wake();
  };
  return { page, wishes, give, aborted };
}

const QR: PairingStep = { kind: "qr", text: "https://wa.me/settings/linked_devices#a,b,c", until: 0 };

describe("linking on the page", () => {
  it("shows what is not open, and the QR code of one that is to be linked until it is", async () => {
    const { page, give, wishes } = await setUp();
    await page.getByText("not linked: no phone was linked yet").waitFor();
    await page.getByRole("button", { name: "Link family with a phone" }).click();
    const dialog = page.getByRole("dialog", { name: "Link family" });
    give(QR);
    await dialog.getByRole("img", { name: "A QR code" }).waitFor();
    expect(await dialog.getByText("Linked devices › Link a device").isVisible()).toBe(true);
    give({ kind: "agreed" });
    await dialog.getByText("The phone has agreed").waitFor();
    expect(await dialog.getByRole("img").count()).toBe(0);
    give({ kind: "linked" });
    await dialog.getByText("Linked. It answers from now on.").waitFor();
    expect(wishes).toEqual([{}]);
  });

  it("gives a code for a number that is typed as people type them", async () => {
    const { page, give, wishes } = await setUp();
    await page.getByRole("button", { name: "Link family with a phone" }).click();
    const dialog = page.getByRole("dialog", { name: "Link family" });
    await dialog.getByLabel("The phone’s number").fill("+1 (555) 000-0001");
    await dialog.getByRole("button", { name: "Get a code" }).click();
    give({ kind: "code", code: "ABCD1234", until: 0 });
    await dialog.getByText("ABCD-1234").waitFor();
    expect(wishes.at(-1)).toEqual({ phone: "+15550000001" });
  });

  it("says why it failed, offers another try, and ends the linking when it is closed", async () => {
    const { page, give, wishes, aborted } = await setUp();
    await page.getByRole("button", { name: "Link family with a phone" }).click();
    const dialog = page.getByRole("dialog", { name: "Link family" });
    give({ kind: "failed", why: "Nobody scanned the code in time; try again." });
    await dialog.getByText("Nobody scanned the code in time").waitFor();
    await dialog.getByRole("button", { name: "Try again" }).click();
    give(QR);
    await dialog.getByRole("img", { name: "A QR code" }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await aborted;
    expect(wishes).toEqual([{}, {}]);
  });

  it("says nothing while all is well", async () => {
    const { page } = await setUp([{ ...UNPAIRED, is: "open", words: "open" }]);
    await page.getByRole("textbox", { name: "Message" }).waitFor();
    expect(await page.getByRole("list", { name: "Connections" }).isVisible()).toBe(false);
  });
});
