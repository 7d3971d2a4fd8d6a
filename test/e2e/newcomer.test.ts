import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, it } from "vitest";
import { startTelegram } from "../support/telegram/emulator.ts";

const ROOT = join(import.meta.dirname, "../..");
const LINK = /https:\/\/t\.me\/fern_demo_bot\?start=([\w-]+)/;
const run = promisify(execFile);
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

// The README's two commands, as they stand there: `git clone` and `npm ci && TELEGRAM_TOKEN=… npm start`. In small size the
// packages of this checkout are taken instead of installed once more.
it.skipIf(!existsSync(join(ROOT, ".git")))(
  "leads from git clone to a first answer with two commands, one token and one tap",
  { timeout: 300_000 },
  async () => {
    const telegram = await startTelegram();
    const folder = await mkdtemp(join(tmpdir(), "perch-newcomer-"));
    cleanups.push(
      () => telegram.close(),
      () => rm(folder, { recursive: true, force: true }),
    );
    const home = join(folder, "perch");
    await run("git", ["clone", "--quiet", ROOT, home]);
    // What stands for the way to Telegram here, and for a port that is free.
    const file = join(home, "config/perch.yaml");
    const yaml = await readFile(file, "utf8");
    const ours = yaml.replace("    token: ${TELEGRAM_TOKEN}\n", `$&    apiRoot: ${telegram.apiRoot}\n`);
    expect(ours).not.toBe(yaml);
    await writeFile(file, `${ours}\nhttp: { port: 0 }\n`);
    const install = process.env["PERCH_LONG"] ? "npm ci --no-audit --no-fund" : "true";
    if (install === "true") await symlink(join(ROOT, "node_modules"), join(home, "node_modules"));

    const perch = spawn("sh", ["-c", `${install} && TELEGRAM_TOKEN=${telegram.token} exec npm start`], {
      cwd: home,
      env: process.env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = new Promise((resolve) => perch.once("close", resolve));
    cleanups.push(async () => {
      if (perch.pid !== undefined) process.kill(-perch.pid, "SIGTERM");
      await ended;
    });
    let output = "";
    const code = await new Promise<string>((resolve, reject) => {
      const look = (chunk: Buffer): void => {
        output += chunk.toString();
        const found = LINK.exec(output)?.[1];
        if (found !== undefined) resolve(found);
      };
      perch.stdout.on("data", look);
      perch.stderr.on("data", look);
      void ended.then(() => reject(new Error(`it ended and showed no link:\n${output}`)));
    });
    const ada = telegram.privateChat({ id: 700_100_001, firstName: "Ada" });
    ada.start(code);
    await telegram.untilSent(ada.chatId, 1);
    ada.sendText("Good morning!");
    const [welcome, answer] = await telegram.untilSent(ada.chatId, 2);
    expect(welcome?.text).toContain("You are the owner");
    expect(answer?.text).toContain("Good morning!");
    expect(output).not.toContain(telegram.token);
  },
);
