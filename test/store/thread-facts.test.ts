import { expect, it } from "vitest";
import type { ChatId } from "../../src/core/identity.ts";
import { NOTHING_SPENT, rememberThread, threadFact } from "../../src/store/thread-facts.ts";
import { eachDatabase } from "../support/database.ts";

eachDatabase("what is known of threads", (open) => {
  const of = { thread: "7/helper/1", chat: 7 as ChatId, agent: "helper" }; // a chat of the test's own
  const spent = (inputTokens: number, outputTokens: number, costMicros = 0) => ({
    ...NOTHING_SPENT,
    inputTokens,
    outputTokens,
    costMicros,
  });
  const window = { messages: 4, tokens: 900, estimated: true, window: 8_000 };

  it("knows nothing of a thread before its first turn has ended", async () => {
    const { db } = await open();
    expect(await threadFact(db, of.thread)).toBeUndefined();
  });

  it("keeps the first title, the newest size, and the sum of what was spent", async () => {
    const { db } = await open();
    await rememberThread(db, of, { spent: spent(10, 1) }, 1);
    expect(await threadFact(db, of.thread)).toEqual({ title: "", last: spent(10, 1), all: spent(10, 1) });
    await rememberThread(db, of, { title: "Birds", window, spent: spent(100, 5, 70) }, 2);
    await rememberThread(db, of, { title: "Fish", spent: NOTHING_SPENT }, 3);
    expect(await threadFact(db, of.thread)).toEqual({
      title: "Birds",
      window,
      last: NOTHING_SPENT,
      all: spent(110, 6, 70),
    });
    const counted = { ...window, tokens: 1_200, estimated: false };
    await rememberThread(db, of, { title: "Fish", window: counted, spent: spent(200, 4, 30) }, 4);
    expect(await threadFact(db, of.thread)).toEqual({
      title: "Birds",
      window: counted,
      last: spent(200, 4, 30),
      all: spent(310, 10, 100),
    });
  });

  it("tells threads apart", async () => {
    const { db } = await open();
    await rememberThread(db, of, { title: "Birds", window, spent: spent(1, 1) }, 1);
    await rememberThread(
      db,
      { ...of, thread: "7/helper/2" },
      { title: "Fish", window, spent: spent(2, 2) },
      1,
    );
    expect((await threadFact(db, "7/helper/1"))?.title).toBe("Birds");
    expect((await threadFact(db, "7/helper/2"))?.title).toBe("Fish");
  });
});
