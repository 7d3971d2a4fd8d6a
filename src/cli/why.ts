import { traceOf } from "../core/tracing.ts";
import { newestMessages, storyOf } from "../store/queue.ts";
import type { CommandOptions } from "./check.ts";
import { withData } from "./data.ts";
import { EXIT } from "./exit.ts";

/** What became of a message, step by step; without a number, the newest ones to choose from. */
export async function why(options: CommandOptions, words: readonly string[]): Promise<number> {
  const { print } = options;
  const [number] = words;
  if (number === undefined) {
    const newest = await withData(options, (database) => newestMessages(database, 10));
    for (const { id, channel, chat, state, receivedAt } of newest) {
      print(`${id} ${state} in ${channel} chat ${chat}, ${new Date(receivedAt).toISOString()}`);
    }
    print(newest.length === 0 ? "No message has come yet." : "Ask again with one of these numbers.");
    return EXIT.ok;
  }
  const story = await withData(options, (database) => storyOf(database, Number(number)));
  if (!story) {
    print(`There is no message ${number}; perch why without a number lists the newest.`);
    return EXIT.failed;
  }
  print(
    `Message ${story.id} in ${story.channel} chat ${story.chat}: ${story.state}${story.why === "" ? "" : ` (${story.why})`}`,
  );
  if (story.intent > 0) print(`  trace ${traceOf(story.intent)}, in the log and where spans are sent`);
  for (const { at, step, ...details } of story.steps) {
    const after = `+${((at - story.receivedAt) / 1_000).toFixed(3)} s`.padStart(12);
    const rest = detailWords(details);
    print(`${after}  ${step}${rest.length === 0 ? "" : ` (${rest.join(", ")})`}`);
  }
  for (const { quoted, state, outcome, notice, attempts } of story.attachments) {
    const became = outcome === "" ? (state === "waiting" ? "being fetched" : "taken back") : outcome;
    const told = notice === "" ? "" : ` (${notice})`;
    // What was only listened to counts no try: it cannot end the process.
    const counted = attempts === 0 ? "" : `, ${tries(attempts)}`;
    print(`  ${quoted ? "quoted attachment" : "attachment"}: ${became}${told}${counted}`);
  }
  for (const { id, state, attempts, error, deliveredAt, readAt } of story.pieces) {
    const [word, at] = readAt > 0 ? ["read", readAt] : ["delivered", deliveredAt];
    const receipt = at === 0 ? "" : `, ${word} ${new Date(at).toISOString()}`;
    print(`  piece ${id}: ${state}, ${tries(attempts)}${error === "" ? "" : `, ${error}`}${receipt}`);
  }
  return EXIT.ok;
}

/** What is known of a decision; with which message it is answered, and why, in words. */
function detailWords(details: Readonly<Record<string, unknown>>): readonly string[] {
  const { joins, because = "", windowMs, during = "", ...others } = details;
  const plain = Object.entries(others)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${key}: ${String(value)}`);
  if (typeof joins !== "number" && typeof joins !== "string") return plain;
  const whom = joins === "nothing" ? "joins nothing" : `joins message ${joins}`;
  return [
    ...plain,
    typeof because === "string" && because !== "" ? `${whom}: ${because}` : whom,
    `waits ${Number(windowMs) / 1_000} s for more`,
    ...(typeof during === "string" && during !== "" ? [`a turn was running: ${during}`] : []),
  ];
}

export function tries(count: number): string {
  return `${count} ${count === 1 ? "try" : "tries"}`;
}
