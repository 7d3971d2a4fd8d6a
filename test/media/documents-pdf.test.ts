import { Buffer } from "node:buffer";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import type { Still } from "../../src/core/blocks.ts";
import type { FileBlobs } from "../../src/store/blobs.ts";
import { document, readDocument } from "../support/documents.ts";
import { pdf, type PdfPage } from "../support/pdf.ts";

/** A page of a scanner: red at its top left, green at its top right, blue below. */
async function scan(width = 210, height = 297): Promise<NonNullable<PdfPage["jpeg"]>> {
  const corner = { width: Math.round(width / 2), height: Math.round(height / 2) };
  const red = await sharp({ create: { ...corner, channels: 3, background: "#f00" } })
    .png()
    .toBuffer();
  const green = await sharp({ create: { ...corner, channels: 3, background: "#0f0" } })
    .png()
    .toBuffer();
  const bytes = await sharp({ create: { width, height, channels: 3, background: "#00f" } })
    .composite([
      { input: red, left: 0, top: 0 },
      { input: green, left: width - corner.width, top: 0 },
    ])
    .jpeg({ quality: 95, chromaSubsampling: "4:4:4" })
    .toBuffer();
  return { bytes, width, height };
}

/** The colours in the corners of a still: top left, top right, bottom left, bottom right. */
async function corners(still: Still | undefined, blobs: FileBlobs): Promise<string> {
  if (still === undefined) return "no picture";
  const { data, info } = await sharp(await blobs.read(still.blob))
    .raw()
    .toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number): string => {
    const [r = 0, g = 0, b = 0] = data.subarray((y * info.width + x) * 3);
    if (Math.min(r, g, b) > 200) return "white";
    if (Math.max(r, g, b) < 60) return "black";
    return r > g && r > b ? "red" : g > b ? "green" : "blue";
  };
  const [right, bottom] = [info.width - 12, info.height - 12];
  return [at(12, 12), at(right, 12), at(12, bottom), at(right, bottom)].join(" ");
}

describe("a PDF", () => {
  it("has its text with a mark for each page", async () => {
    const { text, block, taken } = await readDocument(document("two_pages.pdf"), {
      filename: "no_extension",
    });
    expect(text).toBe(
      "[page 1]\nPage one: invoice 4271\nTotal due: 88.50\n\n[page 2]\nPage two: delivery on Friday\nGate code is heron",
    );
    expect([taken.outcome, block?.mimeType, block?.note]).toEqual([
      "extracted",
      "application/pdf",
      "2 pages",
    ]);
  });

  it("BIN-10: with a password is told to have one", async () => {
    const { taken } = await readDocument(document("password.pdf"), { filename: "password.pdf" });
    expect(taken).toEqual({
      blocks: [{ type: "text", text: "[I could not use password.pdf: it is protected by a password.]" }],
      outcome: "unsupported",
      notice: { key: "media.password", values: { name: "password.pdf" } },
    });
  });

  it("BIN-12: that was cut off is told to be damaged", async () => {
    const { taken } = await readDocument(document("truncated.pdf"), { filename: "truncated.pdf" });
    expect([taken.outcome, taken.notice?.key]).toEqual(["unreadable", "media.broken"]);
  });

  it("is read behind lines that a server left before it, and in a text is only quoted", async () => {
    const bytes = Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\n\r\n"), document("two_pages.pdf")]);
    expect((await readDocument(bytes)).text).toContain("invoice 4271");
    const quoted = await readDocument("A PDF begins with\n%PDF-1.4\nand goes on.\n", { filename: "a.md" });
    expect(quoted.text).toContain("goes on");
  });

  it("has columns in their order, and tabs between the columns of a table", async () => {
    const columns =
      "BT /F1 11 Tf 40 500 Td (left one) Tj 0 -14 Td (left two) Tj 200 14 Td (right one) Tj 0 -14 Td (right two) Tj ET";
    const table =
      "BT /F1 11 Tf 40 500 Td (item) Tj 200 0 Td (qty) Tj -200 -14 Td (chair) Tj 200 0 Td (40) Tj ET";
    const { text } = await readDocument(pdf([{ content: columns }, { content: table }]));
    expect(text).toBe("[page 1]\nleft one\nleft two\nright one\nright two\n\n[page 2]\nitem\tqty\nchair\t40");
  });

  it("says what was filled in and what was remarked; its scripts do not run", async () => {
    const bytes = pdf(
      [{ lines: ["A form"], extra: "/Annots [10000 0 R 10001 0 R 10002 0 R]" }],
      "/OpenAction << /S /JavaScript /JS (throw 1) >> /AcroForm << /Fields [10000 0 R] >>",
      [
        "<< /Type /Annot /Subtype /Widget /FT /Tx /T (Name) /V (Ada 4271) /Rect [0 0 10 10] >>",
        "<< /Type /Annot /Subtype /Text /Contents (Check\nthis) /Rect [0 0 10 10] >>",
        "<< /Type /Annot /Subtype /Link /A << /S /URI /URI (http://example.org/) >> /Rect [0 0 10 10] >>",
      ],
    );
    const { text } = await readDocument(bytes);
    expect(lines(text)).toEqual(["A form", "[comment: Check this]", "[field Name: Ada 4271]", "[page 1]"]);
  });

  it("of 200 full pages is read whole, its middle on demand", async () => {
    const full = Array.from(
      { length: 38 },
      (_, n) => `Line ${n}: the quick brown fox jumps over the lazy dog`,
    );
    const bytes = pdf(Array.from({ length: 200 }, (_, n) => ({ lines: [`Number ${n + 1}`, ...full] })));
    const { taken, block, text, whole } = await readDocument(bytes);
    expect([taken.outcome, block?.note]).toEqual(["shortened", "200 pages"]);
    expect(text).toMatch(
      /^\[page 1\]\nNumber 1\n[^]*\[… left out here: .*lines \d+ to \d+ of 8199 …\][^]*\[page 200\]\nNumber 200\n/,
    );
    for (const page of [1, 100, 200]) expect(whole).toContain(`[page ${page}]\nNumber ${page}\n`);
  });

  it("of more than 1,000 pages is cut, and says so", async () => {
    const { whole, block } = await readDocument(
      pdf(Array.from({ length: 1_010 }, (_, n) => ({ lines: [`n${n + 1}`] }))),
    );
    expect(whole).toContain("[page 1000]\nn1000");
    expect(whole.endsWith("[pages 1001 to 1010 were not read]")).toBe(true);
    expect(block?.note).toBe("1010 pages");
  });

  it("that lies about its pages is read as far as there are any", async () => {
    const lying = pdf([{ lines: ["one 4271"] }])
      .toString("latin1")
      .replace("/Count 1 ", "/Count 90000000 ");
    const { text } = await readDocument(Buffer.from(lying, "latin1"));
    expect(text).toContain("one 4271");
  });

  function lines(text: string): string[] {
    return text.split("\n").toSorted();
  }
});

describe("a scanned PDF", () => {
  it("says so, and becomes pictures as they lie on the page", async () => {
    const jpeg = await scan();
    const turned = { content: "q 0 595 -420 0 420 0 cm /Im1 Do Q", jpeg };
    const { block, taken, blobs } = await readDocument(
      pdf([{ jpeg }, { jpeg, extra: "/Rotate 90" }, { jpeg, extra: "/Rotate 180" }, turned]),
    );
    expect([taken.outcome, block?.note]).toEqual([
      "seen",
      "a scan without text, 4 pages; pages without text are shown as pictures",
    ]);
    expect(block?.stills?.map(({ label }) => label)).toEqual(["page 1", "page 2", "page 3", "page 4"]);
    const seen = await Promise.all((block?.stills ?? []).map((still) => corners(still, blobs)));
    expect(seen).toEqual([
      "red green blue blue",
      "blue red blue green",
      "blue blue green red",
      "green blue red blue", // the picture's right is up
    ]);
    for (const { width, height } of block?.stills ?? [])
      expect(Math.max(width, height)).toBeLessThanOrEqual(2_048);
  });

  it("is drawn from strips, of bits as well", async () => {
    const bits = (byte: number): string => Buffer.alloc(8 * 32, byte).toString("latin1");
    const content = [
      `q 420 0 0 300 0 295 cm BI /W 64 /H 32 /BPC 1 /IM true ID ${bits(0x00)} EI Q`,
      `q 420 0 0 295 0 0 cm BI /W 64 /H 32 /BPC 1 /CS /G ID ${bits(0xff)} EI Q`,
    ].join("\n");
    const { block, blobs } = await readDocument(pdf([{ content }]));
    expect(await corners(block?.stills?.[0], blobs)).toBe("black black white white");
  });

  it("has at most so many pages drawn as the setting says", async () => {
    const jpeg = await scan();
    const { block } = await readDocument(pdf(Array.from({ length: 5 }, () => ({ jpeg }))), {
      limits: { pdfPages: 2 },
    });
    expect(block?.stills?.map(({ label }) => label)).toEqual(["page 1", "page 2"]);
    expect(block?.note).toBe("a scan without text, 5 pages; some pages without text are shown as pictures");
  });

  it("beside pages of text is told by page", async () => {
    const { text, block, taken } = await readDocument(
      pdf([{ lines: ["Hello"] }, { jpeg: await scan() }, {}]),
    );
    expect(text).toBe("[page 1]\nHello\n\n[page 2: no text, shown as a picture]\n\n[page 3: no text]");
    expect([taken.outcome, block?.stills?.length]).toEqual(["extracted", 1]);
  });

  it("is told to the person where nobody sees it", async () => {
    const { taken } = await readDocument(pdf([{ jpeg: await scan() }]), { filename: "a.pdf", sees: false });
    expect(taken).toMatchObject({
      outcome: "unsupported",
      notice: { key: "media.scan", values: { name: "a.pdf" } },
    });
  });

  it.each([
    ["blank pages", pdf([{}, {}]), "media.empty"],
    ["no pages", pdf([]), "media.empty"],
    ["lines alone", pdf([{ content: "0 0 100 100 re f" }]), "media.scan"],
  ])("of %s is told as what it is", async (_, bytes, key) => {
    for (const sees of [true, false])
      expect((await readDocument(bytes, { sees })).taken.notice?.key).toBe(key);
  });

  it("with a picture of more pixels than may be decoded is not drawn", async () => {
    const { taken } = await readDocument(pdf([{ jpeg: await scan() }]), { limits: { imagePixels: 10_000 } });
    expect(taken.notice?.key).toBe("media.scan");
  });
});
