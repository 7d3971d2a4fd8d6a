import type { WaitingMessage } from "../store/inbox.ts";

/** Messages that a turn has taken up and that show a sign of waiting, as the platform calls them. */
export function signedIn(messages: readonly WaitingMessage[]): readonly string[] {
  return messages.flatMap(({ event, signed }) => (signed && event.type === "message" ? [event.ref] : []));
}
