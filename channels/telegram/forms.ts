/**
 * The simpler forms that a refusal can name. "entities" is without rich blocks, "plain" without marks, "document" a file
 * that is not shown, "bare" without buttons, "alone" an answer to no message, "new" a message of its own in place of an edit.
 */
export type Form = "entities" | "plain" | "document" | "bare" | "alone" | "new";

export type Forms = ReadonlySet<Form>;
