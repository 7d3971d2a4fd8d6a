import { calendarText } from "./calendar.ts";
import { contactsText } from "./contacts.ts";
import type { Contents } from "./contents.ts";
import { decodeText } from "./decode.ts";
import { htmlText } from "./html.ts";
import { isMail } from "../text-types.ts";
import { mailText } from "./mail.ts";
import { rtfText } from "./rtf.ts";

/** What is text to the eye: itself, or what its markup says. Undefined where the bytes are no text at all. */
export async function readText(
  bytes: Uint8Array,
  { mimeType }: { readonly mimeType: string },
): Promise<Contents | undefined> {
  const head = Buffer.from(bytes.subarray(0, 2_048)).toString("latin1");
  if (/^\s*\{\\rtf/.test(head)) return { text: rtfText(bytes), mimeType: "application/rtf" };
  const text = decodeText(bytes, declaredEncoding(head));
  if (text === undefined) return undefined;
  const start = text.slice(0, 1_024).trimStart();
  if (/^BEGIN:VCALENDAR/i.test(start)) return { text: calendarText(text), mimeType: "text/calendar" };
  if (/^BEGIN:VCARD/i.test(start)) return { text: contactsText(text), mimeType: "text/vcard" };
  if (/^text\/html$|^application\/xhtml/.test(mimeType) || /^<(!doctype html|html)[\s>]/i.test(start)) {
    return { text: htmlText(text), mimeType: "text/html" };
  }
  // Each part of a mail has an encoding of its own.
  if (isMail(text.slice(0, 16_384))) {
    const mail = await mailText(bytes).catch(() => text); // what is nested too deep can be read as it stands
    return { text: mail, mimeType: "message/rfc822" };
  }
  return mimeType === "application/octet-stream" ? { text, mimeType: "text/plain" } : { text };
}

/** What HTML and XML say of themselves. It counts where the bytes leave it open. */
function declaredEncoding(head: string): string | undefined {
  if (!/^\s*</.test(head)) return undefined;
  return /(?:charset|encoding)\s*=\s*["']?([\w.:-]{3,30})/i.exec(head)?.[1];
}
