/**
 * The simpler forms that a refusal can name. "document" is a file that is not shown, "bare" has its choices written out,
 * "alone" answers no message, "new" is a message of its own in place of an edit.
 */
export type Form = "document" | "bare" | "alone" | "new";

export type Forms = ReadonlySet<Form>;
