/**
 * Says who works on what, when. Facts live in the store: if every wake-up were lost, a sweep would find the work again.
 * Keys of a topic are independent; one key is never worked on twice at once.
 */
export type Dispatcher = {
  /** Makes sure that `key` is worked on at or after `at` (epoch ms). A wake-up during work means work once more. */
  wake(topic: Topic, key: string, at: number): void;
  /** Takes no new work; resolves when what runs has ended. */
  close(): Promise<void>;
};

export type Topic = "fetch" | "turn" | "deliver" | "task" | "memory" | "forget";

export type Work = {
  /** How many keys of this topic are worked on at once in this process. */
  readonly concurrency: number;
  /** A rejection is logged and tried again with a growing wait. */
  run(key: string): Promise<void>;
};
