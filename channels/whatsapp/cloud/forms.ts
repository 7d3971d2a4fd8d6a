import type { Attempt } from "../../../src/core/channel.ts";

/**
 * The simpler forms that a refusal can name; a piece may need several. "document" is a file that is not shown, "bare" has
 * its choices written out, "alone" answers no message, "new" is a message of its own in place of an edit.
 */
export type Form = "document" | "bare" | "alone" | "new";

export type Forms = ReadonlySet<string>;

export function formsOf({ form = "" }: Pick<Attempt, "form">): Forms {
  return new Set(form === "" ? [] : form.split(SEPARATOR));
}

/** The name of these forms and one more; nothing where it is one of them. */
export function stepDown(forms: Forms, next: Form): string | undefined {
  return forms.has(next) ? undefined : [...forms, next].join(SEPARATOR);
}

const SEPARATOR = ", ";
