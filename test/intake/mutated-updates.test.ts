import type { Update } from "grammy/types";
import { expect, it } from "vitest";
import { Updates } from "../../channels/telegram/updates.ts";
import { samples } from "../channels/telegram/fixtures.ts";
import { random } from "../reply/documents.ts";
import { testHost } from "../support/channel-host.ts";
import { eachDatabase } from "../support/database.ts";
import { takingIn } from "./set-up.ts";

const UPDATES = process.env["PERCH_LONG"] ? 20_000 : 1_500;
const PEOPLE_AND_CHATS = [5, 6, 700100001, -400000001, -1002000000001, -1002000000009];
/** What people can put where words stand; in what a button carries even a NUL, which PostgreSQL takes nowhere. */
const WORDS = [
  ..."\0|a\0b|\ud800|\u202e|'|__proto__|constructor|@fern_demo_bot|/new|/stop|/pair|/pair \0|/start abcdefgh".split(
    "|",
  ),
  "",
  "x".repeat(5_000),
];
const WRITTEN =
  /^(text|caption|data|(first|last|user|file|sender_user|)_?name|title|emoji|question|url|language)$/;
const NUMBERED = /^(message_id|message_thread_id|topic_id|date|edit_date)$/;

type Next = () => number;

/** A sample with other people, chats, numbers and words in it, and some of its parts gone; the same for the same numbers. */
function mutated(next: Next): Update {
  const below = (most: number): number => Math.floor(next() * most);
  const one = <T>(of: readonly T[]): T => of[below(of.length)] as T; // of is never empty
  const copy = structuredClone(one(samples.updates).update);
  const change = (part: object): void => {
    for (const [key, value] of Object.entries(part) as [keyof typeof part, unknown][]) {
      const put = (other: unknown): void => void Object.assign(part, { [key]: other });
      const now = next();
      if (typeof value === "object" && value !== null) {
        if (now < 0.02) put(undefined);
        else change(value);
      } else if (now > 0.2 || key === "update_id") continue;
      else if (typeof value === "string" && WRITTEN.test(key)) put(one(WORDS));
      else if (typeof value === "number" && /^id$|chat_id$/.test(key)) put(one(PEOPLE_AND_CHATS));
      else if (typeof value === "number" && NUMBERED.test(key)) put(40 + below(30));
      else if (typeof value === "boolean") put(!value);
    }
  };
  change(copy);
  return JSON.parse(JSON.stringify(copy)) as Update; // or what is left of one
}

eachDatabase("whatever people make Telegram send", (open) => {
  it("is taken in or left out, alone and with what came before it, and holds up nothing", async () => {
    const rules = { open: true, turnsPerHour: 5, strangers: "pair", context: 5, names: ["fern"] } as const;
    const taking = takingIn(await open(), rules);
    const { host, close } = await testHost();
    await close();
    const accept: typeof host.accept = (events) => taking.intake.accept("toy", events);
    const connection = { id: "bc_demo_1", user: { id: 5 }, is_enabled: true, rights: { can_reply: true } };
    const api = { answerCallbackQuery: async () => true, getBusinessConnection: async () => connection };
    const options = { channelPosts: true, business: ["5"] };
    const updates = new Updates({ ...host, accept }, api as never, options); // nothing else is asked
    const next = random(7);
    let before: Update | undefined;
    for (let n = 0; n < UPDATES; n += 1) {
      const update = mutated(next);
      const batch = before && next() < 0.3 ? [before, update] : [update];
      await updates.take(batch, samples.bot).catch((cause: unknown) => {
        throw new Error(`it is stuck at ${JSON.stringify(batch)}`, { cause });
      });
      before = update;
      if (n % 100 === 0) await taking.clock.advance(60_000);
    }
    const kinds = await taking.database.db.selectFrom("inbox").select("type").distinct().execute();
    expect(kinds.map(({ type }) => type).toSorted()).toEqual([
      "choice",
      "deleted",
      "edited",
      "membership",
      "message",
      "reaction",
      "stop",
    ]);
    expect((await taking.fates()).length).toBeGreaterThan(UPDATES / 3);
  });
});
