import { type BinaryNode, encodeBigEndian } from "@whiskeysockets/baileys";
import { formOf, type Where } from "./composer.ts";
import { bundleNode } from "./key-bundle.ts";
import { newId, node, unixSeconds } from "./nodes.ts";
import type { Person } from "./person.ts";

/** That messages arrived, were read or played; without a type: arrived. */
export function receiptStanza(
  person: Person,
  [id, ...more]: readonly [string, ...string[]],
  where: Where & { readonly type?: "read" | "played" },
): BinaryNode {
  const items = more.map((other) => node("item", { id: other }));
  return node(
    "receipt",
    { id, ...from(person, where), ...(where.type ? { type: where.type } : {}) },
    items.length > 0 ? [node("list", {}, items)] : undefined,
  );
}

/** That a message could not be decrypted, for the `count`th time; from the second time on with keys for a new session. */
export function retryStanza(person: Person, id: string, count: number, where: Where): BinaryNode {
  const { bundle } = person.signal;
  const content = [
    node("retry", { count: String(count), id, t: String(unixSeconds()), v: "1" }),
    node("registration", {}, encodeBigEndian(bundle.registrationId)),
  ];
  if (count > 1) {
    const keys = bundleNode(person.lid, bundle).content;
    content.push(node("keys", {}, keys));
  }
  return node("receipt", { id, type: "retry", ...from(person, where) }, content);
}

export function typingStanza(
  person: Person,
  state: "composing" | "recording" | "paused",
  where: Where,
): BinaryNode {
  const shown = state === "recording" ? node("composing", { media: "audio" }) : node(state);
  return node("chatstate", from(person, where), [shown]);
}

/** A call that begins to ring, or has ended without an answer. */
export function callStanza(
  person: Person,
  id: string,
  state: "offer" | "timeout",
  video: boolean,
): BinaryNode {
  const attrs = { "call-id": id, "call-creator": person.lid, caller_pn: person.phone };
  const content =
    state === "offer"
      ? node("offer", attrs, video ? [node("video")] : [node("audio")])
      : node("terminate", { ...attrs, reason: "timeout" });
  return node("call", { id: newId(), from: person.lid, t: String(unixSeconds()) }, [content]);
}

function from(person: Person, where: Where): Record<string, string> {
  const form = formOf(person, where);
  const t = String(unixSeconds());
  return where.group ? { from: where.group.id, participant: form, t } : { from: form, t };
}
