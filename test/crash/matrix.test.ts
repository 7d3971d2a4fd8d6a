import { describe, expect, it } from "vitest";
import { type CrashPoint, crashRun } from "../support/crash-run.ts";

const SIZE = process.env["PERCH_LONG"] ? { chats: 50, each: 4, kills: 6 } : { chats: 10, each: 3, kills: 3 };

const POINTS: readonly (readonly [string, CrashPoint])[] = [
  ["after the poll's answer has arrived", { at: "poll" }],
  ["after the inbox was committed", { at: "commit", of: 'insert into "inbox"' }],
  ["during a download", { at: "download" }],
  ["after a download was counted", { at: "commit", of: 'update "attachment" set "attempts"' }],
  ["after a photo was read", { at: "commit", of: 'update "attachment" set "state"' }],
  ["while the model speaks", { at: "model" }],
  ["after the answer is in the thread", { at: "commit", of: 'insert into "thread_checkpoint"' }],
  ["after the pieces were planned", { at: "commit", of: 'insert into "piece"' }],
  ["before a send is taken", { at: "send", event: "beforeCommit" }],
  ["after a send was taken", { at: "send", event: "afterCommit" }],
];

describe(`kill -9, ${SIZE.chats * SIZE.each} messages in ${SIZE.chats} chats`, () => {
  it.each(POINTS)(
    "%s: nothing is lost, nothing is answered twice, order is kept",
    { timeout: 240_000 },
    async (name, point) => {
      const counts = await crashRun(point, SIZE);
      if (process.env["PERCH_COUNTS"]) console.log(JSON.stringify({ point: name, ...counts }));
      expect(counts).toMatchObject({ kills: SIZE.kills, lost: [], twice: [], disordered: [] });
    },
  );
});
