import { expect, it } from "vitest";
import { holdDelivery, leaveDelivery, renewDelivery } from "../../src/store/delivery-holds.ts";
import { nextPiece } from "../../src/store/pieces.ts";
import { HOLD_MS } from "../../src/store/renew.ts";
import { endPiece, markSending, parkChat, replanPiece } from "../../src/store/sending.ts";
import { besides, eachDatabase } from "../support/database.ts";
import { delivery, text, TO } from "./delivery.ts";

const NAMES = ["one", "two", "three", "four", "five", "six"];

eachDatabase("a chat that several processes could send to", (open) => {
  it("is sent each piece once and in order, whoever comes", async () => {
    const database = await open();
    const { platform, plan, chat, clock, another, run } = await delivery(database, {}, true);
    await plan(...NAMES.map(text));
    const processes = await Promise.all(
      Array.from({ length: 5 }, async () => another(await besides(database, open))),
    );
    await Promise.all(processes.map((process) => process.run(chat)));
    await clock.advance(1_000);
    await run();
    expect(platform.textsIn(TO.chat)).toEqual(NAMES);
    expect(platform.sends).toBe(NAMES.length);
  });

  it("is left alone by all others while one sends, however long that takes", async () => {
    const database = await open();
    const { platform, plan, chat, clock, another, states } = await delivery(database, {}, true);
    let arrive = (): void => {};
    const sending = new Promise<void>((resolve) => (arrive = resolve));
    let begun = (): void => {};
    const isSending = new Promise<void>((resolve) => (begun = resolve));
    platform.onTheWay = async () => {
      begun();
      await sending;
    };
    await plan(text("one"));
    const first = another();
    const second = another(await besides(database, open));
    const sent = first.run(chat);
    await isSending;
    for (let passed = 0; passed < 1.5 * HOLD_MS; passed += 10_000) {
      expect(await second.run(chat)).toBe(clock.now() + 500);
      await clock.advance(10_000);
    }
    arrive();
    expect(await sent).toBeUndefined();
    expect([platform.sends, await states()]).toEqual([1, ["sent"]]);
    expect(await second.run(chat)).toBeUndefined();
  });

  it("is taken over from who is gone: what was on its way is found out about, and who comes late writes nothing", async () => {
    const database = await open();
    const { platform, plan, chat, clock, another, states } = await delivery(database, {}, true);
    await plan(text("one"), text("two"));
    const gone = await holdDelivery(database, chat, {
      owner: "gone",
      now: clock.now(),
      until: clock.now() + HOLD_MS,
    });
    const piece = (await nextPiece(database, chat, gone))!;
    await markSending(database, piece.id, { now: clock.now(), settledAt: 0 }, gone);
    const next = another(await besides(database, open));
    expect(await next.run(chat)).toBe(clock.now() + 500);
    await clock.advance(HOLD_MS);
    expect(await next.run(chat)).toBeUndefined();
    expect(platform.textsIn(TO.chat)).toEqual(["(sent again)\none", "two"]);
    expect(await states()).toEqual(["sent", "sent"]);
    const lost = { code: "store.hold_lost" };
    const now = clock.now();
    await expect(
      endPiece(database, piece.id, { state: "sent", ids: ["x"], now }, gone),
    ).rejects.toMatchObject(lost);
    await expect(markSending(database, piece.id, { now, settledAt: 0 }, gone)).rejects.toMatchObject(lost);
    await expect(replanPiece(database, piece.id, { notBefore: 0, error: "" }, gone)).rejects.toMatchObject(
      lost,
    );
    await expect(parkChat(database, chat, "", gone)).rejects.toMatchObject(lost);
    expect(await renewDelivery(database, gone!, now + HOLD_MS)).toBe(false);
    await leaveDelivery(database, gone!);
    expect(await states()).toEqual(["sent", "sent"]);
  });

  it("is sent nothing by a process that has stalled between the mark and the send", async () => {
    const database = await open();
    const { platform, plan, chat, clock, another, states } = await delivery(database, {}, true);
    await plan(text("one"));
    let isMark = false;
    const stalled = another({
      ...database,
      db: database.db.withPlugin({
        transformQuery({ node }) {
          isMark = node.kind === "UpdateQueryNode" && JSON.stringify(node.table).includes('"piece"');
          return node;
        },
        async transformResult({ result }) {
          if (isMark) await clock.advance(HOLD_MS / 2);
          return result;
        },
      }),
    });
    await stalled.run(chat);
    expect([platform.sends, await states()]).toEqual([0, ["sending"]]);
  });
});
