/**
 * "messages" sends; "marks" are read marks and typing, at the same address; "lookup" gives a file's address, "file" its
 * bytes, "number" the number.
 */
export type Route = "messages" | "marks" | "media" | "lookup" | "file" | "number";

/** What goes wrong with a call. Before: nothing happened at Meta; after: it did, and the client cannot know. */
export type GraphFault =
  | {
      readonly kind: "refuse";
      readonly status: number;
      readonly code: number;
      readonly message?: string;
      readonly details?: string;
      readonly retryAfterSeconds?: number;
    }
  /** The connection breaks. */
  | { readonly kind: "drop"; readonly when: "before" | "after" }
  /** What an edge answers in front of the Graph API, which is no JSON: 502, 503, 413. */
  | { readonly kind: "html"; readonly status: number; readonly when: "before" | "after" }
  /** The connection stays and nothing ever comes. */
  | { readonly kind: "silence"; readonly when: "before" | "after" }
  /** So many bytes of the answer, and then nothing more. */
  | { readonly kind: "stall"; readonly afterBytes: number }
  /** So many bytes of the answer, and then the connection breaks. */
  | { readonly kind: "cut"; readonly afterBytes: number }
  /** Other bytes than those that were sent, as many of them. */
  | { readonly kind: "tamper" }
  | { readonly kind: "redirect"; readonly to: string };

type Rule = { readonly route: Route; readonly fault: GraphFault; left: number };

export class GraphFaults {
  readonly #rules: Rule[] = [];

  /** The next `times` calls of a route; those that were placed first come first. */
  place(route: Route, fault: GraphFault, times = 1): void {
    this.#rules.push({ route, fault, left: times });
  }

  of(route: Route): GraphFault | undefined {
    const rule = this.#rules.find((each) => each.route === route && each.left > 0);
    if (rule) rule.left -= 1;
    return rule?.fault;
  }
}
