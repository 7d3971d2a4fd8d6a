import type { Attempt } from "./channel.ts";

/** The simpler forms that refusals of a piece have named so far; it may need several. */
export function formsOf<Form extends string>({ form = "" }: Pick<Attempt, "form">): ReadonlySet<Form> {
  return new Set(form === "" ? [] : (form.split(SEPARATOR) as Form[])); // the channel's own, by `stepDown`
}

/** As `Attempt.form` and `GatewayError.stepDown` have them. */
export function formName(forms: ReadonlySet<string>): string {
  return [...forms].join(SEPARATOR);
}

/** The name of these forms and one more; nothing where it is one of them. */
export function stepDown<Form extends string>(forms: ReadonlySet<Form>, next: Form): string | undefined {
  return forms.has(next) ? undefined : formName(new Set([...forms, next]));
}

const SEPARATOR = ", ";
