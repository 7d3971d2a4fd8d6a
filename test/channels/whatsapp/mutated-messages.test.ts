import { BufferJSON } from "@whiskeysockets/baileys";
import { expect, it, onTestFinished } from "vitest";
import { channelState } from "../../../src/store/channel-state.ts";
import { takingIn } from "../../intake/set-up.ts";
import { random } from "../../reply/documents.ts";
import { eachDatabase } from "../../support/database.ts";
import { GROUP, hearing, ME, type Told, samples } from "./hearing.ts";

const MESSAGES = process.env["PERCH_LONG"] ? 10_000 : 500;
const PEOPLE = [
  "90000000000002@lid",
  "90000000000003@lid",
  "15550000002@s.whatsapp.net",
  "15550000009:3@s.whatsapp.net",
];
/** What people's programs can put where words and ids stand: a NUL, which PostgreSQL takes nowhere, and what is too long. */
const WORDS = [
  ..."\0|a\0b|\ud800|\u202e|'|__proto__|constructor|/new|/stop|/start abcdefgh|[by hand, from the owner]|@90000000000001 hi|A1|A/1/x|A1/by".split(
    "|",
  ),
  "",
  "x".repeat(70_000),
];
const NUMBERS = [0, -1, 1e300, Number.NaN, 7];

type Next = () => number;

/** A sample with other people, ids and words in it, and some of its parts gone; the same for the same numbers. */
function mutated(all: readonly Told[], next: Next): Told {
  const one = <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)] as T; // of is never empty
  const { event, data } = one(all);
  const change = (part: object, isTheirs: boolean): void => {
    for (const [key, value] of Object.entries(part) as [keyof typeof part, unknown][]) {
      const put = (other: unknown): void => void Object.assign(part, { [key]: other });
      const now = next();
      if (typeof value === "object" && value !== null && !(value instanceof Uint8Array)) {
        if (now < 0.02 && isTheirs) put(null);
        else if (!(value instanceof Date)) change(value, isTheirs || (key as string) === "message");
      } else if (/^(remoteJid|participant)$/.test(key)) {
        if (now < 0.4 && value) put(one((value as string).endsWith("@g.us") ? [GROUP, ...PEOPLE] : PEOPLE));
      } else if (/^(id|stanzaId)$/.test(key)) {
        if (now < 0.8) put(now < 0.15 ? one(WORDS) : `A${Math.floor(next() * 300)}`);
      } else if (now > 0.15 || !(isTheirs || /^pushName$/.test(key))) continue;
      else if (typeof value === "string") put(one([...WORDS, ...PEOPLE, ME.lid]));
      else if (typeof value === "number") put(one(NUMBERS));
      else if (typeof value === "boolean") put(!value);
    }
  };
  const copy: unknown = JSON.parse(JSON.stringify(data, BufferJSON.replacer), BufferJSON.reviver);
  change(copy as object, false);
  return { event, data: copy };
}

eachDatabase("whatever people's programs send", (open) => {
  it("is taken in or left out, and holds up nothing", async () => {
    const database = await open();
    const rules = { open: true, turnsPerHour: 5, context: 5, names: ["fern"] } as const;
    const taking = takingIn(database, rules);
    const { clock } = taking;
    const state = channelState(database, "toy", { owner: "test", clock });
    const test = await hearing({ state, clock });
    onTestFinished(() => test.close());
    test.host.beforeAccept(async (event) => void (await taking.intake.accept("toy", [event])));
    const all = (await samples()).flatMap(({ events }) =>
      events.filter(({ event }) => event === "messages.upsert"),
    );
    const next = random(7);
    for (let n = 0; n < MESSAGES; n += 1) {
      const { event, data } = mutated(all, next);
      test.emit(event, data);
      await test.events();
      const [failure] = test.host.failures;
      if (failure)
        throw new Error(`it is stuck at ${JSON.stringify(data).slice(0, 2_000)}`, { cause: failure });
    }
    const kinds = await database.db.selectFrom("inbox").select("type").distinct().execute();
    expect(kinds.map(({ type }) => type).toSorted()).toEqual(["deleted", "edited", "message", "reaction"]);
    expect((await taking.fates()).length).toBeGreaterThan(MESSAGES / 3);
  }, 90_000);
});
