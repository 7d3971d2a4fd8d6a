import type { Attempt } from "../../../../src/core/channel.ts";

/**
 * The simpler forms that a refusal can name; a piece may need several. "alone" is without the message that it answers and
 * the people that it names, "document" a file that is not shown, "new" a message of its own in place of an edit.
 */
export type Form = "alone" | "document" | "new";

export type Forms = ReadonlySet<string>;

export function formsOf({ form = "" }: Pick<Attempt, "form">): Forms {
  return new Set(form === "" ? [] : form.split(SEPARATOR));
}

/** The name of these forms and one more; nothing where it is one of them. */
export function stepDown(forms: Forms, next: Form): string | undefined {
  return forms.has(next) ? undefined : formName(new Set([...forms, next]));
}

export function formName(forms: Forms): string {
  return [...forms].join(SEPARATOR);
}

const SEPARATOR = ", ";
