import type { proto } from "@whiskeysockets/baileys";

/** What a message is, out of all that stands around it. */
export type Unwrapped = {
  /** The name of its kind: "conversation", "imageMessage"; undefined where there is none that this build knows. */
  readonly kind: keyof proto.IMessage | undefined;
  readonly message: proto.IMessage;
  /** Of the innermost wrapper that has one: secrets, and which album it belongs to. */
  readonly about: proto.IMessageContextInfo | undefined;
};

/** What stands beside a message's kind. */
const BESIDE: ReadonlySet<string> = new Set(["senderKeyDistributionMessage", "messageContextInfo"]);

// The library peels off at most five of the wrappers that it knows.
const DEPTH = 10;

/**
 * Takes a message out of its wrappers (disappearing, view once, with a caption, edited, and those of later versions),
 * which all hold another message under `message`.
 */
export function unwrap(message: proto.IMessage): Unwrapped {
  let inner = message;
  let about = inner.messageContextInfo ?? undefined;
  for (let depth = 0; depth < DEPTH; depth++) {
    const wrapped = wrappedIn(inner);
    if (wrapped === undefined) break;
    inner = wrapped;
    about = inner.messageContextInfo ?? about;
  }
  return { kind: kindOf(inner), message: inner, about };
}

/** Whether nothing is said at all: only a key for what comes next. */
export function isSilent(message: proto.IMessage): boolean {
  return kindOf(message) === undefined && message.senderKeyDistributionMessage != null;
}

function wrappedIn(message: proto.IMessage): proto.IMessage | undefined {
  const kind = kindOf(message);
  const value: unknown = kind && message[kind];
  if (typeof value !== "object" || value === null || !("message" in value)) return undefined;
  return typeof value.message === "object" && value.message !== null ? value.message : undefined;
}

function kindOf(message: proto.IMessage): keyof proto.IMessage | undefined {
  const found = Object.entries(message).find(([key, value]) => value != null && !BESIDE.has(key));
  return found?.[0] as keyof proto.IMessage | undefined; // its own key
}
