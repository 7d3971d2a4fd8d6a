// What Windows-1252 has in the places of the C1 controls; four of them are empty.
const C1 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

/**
 * Bytes in an encoding by its label. Node 20 reads Windows-1252 as Latin-1 and gives controls for "€" and "“".
 * What is no character becomes U+FFFD.
 */
export function decodeAs(bytes: Uint8Array, encoding: string): string {
  const text = new TextDecoder(encoding).decode(bytes);
  return encoding === "windows-1252" ? withoutC1(text) : text;
}

/** The label that decodes an encoding by any of its names; undefined for what cannot be decoded here. */
export function labelOf(name: string): string | undefined {
  try {
    return new TextDecoder(name).encoding;
  } catch {
    return undefined;
  }
}

/** C1 controls as what was meant by them: nobody writes them, but Windows-1252 taken for Latin-1 is everywhere. */
export function withoutC1(text: string): string {
  return text.replaceAll(/[\u0080-\u009f]/g, (control) => C1[control.charCodeAt(0) - 0x80] ?? control);
}
