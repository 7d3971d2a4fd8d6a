import type { MediaBlock } from "../core/blocks.ts";

/** One line that says what a medium is, for a thread, for a model that cannot see it, and for the demo agent. */
export function mediaWords(block: MediaBlock): string {
  return [
    // A quote in the name must not end it.
    `${block.type}${block.filename === undefined ? "" : ` ${JSON.stringify(block.filename)}`}`,
    block.mimeType,
    ...(block.width !== undefined && block.height !== undefined
      ? [`${block.width} × ${block.height} px`]
      : []),
    ...(block.durationSeconds === undefined ? [] : [durationWords(block.durationSeconds)]),
    bytesWords(block.bytes),
  ].join(", ");
}

/** "812 bytes", "52 KB", "3.4 MB". */
export function bytesWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** "9 s", "2 min 05 s". */
export function durationWords(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

/** The first `count` words in one line, with an ellipsis where something was left out. */
export function firstWords(text: string, count: number): string {
  const words = text.trim().split(/\s+/);
  return words.length > count ? `${words.slice(0, count).join(" ")} …` : words.join(" ");
}
