import { expect, it } from "vitest";
import { startHttp } from "../../src/http/server.ts";
import { launchBrowser } from "../support/browser.ts";
import { memoryLog } from "../support/channel-host.ts";

it("lets a browser in with the password, and leads to where it wanted to go", async () => {
  const server = await startHttp({
    host: "127.0.0.1",
    port: 0,
    password: "correct horse",
    log: memoryLog([]),
    health: () => ({ ok: true }),
  });
  server.mount(
    "/",
    async (request) =>
      new Response(`<p>at ${new URL(request.url).pathname}</p>`, {
        headers: { "content-type": "text/html" },
      }),
  );
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`${server.origin}/deep/page`);
    await page.getByLabel("Password").fill("a horse");
    await page.keyboard.press("Enter");
    await page.getByText("That is not the password.").waitFor();
    await page.getByLabel("Password").fill("correct horse");
    await page.keyboard.press("Enter");
    await page.getByText("at /deep/page").waitFor();
    expect(new URL(page.url()).pathname).toBe("/deep/page");
  } finally {
    await browser.close();
    await server.close();
  }
});
