import type { Topic, Work } from "../core/dispatcher.ts";
import type { ChannelId } from "../core/identity.ts";

/** @throws TypeError for a key that would lie where nobody works on it. */
export function checkPlace(topic: Topic, work: Work, place: ChannelId | undefined): void {
  const placed = work.placed === true;
  if (placed === (place !== undefined)) return;
  throw new TypeError(
    placed
      ? `keys of "${topic}" belong to a place, and this one was woken without`
      : `keys of "${topic}" belong to no place, and this one was woken at "${place}"`,
  );
}
