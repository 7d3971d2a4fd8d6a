import type { BinaryNode, proto } from "@whiskeysockets/baileys";

/** What goes wrong with a message of the client's. */
export type MessageFault =
  /** Acknowledged with an error; with `delivered` it reached people all the same. */
  | { readonly kind: "reject"; readonly error: number; readonly delivered?: boolean }
  /** Never acknowledged. */
  | { readonly kind: "noAck"; readonly delivered: boolean }
  /** The connection breaks: before the message reached anybody, or after that but before it is acknowledged. */
  | { readonly kind: "cut"; readonly when: "before" | "after" }
  /** Delivered and acknowledged, but only then. */
  | { readonly kind: "late"; readonly until: Promise<void> }
  /** Arrives, but cannot be decrypted: the phones ask for it again instead of showing it. */
  | { readonly kind: "unreadable" };

/** What goes wrong with a query (`<iq>`). */
export type QueryFault =
  | { readonly kind: "silence" }
  | { readonly kind: "error"; readonly code: number; readonly text?: string }
  | { readonly kind: "late"; readonly until: Promise<void> }
  | { readonly kind: "cut" };

/** What goes wrong after the handshake. */
export type LoginFault =
  /** `<failure reason="401">` and the like, with what else it says, such as `expire`. */
  | { readonly kind: "failure"; readonly reason: number; readonly attrs?: Readonly<Record<string, string>> }
  | { readonly kind: "cut" }
  | { readonly kind: "silence" };

export type DownloadFault =
  | { readonly kind: "status"; readonly code: number }
  /** Half of the body, then the connection breaks. */
  | { readonly kind: "cut" }
  /** The first bytes of the body, then nothing more. */
  | { readonly kind: "stall" }
  /** No end, and no length that would say so. */
  | { readonly kind: "oversized" }
  | { readonly kind: "tampered" }
  | { readonly kind: "empty" };

export type UploadFault =
  | { readonly kind: "status"; readonly code: number }
  | { readonly kind: "cut" }
  /** The whole body is taken, and never answered. */
  | { readonly kind: "stall" };

/** What the phone answers that is asked to upload a file anew; without a fault it does. */
export type ReuploadFault = { readonly kind: "silence" } | { readonly kind: "notFound" };

/** What goes wrong, and when: the first rule that matches holds, as often as it says. */
export class Faults {
  readonly messages = new FaultRules<MessageFault, BinaryNode>();
  readonly queries = new FaultRules<QueryFault, BinaryNode>();
  readonly logins = new FaultRules<LoginFault, proto.IClientPayload>();
  /** By the path of the file. */
  readonly downloads = new FaultRules<DownloadFault, string>();
  readonly uploads = new FaultRules<UploadFault, string>();
  /** By the id of the message. */
  readonly reuploads = new FaultRules<ReuploadFault, string>();
}

type Rule<F, S> = { readonly fault: F; readonly when: (subject: S) => boolean; left: number };

export class FaultRules<F, S> {
  readonly #rules: Rule<F, S>[] = [];

  /** Once, unless `times` says more (Infinity: until what it gives back is called). */
  add(
    fault: F,
    {
      when = () => true,
      times = 1,
    }: { readonly when?: (subject: S) => boolean; readonly times?: number } = {},
  ): () => void {
    const rule = { fault, when, left: times };
    this.#rules.push(rule);
    return () => void (rule.left = 0);
  }

  /** The fault that `subject` meets; it has then happened once more. */
  meets(subject: S): F | undefined {
    const rule = this.#rules.find(({ left, when }) => left > 0 && when(subject));
    if (rule) rule.left -= 1;
    return rule?.fault;
  }
}
