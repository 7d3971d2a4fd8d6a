import { randomUUID } from "node:crypto";
import type { Log } from "../core/log.ts";
import type { Wire } from "../core/wire.ts";
import type { Redis } from "./redis.ts";
import { WireEnds } from "./wire-in-process.ts";

/**
 * The wire over Redis' pub/sub, on a connection of its own that subscribes anew when Redis was away. Subscribers of the
 * same process are handed a message at once, also while Redis is away.
 */
export function redisWire(redis: Redis, log: Log): Wire {
  const ends = new WireEnds(log);
  const self = randomUUID();
  const client = redis.duplicate();
  const channelOf = (topic: string): string => `${redis.prefix}:wire:${topic}`;
  let closed = false;
  // What is still asked for at the end is cut off by it.
  const trouble = (err: unknown): void => {
    if (!closed) redis.trouble(err);
  };
  return {
    publish(topic, message) {
      const text = ends.textOf(topic, message);
      if (text === undefined || closed) return;
      ends.deliver(topic, text);
      if (redis.isReady) redis.publish(channelOf(topic), self + text).catch(trouble);
    },
    subscribe(topic, handler) {
      const isFirst = !ends.topics.includes(topic);
      const remove = ends.add(topic, handler);
      if (isFirst) client.subscribe(channelOf(topic), (sent) => heard(topic, sent)).catch(trouble);
      return () => {
        remove();
        if (!closed && !ends.topics.includes(topic)) client.unsubscribe(channelOf(topic)).catch(trouble);
      };
    },
    async close() {
      closed = true;
      ends.clear();
      if (client.isOpen) client.destroy();
    },
  };

  function heard(topic: string, sent: string): void {
    if (!sent.startsWith(self)) ends.deliver(topic, sent.slice(self.length));
  }
}
