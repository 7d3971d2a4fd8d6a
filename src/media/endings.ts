import { extension } from "mime-types";

// Where the list of types has another ending than people, and the services that go by it.
const ENDINGS: Readonly<Record<string, string>> = {
  "audio/ogg": ".ogg",
  "audio/mpeg": ".mp3",
  "audio/webm": ".webm",
  "video/quicktime": ".mov",
  "text/vcard": ".vcf",
  "application/x-tgsticker": ".tgs",
};

/** The usual ending of a type, with its dot; "" where there is none. */
export function endingOf(mimeType: string): string {
  const ending = extension(mimeType);
  return ENDINGS[mimeType] ?? (ending === false || ending === "bin" ? "" : `.${ending}`);
}
