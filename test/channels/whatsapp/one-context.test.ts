import { executionAsyncResource } from "node:async_hooks";
import { addTransactionCapability, type SignalKeyStoreWithTransaction } from "@whiskeysockets/baileys";
import { expect, it } from "vitest";
import { inOneContext } from "../../../channels/whatsapp/baileys/keys/one-context.ts";
import { memoryKeys } from "../../support/whatsapp/memory-keys.ts";
import { SILENT } from "../../support/whatsapp/silent-logger.ts";

/** As each socket makes one of the account's keys. */
function keysOfSocket(): SignalKeyStoreWithTransaction {
  const keys = addTransactionCapability(memoryKeys(), SILENT, {
    maxCommitRetries: 1,
    delayBetweenTriesMs: 1,
  });
  inOneContext(keys);
  return keys;
}

/** How many contexts Node carries along with what runs here. */
async function contexts(): Promise<number> {
  await Promise.resolve();
  return Object.getOwnPropertySymbols(executionAsyncResource()).length;
}

it("leaves nothing behind in Node, however many sockets have used their keys", async () => {
  const first = keysOfSocket();
  await first.transaction(async () => first.get("session", ["a"]), "a");
  const before = await first.transaction(contexts, "a");
  for (let socket = 0; socket < 50; socket += 1) {
    const keys = keysOfSocket();
    await keys.transaction(async () => keys.get("session", ["a"]), "a");
  }
  expect(await first.transaction(contexts, "a")).toBe(before);
});

it("knows its own transactions, and not those of another socket", async () => {
  const [keys, other] = [keysOfSocket(), keysOfSocket()];
  expect(keys.isInTransaction()).toBe(false);
  await keys.transaction(async () => {
    await keys.set({ session: { a: Buffer.from("new") } });
    expect([keys.isInTransaction(), other.isInTransaction()]).toEqual([true, false]);
    await other.transaction(async () => {
      expect([keys.isInTransaction(), other.isInTransaction()]).toEqual([true, true]);
    }, "b");
    // A transaction within another is the same.
    await keys.transaction(async () => {
      expect(await keys.get("session", ["a"])).toEqual({ a: Buffer.from("new") });
    }, "c");
  }, "a");
  expect(keys.isInTransaction()).toBe(false);
  expect(await keys.get("session", ["a"])).toEqual({ a: Buffer.from("new") });
});
