import { constants, gunzipSync } from "node:zlib";

const MOST_BYTES = 8_000_000; // 4,100 bytes of gzip are never more

/** Whether gzip holds a Lottie animation: Telegram's animated stickers. `head` may be a part of it. */
export function isTgs(head: Uint8Array): boolean {
  try {
    const json = gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_BYTES });
    const start = json.subarray(0, 2_000).toString("utf8");
    return /^\s*\{/.test(start) && (/"tgs"\s*:\s*1/.test(start) || isLottie(start));
  } catch {
    return false;
  }
}

function isLottie(start: string): boolean {
  return ["v", "fr", "ip", "op"].every((key) => start.includes(`"${key}":`));
}
