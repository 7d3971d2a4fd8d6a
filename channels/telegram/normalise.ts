/**
 * Text as the Bot API server would store it, so that it changes nothing: NFC, tabs as four blanks, other control
 * characters as one, no carriage returns, no bidi embeddings or line separators, no rings that it deletes.
 * Source: TDLib MessageEntity.cpp, clean_input_string.
 */
export function clean(text: string): string {
  return (
    text
      .normalize("NFC")
      .replaceAll("\t", "    ")
      .replaceAll(/\r|[\u2028-\u202e]|[\u0333\u033f\u030a]/g, "")
      .replaceAll(/(?!\n)\p{Cc}/gu, " ")
      // Of a run of direction marks the server keeps the last.
      .replaceAll(/[\u200e\u200f](?=[\u200e\u200f])/g, "\u200c")
      .replaceAll(/\p{Surrogate}/gu, "\ufffd")
  );
}
