import { AsyncLocalStorage } from "node:async_hooks";
import type { SignalKeyStoreWithTransaction } from "@whiskeysockets/baileys";

/** Which transaction what runs belongs to, by key store. */
const transactions = new AsyncLocalStorage<ReadonlyMap<object, unknown>>();

/**
 * Lets the transactions of a key store know each other by the one context that all share. Baileys makes an AsyncLocalStorage
 * for each socket; Node 20 never lets go of one that was used, and writes each into every promise: after 500 reconnects a
 * promise would take 400 times as long. To be called before the first transaction.
 */
export function inOneContext(keys: SignalKeyStoreWithTransaction): void {
  const storage = storageOf(keys);
  storage.getStore = () => transactions.getStore()?.get(storage);
  storage.run = <R, Args extends unknown[]>(
    transaction: unknown,
    work: (...args: Args) => R,
    ...args: Args
  ): R => transactions.run(new Map(transactions.getStore()).set(storage, transaction), work, ...args);
}

/** The one that is looked into when the store is asked whether a transaction runs; nobody else hands it out. */
function storageOf(keys: SignalKeyStoreWithTransaction): AsyncLocalStorage<unknown> {
  const { prototype } = AsyncLocalStorage;
  const look = Object.getOwnPropertyDescriptor(prototype, "getStore");
  const asked: AsyncLocalStorage<unknown>[] = [];
  Object.defineProperty(prototype, "getStore", {
    ...look,
    value(this: AsyncLocalStorage<unknown>): undefined {
      asked.push(this);
    },
  });
  try {
    keys.isInTransaction();
  } finally {
    if (look) Object.defineProperty(prototype, "getStore", look);
  }
  const [storage] = asked;
  if (!storage) throw new Error("this version of Baileys keeps its transactions somewhere else");
  return storage;
}
