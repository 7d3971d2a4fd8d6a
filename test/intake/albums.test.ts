import { expect, it } from "vitest";
import { Updates } from "../../channels/telegram/updates.ts";
import { sample, samples } from "../channels/telegram/fixtures.ts";
import { testHost } from "../support/channel-host.ts";
import { onSqlite } from "../support/database.ts";
import { type Taking, takingIn } from "./set-up.ts";

const open = onSqlite();
/** Of an album in a group: the first picture's caption names the bot, the second has none. */
const NAMED = sample("album_item_1");
const BARE = sample("album_item_2");

/** Telegram's updates, as they are handed over, into what everybody's messages are taken in by. */
async function setUp(): Promise<Taking & { hand(...updates: (typeof NAMED)[]): Promise<void> }> {
  const taking = takingIn(await open(), { open: true });
  const { host, close } = await testHost();
  await close();
  const accept = (events: Parameters<typeof host.accept>[0]) => taking.intake.accept("toy", events);
  const updates = new Updates({ ...host, accept }, {} as never, { channelPosts: false }); // no button is pressed
  return { ...taking, hand: (...batch) => updates.take(batch, samples.bot) };
}

async function intents({ database }: Taking): Promise<readonly string[]> {
  const rows = await database.db
    .selectFrom("inbox")
    .select(["event_key", "state", "intent"])
    .orderBy("id")
    .execute();
  return rows.map(({ event_key: key, state, intent }) => `${key} ${state} in ${intent}`);
}

it("an album of a group is one intent when its pictures come one by one, whatever they say themselves", async () => {
  const at = await setUp();
  await at.hand(NAMED);
  await at.clock.advance(900);
  await at.hand(BARE);
  expect(await intents(at)).toEqual(["54 waiting in 1", "55 waiting in 1"]);
});

it("an album that came at once is known when its pictures are handed over again one by one", async () => {
  const at = await setUp();
  await at.hand(NAMED, BARE);
  await at.hand(NAMED);
  await at.hand(BARE);
  expect(await intents(at)).toEqual(["54 waiting in 1", "55 waiting in 1"]);
});

it("a picture that comes when the turn of its album has begun is a turn of its own", async () => {
  const at = await setUp();
  await at.hand(NAMED);
  await at.database.db.updateTable("inbox").set({ state: "consumed", payload: "", turn_id: 7 }).execute();
  await at.clock.advance(11_000);
  await at.hand(BARE);
  expect(await intents(at)).toEqual(["54 consumed in 1", "55 waiting in 2"]);
});
