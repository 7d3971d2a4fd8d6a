/**
 * The simpler forms that a refusal can name. "alone" is without the message that it answers and the people that it names,
 * "document" a file that is not shown, "new" a message of its own in place of an edit.
 */
export type Form = "alone" | "document" | "new";

export type Forms = ReadonlySet<Form>;
