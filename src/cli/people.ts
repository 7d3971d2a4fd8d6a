import { allGrants, revoke } from "../store/people.ts";
import type { CommandOptions } from "./check.ts";
import { withData } from "./data.ts";
import { EXIT } from "./exit.ts";

/** Lists what was granted in chat; `revoke <channel> <person>` takes it back, from the next message on. */
export async function people(options: CommandOptions, words: readonly string[]): Promise<number> {
  const [verb, channel, person] = words;
  if (verb === undefined) {
    const grants = await withData(options, allGrants);
    const granted = grants.filter((grant) => grant.role !== "stranger");
    if (granted.length === 0) options.print("Nothing was granted in chat.");
    for (const { channel: id, person: who, role, grantedBy, at } of granted) {
      options.print(`${id} ${who} ${role}, by ${grantedBy}, ${new Date(at).toISOString()}`);
    }
    return EXIT.ok;
  }
  if (verb !== "revoke" || channel === undefined || person === undefined) {
    options.print("perch people takes nothing, or: revoke <channel> <person>.");
    return EXIT.failed;
  }
  const found = await withData(options, (database) => revoke(database, channel, person));
  options.print(found ? `${channel} ${person} has no grant any more.` : `${channel} ${person} had no grant.`);
  return found ? EXIT.ok : EXIT.failed;
}
