import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PairingStepShown } from "../../src/http/connections.ts";
import { launchBrowser } from "../support/browser.ts";
import { operatorFolder, type OperatorFolder, spawnPerch, watched } from "../support/perch-process.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "../support/whatsapp/loopback.ts";
import type { Person } from "../support/whatsapp/person.ts";

/** A folder for the pictures of docs/whatsapp.md. */
const SHOTS = process.env["PERCH_SCREENSHOTS"];
const PRELOAD = join(import.meta.dirname, "../support/whatsapp/trust-preload.mjs");
const PASSWORD = "correct horse";
const OWNER = "+15550000001";
const BOB = "+15550000002";

let wa: LoopbackWhatsApp;
let owner: Person;
let bob: Person;
let folder: OperatorFolder;
const cleanups: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  wa = await startWhatsApp();
  owner = await wa.addPerson({ phone: OWNER.slice(1), lid: "90000000000001", name: "Owner" });
  bob = await wa.addPerson({ phone: BOB.slice(1), lid: "90000000000002", name: "Bob" });
  const config = {
    http: { host: "127.0.0.1", port: 0, password: "${PERCH_PASSWORD}" },
    channels: {
      web: { kind: "web", agent: "helper" },
      whatsapp: {
        kind: "whatsapp",
        agent: "helper",
        owner: OWNER,
        allow: [BOB],
        stateKey: "${STATE_KEY}",
        chatSeconds: 0,
        testServer: { url: wa.url, ca: wa.ca },
      },
    },
    data: { folder: "../data" },
  };
  folder = await operatorFolder({
    "config/perch.yaml": JSON.stringify(config),
    "config/agents/helper.md": "---\nmodel: demo\n---\nBe brief.\n",
  });
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  await wa.close();
  await folder.remove();
});

function perch(...args: readonly string[]) {
  const process = watched(
    spawnPerch({
      folder: folder.path,
      args,
      node: ["--import", PRELOAD],
      env: {
        WA_TEST_ROOT: wa.rootKeyHex,
        PERCH_PASSWORD: PASSWORD,
        STATE_KEY: "0123456789abcdef0123456789abcdef",
      },
    }),
  );
  cleanups.push(() => process.kill());
  return process;
}

/** Logs in and gives what the page's own requests carry. */
async function loggedIn(origin: string): Promise<string> {
  const body = new URLSearchParams({ password: PASSWORD });
  const entered = await fetch(`${origin}/login`, { method: "POST", redirect: "manual", body });
  return (entered.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

describe("linking WhatsApp as people do", () => {
  it("is done in the terminal while Perch does not run, and holds once it does", async () => {
    const terminal = perch("pair", "whatsapp", "--phone", OWNER);
    const [, one = "", two = ""] = await terminal.said(/Type this code: (\w{4})-(\w{4})/);
    expect(terminal.output()).toContain("Linked devices › Link a device › Link with phone number instead");
    const device = await wa.typeCode(one + two);
    await terminal.said(/Linked\. It answers from now on/);
    expect(await terminal.ended).toBe(0);

    const gateway = perch("start");
    await gateway.said(/Perch is ready\./);
    await bob.say(device, "hello");
    const answer = await wa.waitForMessage(({ person }) => person === bob);
    expect(answer.message.extendedTextMessage?.text ?? answer.message.conversation).toMatch(/hello/);
    expect(await gateway.stop()).toBe(0);
    for (const { output } of [terminal, gateway]) expect(output()).not.toMatch(/1555000000[12]|hello/);
  });

  it("shows a QR code in the terminal through the gateway that runs, behind its password", async () => {
    // Both must know the port: a free one is found by whoever starts.
    const gateway = perch("start");
    const [origin] = await gateway.said(/http:\/\/127\.0\.0\.1:\d+/);
    await gateway.said(/Perch is ready\./);
    await gateway.said(/perch pair whatsapp/);
    const config = await readFile(join(folder.path, "config/perch.yaml"), "utf8");
    const port = Number(new URL(origin).port);
    await folder.write("config/perch.yaml", config.replace('"port":0', `"port":${port}`));
    const terminal = perch("pair", "whatsapp");
    await terminal.said(/It holds for \d/);
    const rows = terminal
      .output()
      .split("\n")
      .filter((line) => line.includes("▀") || line.includes("█"));
    expect(rows.length).toBeGreaterThan(20);
    if (SHOTS !== undefined) await picture(terminal.output());
    terminal.signal("SIGTERM");
    await terminal.ended;

    // What the page asks for, with the same code as text.
    const cookie = await loggedIn(origin);
    const answer = await fetch(`${origin}/connections`, {
      method: "POST",
      headers: { cookie },
      body: JSON.stringify({ connection: "whatsapp" }),
    });
    const kinds: string[] = [];
    for await (const step of steps(answer)) {
      kinds.push(step.kind);
      if (step.kind === "qr") await wa.scan(owner, step.text);
    }
    expect(kinds).toEqual(["qr", "agreed", "linked"]);
    const listed = (await (await fetch(`${origin}/connections`, { headers: { cookie } })).json()) as {
      readonly connections: readonly unknown[];
    };
    expect(listed.connections).toContainEqual(expect.objectContaining({ id: "whatsapp", is: "open" }));
    expect(gateway.output()).not.toMatch(/wa\.me|linked_devices|15550000001/);
  });

  it.skipIf(SHOTS === undefined)("takes the picture of the page", async () => {
    const gateway = perch("start");
    const [origin] = await gateway.said(/http:\/\/127\.0\.0\.1:\d+/);
    await gateway.said(/Perch is ready\./);
    const browser = await launchBrowser();
    cleanups.push(() => browser.close());
    const page = await browser.newPage({ viewport: { width: 980, height: 720 } });
    await page.goto(origin);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Link whatsapp with a phone" }).click();
    await page.getByRole("img", { name: "A QR code" }).waitFor();
    await mkdir(SHOTS ?? "", { recursive: true });
    await page.screenshot({ path: join(SHOTS ?? "", "whatsapp-page.png") });
    expect(await page.getByRole("dialog").isVisible()).toBe(true);
  });
});

async function* steps(answer: Response): AsyncIterable<PairingStepShown> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of answer.body ?? []) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as PairingStepShown; // what /connections streams
  }
}

/** The terminal as people see it. */
async function picture(output: string): Promise<void> {
  const browser = await launchBrowser();
  const page = await browser.newPage({ viewport: { width: 700, height: 460 } });
  const escaped = output
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll("\u001b[97;40m", "<b>")
    .replaceAll("\u001b[0m", "</b>");
  await page.setContent(
    `<style>body{margin:0;background:#16181a;color:#d6d3cb}pre{margin:22px;font:13px/1 "DejaVu Sans Mono",monospace}
     pre b{font-weight:400;color:#fff;background:#000}</style><pre>$ npx perch pair whatsapp\n${escaped}</pre>`,
  );
  await mkdir(SHOTS ?? "", { recursive: true });
  await writeFile(join(SHOTS ?? "", "whatsapp-terminal.png"), await page.screenshot({ fullPage: true }));
  await browser.close();
}
