/**
 * Small messages between the processes of one Perch: what has to reach the process where something runs. They are best
 * effort: each reaches every process at most once, and whoever sends one must be able to do without it.
 */
export type Wire = {
  /**
   * Hands a message to all subscribers of a topic, those of this process first. Never throws: what is larger than
   * `MESSAGE_BYTES` or cannot be sent now is lost to other processes, and the log says so.
   */
  publish(topic: string, message: Json): void;
  /** Each subscriber gets a copy of its own. What it throws is logged. Gives what ends the subscription. */
  subscribe(topic: string, handler: (message: Json) => void): () => void;
  close(): Promise<void>;
};

/** As UTF-8 JSON. Drafts are the largest messages; a platform's take a few thousand characters. */
export const MESSAGE_BYTES = 262_144;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
