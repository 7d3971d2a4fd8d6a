import { describe, expect, it } from "vitest";
import { type CrashPoint, crashRun } from "../support/crash-run.ts";

const SIZE = process.env["PERCH_LONG"] ? { chats: 50, each: 4, kills: 6 } : { chats: 10, each: 3, kills: 3 };

/**
 * Where answers are lost by chance: private chats share their numbers, so what was lost in many of them at once lies too far
 * from what is known to be looked for.
 */
const FEW = { ...SIZE, chats: 4 };

const POINTS: readonly (readonly [string, CrashPoint])[] = [
  ["after the poll's answer has arrived", { at: "poll" }],
  ["after the inbox was committed", { at: "commit", of: 'insert into "inbox"' }],
  ["during a download", { at: "download" }],
  ["after a download was counted", { at: "commit", of: 'update "attachment" set "attempts"' }],
  ["after a photo was read", { at: "commit", of: 'update "attachment" set "state"' }],
  ["while the model speaks", { at: "model" }],
  ["after the answer is in the thread", { at: "commit", of: 'insert into "thread_checkpoint"' }],
  ["after the pieces were planned", { at: "commit", of: 'insert into "piece"' }],
  ["before a send is taken", { at: "call", method: "sendMessage", event: "beforeCommit" }],
  ["after a send was taken", { at: "call", method: "sendMessage", event: "afterCommit" }],
  [
    "while a lost send is looked for",
    { at: "call", method: "editMessageText", event: "received", loses: true },
  ],
  [
    "before a second send is taken back",
    { at: "call", method: "deleteMessages", event: "beforeCommit", loses: true },
  ],
  [
    "after a second send was taken back",
    { at: "call", method: "deleteMessages", event: "afterCommit", loses: true },
  ],
];

describe(`kill -9, ${SIZE.chats * SIZE.each} messages in ${SIZE.chats} chats`, () => {
  it.each(POINTS)(
    "complaint 19: killed %s, nothing is lost, nothing is answered twice, order is kept",
    { timeout: 240_000 },
    async (name, point) => {
      const size = "loses" in point ? FEW : SIZE;
      const counts = await crashRun(point, size);
      if (process.env["PERCH_COUNTS"]) console.log(JSON.stringify({ point: name, ...counts }));
      expect(counts).toMatchObject({ kills: SIZE.kills, lost: [], twice: [], disordered: [] });
    },
  );
});
