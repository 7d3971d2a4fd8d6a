import type { Address } from "postal-mime";
import { bytesWords } from "../../core/words.ts";
import { safeName } from "../../core/names.ts";
import { htmlText } from "./html.ts";

/** A mail: its headers, its text (of HTML where there is no other), and what is attached by name, type and size. */
export async function mailText(bytes: Uint8Array): Promise<string> {
  const { default: PostalMime } = await import("postal-mime");
  const mail = await PostalMime.parse(bytes, { maxNestingDepth: 50 });
  const lines: string[] = [];
  const tell = (words: string, value: string | undefined): void => {
    if (value !== undefined && value.trim() !== "")
      lines.push(`${words}: ${value.replaceAll(/\s+/g, " ").trim()}`);
  };
  tell("From", mail.from && addressWords(mail.from));
  tell("To", mail.to?.map(addressWords).join(", "));
  tell("Cc", mail.cc?.map(addressWords).join(", "));
  tell("Date", mail.date);
  tell("Subject", mail.subject);
  const plain = mail.text?.trim() ?? "";
  const body = plain === "" ? htmlText(mail.html ?? "") : plain;
  if (body !== "") lines.push("", body);
  if (mail.attachments.length > 0) lines.push("");
  for (const { filename, mimeType, content } of mail.attachments) {
    const size = bytesWords(typeof content === "string" ? Buffer.byteLength(content) : content.byteLength);
    const name = (safeName(filename ?? undefined) ?? "no name").replaceAll(/[[\]]/g, " ");
    lines.push(`[attachment, not read: ${name}, ${mimeType.replaceAll(/[^\w.+/-]/g, "")}, ${size}]`);
  }
  return lines.join("\n");
}

function addressWords({ name, address, group }: Address): string {
  if (group) return `${name}: ${group.map(addressWords).join(", ")}`;
  const plain = address ?? "";
  if (name === "" || name === plain) return plain;
  return plain === "" ? name : `${name} <${plain}>`;
}
