import type { ChannelId } from "../core/identity.ts";
import { say } from "../core/sentences.ts";
import { durationWords } from "../core/words.ts";
import type { Database } from "../store/database.ts";
import { endPairing, letIn, pairingOf, pendingPairings } from "../store/pairing.ts";
import { withData } from "./data.ts";
import { EXIT } from "./exit.ts";
import { isLinked, link, type LinkOptions } from "./link.ts";

export type PairOptions = LinkOptions & { readonly phone?: string };

/**
 * Of a connection that is linked with an account: links it. Else lists who asks to be let in; with the code that somebody
 * was given, lets them in, from their next message on.
 */
export async function pair(options: PairOptions, words: readonly string[]): Promise<number> {
  const { print, phone } = options;
  const [channel, code] = words;
  if (phone !== undefined && !/^\+[1-9]\d{6,14}$/.test(phone)) {
    print(`--phone ${phone} is no phone number with its country; write it as +15551234567.`);
    return EXIT.failed;
  }
  if (channel !== undefined && code === undefined && (await isLinked(options, channel)))
    return await link(options, channel, phone === undefined ? {} : { phone });
  const now = options.clock.now();
  if (code === undefined) {
    const pending = await withData(options, ({ db }) => pendingPairings(db, now));
    const asked = pending.filter((pairing) => channel === undefined || pairing.channel === channel);
    for (const { channel: id, person, createdAt } of asked)
      print(`${id} ${person} has asked for ${durationWords((now - createdAt) / 1_000)}`);
    print(
      asked.length === 0
        ? "Nobody asks to be let in."
        : "perch pair <channel> <code> lets in whoever was given that code.",
    );
    return EXIT.ok;
  }
  const person = await withData(options, (database) => letInBy(database, channel ?? "", code, now));
  if (person === undefined) {
    print(`Nobody in ${channel} was given that code within the last hour; perch pair lists who asks.`);
    return EXIT.failed;
  }
  print(`${channel} ${person} is let in; the gateway tells them when it runs.`);
  return EXIT.ok;
}

async function letInBy(
  { db }: Database,
  channel: ChannelId,
  code: string,
  now: number,
): Promise<string | undefined> {
  return await db.transaction().execute(async (trx) => {
    const pairing = await pairingOf(trx, code, now);
    if (pairing?.channel !== channel || !(await endPairing(trx, pairing, now))) return undefined;
    await letIn(trx, pairing, { grantedBy: "perch pair", sentence: say("pair.welcome"), now });
    return pairing.person;
  });
}
