import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** A real browser with a microphone that beeps. Without one the tests fail rather than pass unseen. */
export function launchBrowser(): Promise<Browser> {
  const executablePath = process.env["PERCH_CHROMIUM"] ?? PLACES.find((place) => existsSync(place));
  if (executablePath === undefined)
    throw new Error("no Chromium or Chrome was found; install one, or name it in PERCH_CHROMIUM");
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--use-fake-device-for-media-stream",
      "--use-fake-ui-for-media-stream",
      "--autoplay-policy=no-user-gesture-required",
    ],
  });
}
