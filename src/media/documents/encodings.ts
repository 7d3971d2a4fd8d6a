// What Windows-1252 has in the places of the C1 controls; four of them are empty.
const C1 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

/** The upper half of DOS in Western Europe, which TextDecoder lacks; its letters are those of code page 437 as well. */
const IBM_850 =
  "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0";

/** What nobody detects and many old files are in: DOS and Macs of before Unicode. */
export const BEFORE_WINDOWS = ["ibm866", "ibm850", "macintosh", "x-mac-cyrillic"];

/**
 * Bytes in an encoding by its label. Node 20 reads Windows-1252 as Latin-1 and gives controls for "€" and "“".
 * What is no character becomes U+FFFD.
 */
export function decodeAs(bytes: Uint8Array, encoding: string): string {
  if (encoding === "ibm850") return fromIbm850(bytes);
  const text = new TextDecoder(encoding).decode(bytes);
  return encoding === "windows-1252" ? withoutC1(text) : text;
}

function fromIbm850(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString("latin1")
    .replaceAll(/[\u0080-\u00ff]/g, (upper) => IBM_850[upper.charCodeAt(0) - 0x80] ?? upper);
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
