import type { InboundEvent } from "../core/events.ts";
import type { ChatId } from "../core/identity.ts";
import { insertEvent, type TraceStep } from "../store/inbox.ts";
import type { Told } from "./about.ts";
import { payloadHash } from "./content-hash.ts";

/** Writes down an event that begins no turn, so that a repeat of it is known as one. Whether it is new. */
export async function record<Event extends InboundEvent>(
  { trx, channel, event, now }: Told<Event>,
  as: {
    readonly chat: ChatId;
    readonly sender: string;
    /** Why it leads to nothing; "" where it has been done. */
    readonly why: string;
    readonly trace: Omit<TraceStep, "at">;
  },
): Promise<boolean> {
  const id = await insertEvent(trx, {
    channel,
    chat: as.chat,
    key: event.id,
    type: event.type,
    payload: "",
    payloadHash: payloadHash(event),
    contentHash: "",
    sender: as.sender,
    ref: "",
    state: as.why === "" ? "consumed" : "refused",
    why: as.why,
    agent: "",
    thread: "",
    intent: 0,
    album: "",
    receivedAt: now,
    dueAt: 0,
    trace: { at: now, ...as.trace } as TraceStep, // whose other details are of any name
  });
  return id !== undefined;
}
