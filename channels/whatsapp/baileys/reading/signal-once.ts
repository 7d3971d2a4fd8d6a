import { AsyncResource } from "node:async_hooks";
import {
  DEFAULT_CONNECTION_CONFIG,
  type SignalKeyStoreWithTransaction,
  type SocketConfig,
} from "@whiskeysockets/baileys";
import type { Journalled } from "./journalled.ts";

type MakeSignalRepository = SocketConfig["makeSignalRepository"];

/**
 * The library's decryption, with what was read on the disk before the ratchet turns: a message whose receipt never went
 * out comes again, and cannot be decrypted a second time. `broken` is told where the disk refuses.
 */
export function readingOnce(journalled: Journalled, broken: (error: unknown) => void): MakeSignalRepository {
  return (auth, logger, lidOf) => {
    const repository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, lidOf);
    const keys = auth.keys as SignalKeyStoreWithTransaction; // the socket gives it that before it hands it over
    const once = (ciphertext: Uint8Array, lane: string, decrypt: () => Promise<Uint8Array>) =>
      keys.transaction(async () => {
        const before = journalled.readOf(ciphertext);
        if (before) {
          // It may have been killed between the two; then the ratchet turns now.
          return await decrypt().catch(() => before);
        }
        const read = await decrypt();
        try {
          journalled.keepRead(ciphertext, read);
        } catch (error) {
          broken(error);
          throw error; // the transaction is rolled back
        }
        return read;
      }, lane);
    // The library encrypts within a transaction of the whole message. It would write, once that has gone out, sessions as they
    // were when it began over what was read meanwhile; so each is a transaction of its own, which its person's others wait for.
    const outside = new AsyncResource("encryption");
    const apart = <T>(work: () => Promise<T>): Promise<T> => outside.runInAsyncScope(work);
    return {
      ...repository,
      injectE2ESession: (given) => apart(() => repository.injectE2ESession(given)),
      encryptMessage: (given) => apart(() => repository.encryptMessage(given)),
      encryptGroupMessage: (given) => apart(() => repository.encryptGroupMessage(given)),
      decryptMessage: (given) => once(given.ciphertext, given.jid, () => repository.decryptMessage(given)),
      decryptGroupMessage: (given) =>
        once(given.msg, given.group, () => repository.decryptGroupMessage(given)),
    };
  };
}
