import type { Clock } from "../core/clock.ts";
import { queued, retryDead } from "../store/queue.ts";
import type { CommandOptions } from "./check.ts";
import { withData } from "./data.ts";
import { EXIT } from "./exit.ts";
import { tries } from "./why.ts";

/** Lists what waits and what was set aside; `retry <number>` lets a message that was set aside wait again. */
export async function queue(
  options: CommandOptions & { readonly clock: Clock },
  words: readonly string[],
): Promise<number> {
  const [verb, number] = words;
  if (verb === undefined) {
    const messages = await withData(options, queued);
    if (messages.length === 0) options.print("Nothing waits, and nothing was set aside.");
    for (const { id, channel, chat, state, agent, receivedAt, claims } of messages) {
      options.print(
        `${id} ${state} in ${channel} chat ${chat} for ${agent} since ${new Date(receivedAt).toISOString()}${claims === 0 ? "" : `, ${tries(claims)}`}`,
      );
    }
    return EXIT.ok;
  }
  const id = Number(number);
  if (verb !== "retry" || !Number.isSafeInteger(id)) {
    options.print("perch queue takes nothing, or: retry <number of a message>.");
    return EXIT.failed;
  }
  const found = await withData(options, (database) => retryDead(database, id, options.clock.now()));
  options.print(found ? `Message ${id} waits again.` : `Message ${id} was not set aside.`);
  return found ? EXIT.ok : EXIT.failed;
}
