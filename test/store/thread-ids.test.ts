import { expect, it } from "vitest";
import type { Place } from "../../src/core/events.ts";
import { chatOf, currentThread, freshThread } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { eachDatabase } from "../support/database.ts";

const PLACES: readonly (readonly [channel: string, place: Place])[] = [
  ["telegram", { chat: "123", kind: "private" }],
  ["whatsapp", { chat: "123", kind: "private" }],
  ["telegram", { chat: "-123", kind: "group" }],
  ["telegram", { chat: "-100123", topic: "4", kind: "group" }],
  ["telegram", { chat: "-100123", topic: "5", kind: "group" }],
];

eachDatabase("the threads of chats", (open) => {
  const threadsOf = async ({ db }: Database, agent = "helper"): Promise<readonly string[]> => {
    const threads: string[] = [];
    for (const [channel, place] of PLACES)
      threads.push(await currentThread(db, await chatOf(db, channel, place), agent));
    return threads;
  };

  it("are five for five places that look alike, and the same after a restart (THR-01)", async () => {
    const database = await open();
    const threads = await threadsOf(database);
    expect(new Set(threads).size).toBe(5);
    expect(await threadsOf(database)).toEqual(threads);
    expect(await threadsOf(await open(database))).toEqual(threads);
  });

  it("are others for each agent and after /new, and stay in their chat (THR-01)", async () => {
    const database = await open();
    const before = await threadsOf(database);
    const others = await threadsOf(database, "editor");
    const [channel, place] = PLACES[0]!; // there are five
    await freshThread(database.db, await chatOf(database.db, channel, place), "helper");
    const [fresh, ...rest] = await threadsOf(database);
    expect(new Set([...before, ...others, fresh]).size).toBe(11);
    expect(rest).toEqual(before.slice(1));
    expect(fresh?.split("/")[0]).toBe(before[0]?.split("/")[0]);
  });
});
