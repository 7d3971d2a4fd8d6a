/** "812 bytes", "52 KB", "3.4 MB", "20 MB". */
export function bytesWords(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1).replace(".0", "")} MB`;
}

/** "9 s", "2 min 05 s". */
export function durationWords(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

/** "40 s", "12 min", "5 h", "2 days". */
export function agoWords(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return durationWords(Math.max(ms, 0) / 1_000);
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / (24 * 60))} days`;
}

/** A name of others in quotes that nothing in it can end, and without a sign that begins an element. */
export function inQuotes(name: string): string {
  return JSON.stringify(name).replaceAll(
    /[<>&]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** What others wrote, in one line and without what could end the brackets around it or turn the writing round. */
export function oneLine(words: string): string {
  return words.replaceAll(/[\s[\]［］【】〔〕\p{Cc}\p{Bidi_Control}]+/gu, " ").trim();
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

/** A line of at most so many UTF-16 units, cut between two letters. */
export function shortened(line: string, length: number): string {
  if (line.length <= length) return line;
  // Segmenting takes more than its share of time; what is cut away is not looked at.
  const cut = graphemes.segment(line.slice(0, 2 * length)).containing(length - 1);
  return `${line.slice(0, cut?.index ?? 0).trimEnd()}…`;
}
