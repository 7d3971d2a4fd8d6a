import { describe, expect, it } from "vitest";
import { endingOf } from "../../src/media/endings.ts";

describe("the ending of a type", () => {
  it.each([
    ["image/jpeg", ".jpg"],
    ["audio/ogg", ".ogg"],
    ["audio/mpeg", ".mp3"],
    ["audio/mp4", ".m4a"],
    ["video/quicktime", ".mov"],
    ["text/vcard", ".vcf"],
    ["application/x-tgsticker", ".tgs"],
    ["application/octet-stream", ""],
    ["application/x-nobody-knows", ""],
  ])("%s: %s", (mimeType, ending) => expect(endingOf(mimeType)).toBe(ending));
});
