import { EventEmitter } from "node:events";
import { type NewChatMessageCapInfo, NewChatMessageCappingStatusType } from "@whiskeysockets/baileys";
import { expect, it } from "vitest";
import { Restrictions } from "../../../channels/whatsapp/baileys/sending/restrictions.ts";
import type { Line } from "../../../channels/whatsapp/baileys/line.ts";
import { testHost } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";

const HOUR = 3_600_000;

async function setUp() {
  const clock = manualClock();
  const { host, logged } = await testHost({ clock });
  const ev = new EventEmitter();
  const restrictions = new Restrictions(host);
  restrictions.hear({ socket: { ev }, generation: 1 } as unknown as Line); // it hears events alone
  const seconds = (ms: number): string => String(Math.ceil((clock.now() + ms) / 1_000));
  return {
    clock,
    host,
    logged,
    ev,
    restrictions,
    lock: (ms: number) =>
      ev.emit("connection.update", {
        reachoutTimeLock: { isActive: ms > 0, timeEnforcementEnds: new Date(clock.now() + ms) },
      }),
    cap: (status: NewChatMessageCappingStatusType, ms: number) => {
      const info: NewChatMessageCapInfo = { capping_status: status, cycle_end_timestamp: seconds(ms) };
      ev.emit("message-capping.update", info);
    },
  };
}

it("a lock holds messages to strangers until it ends, and is lifted early where WhatsApp says so", async () => {
  const { restrictions, lock, clock } = await setUp();
  await restrictions.check("lid:1");
  lock(2 * HOUR);
  await expect(restrictions.check("lid:1")).rejects.toMatchObject({
    code: "send.rate_limited",
    retryAfterMs: 2 * HOUR,
  });
  lock(0);
  await restrictions.check("lid:1");
  lock(2 * HOUR);
  await clock.advance(2 * HOUR);
  await restrictions.check("lid:1");
});

it("a lock of more than a day is a refusal, so that whoever waits is told", async () => {
  const { restrictions, lock } = await setUp();
  lock(25 * HOUR);
  await expect(restrictions.check("lid:1")).rejects.toMatchObject({ code: "send.refused" });
});

it("a quota of new chats that is used up is a lock until it begins anew; a warning is none", async () => {
  const { restrictions, cap } = await setUp();
  cap(NewChatMessageCappingStatusType.SECOND_WARNING, HOUR);
  await restrictions.check("lid:1");
  cap(NewChatMessageCappingStatusType.CAPPED, HOUR);
  await expect(restrictions.check("lid:1")).rejects.toMatchObject({ code: "send.rate_limited" });
});

it("a lock and a used-up quota are lifted each for itself", async () => {
  const { restrictions, lock, cap } = await setUp();
  const holds = { code: "send.rate_limited" };
  cap(NewChatMessageCappingStatusType.CAPPED, 2 * HOUR);
  // As WhatsApp answers whoever asks for the lock after a refusal.
  lock(0);
  await expect(restrictions.check("lid:1")).rejects.toMatchObject({ ...holds, retryAfterMs: 2 * HOUR });
  lock(HOUR);
  cap(NewChatMessageCappingStatusType.NONE, 2 * HOUR);
  await expect(restrictions.check("lid:1")).rejects.toMatchObject({ ...holds, retryAfterMs: HOUR });
  lock(0);
  await restrictions.check("lid:1");
});

it("a lock without an end holds for a minute, as on WhatsApp's own page", async () => {
  const { restrictions, ev, clock } = await setUp();
  ev.emit("connection.update", { reachoutTimeLock: { isActive: true } });
  await expect(restrictions.check("lid:1")).rejects.toMatchObject({ retryAfterMs: 60_000 });
  await clock.advance(60_000);
  await restrictions.check("lid:1");
});

it("a lock is said in the log without naming anybody, and outlives the process", async () => {
  const { host, logged, lock } = await setUp();
  lock(HOUR);
  expect(logged.map(({ level, fields }) => [level, Object.keys(fields)])).toEqual([
    ["warn", ["kind", "until"]],
  ]);
  const next = new Restrictions(host);
  await next.load();
  await expect(next.check("lid:1")).rejects.toMatchObject({ code: "send.rate_limited" });
});
