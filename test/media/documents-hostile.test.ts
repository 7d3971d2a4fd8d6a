import { describe, expect, it } from "vitest";
import { document, readDocument } from "../support/documents.ts";
import { docx, odf, p, pptx, xlsx } from "../support/office.ts";
import { zip } from "../support/zip.ts";

const LAUGHS = `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY f SYSTEM "file:///etc/hostname"><!ENTITY % g SYSTEM "http://127.0.0.1:9/x.dtd"> %g;]>`;

describe("entities", () => {
  const body = `<w:p><w:r><w:t>4271 &c; &f; &amp; on</w:t></w:r></w:p>`;
  it.each([
    [
      "Word",
      docx("", [], []),
      "word/document.xml",
      `<w:document xmlns:w="w"><w:body>${body}</w:body></w:document>`,
    ],
    [
      "OpenDocument",
      odf("text", ""),
      "content.xml",
      `<o:d xmlns:o="o"><o:p>4271 &c; &f; &amp; on</o:p></o:d>`,
    ],
  ])("of %s are not expanded, and nothing is looked for outside", async (kind, _, name, xml) => {
    const head =
      kind === "Word"
        ? [{ name: "[Content_Types].xml", data: "<T/>" }]
        : [{ name: "mimetype", data: "application/vnd.oasis.opendocument.text" }];
    const { text } = await readDocument(
      zip([...head, { name, data: `<?xml version="1.0"?>${LAUGHS}${xml}` }]),
    );
    expect(text).toBe("4271 &c; &f; & on");
  });
});

describe("a zip bomb", () => {
  it("BIN-15: of 150 MB of text is cut, within 10 s and 300 MB", async () => {
    const before = process.memoryUsage().rss;
    const { taken, text } = await readDocument(document("bomb.docx"), { filename: "bomb.docx" });
    expect(taken.outcome).toBe("shortened");
    expect(text).toContain("left out here");
    expect(text.endsWith("[the document goes on; the rest was not read]")).toBe(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(300_000_000);
  });

  it("whose headers lie is counted as it comes", async () => {
    const data = `<w:document xmlns:w="w"><w:body><!--${" ".repeat(70_000_000)}-->${p("4271")}</w:body></w:document>`;
    const bytes = zip([
      { name: "[Content_Types].xml", data: "<T/>" },
      { name: "word/document.xml", data, declaredBytes: 100 },
    ]);
    const { taken } = await readDocument(bytes, { filename: "a.docx" });
    expect(taken.notice).toEqual({
      key: "media.too_large",
      values: { size: "> 64 MB", limit: "64 MB", name: "a.docx" },
    });
  });

  it("of many parts is bounded as a whole", async () => {
    const slide = `<a:p><a:r><a:t>4271</a:t></a:r></a:p><!--${" ".repeat(30_000_000)}-->`;
    const { whole } = await readDocument(pptx(Array.from({ length: 9 }, () => slide)));
    expect(whole).toContain("[slide 2]\n\n4271");
    expect(whole.endsWith("[the document goes on; the rest was not read]")).toBe(true);
  });

  it("in a sheet of empty columns is cut", async () => {
    const rows = `<row><c r="XFD1"><v>1</v></c></row>`.repeat(3_000);
    const { whole } = await readDocument(xlsx([{ name: "a", rows }]));
    expect(whole.length).toBeLessThan(17_000_000);
    expect(whole.endsWith("[the document goes on; the rest was not read]")).toBe(true);
  });

  it("of zips in a zip is listed and not opened", async () => {
    const { text, taken } = await readDocument(
      zip([{ name: "inner.zip", data: zip([{ name: "a", data: "b" }]) }]),
    );
    expect(taken.notice?.key).toBe("media.archive");
    expect(text).toMatch(/^\[1 entry\]\n- inner\.zip \(\d+ bytes\)$/);
  });

  it("of more entries than are looked at is listed by its first, with how many there are", async () => {
    const parts = Array.from({ length: 12_000 }, (_, n) => ({ name: `f${n}`, data: "" }));
    const { text } = await readDocument(zip(parts));
    expect(text.split("\n").at(0)).toBe("[12000 entries]");
    expect(text.split("\n").at(-1)).toBe("[and 11800 more]");
  });
});

describe("a document that was tampered with", () => {
  it("whose parts lead outside is read as the part of that name, and nothing outside", async () => {
    const bytes = docx(
      p("4271"),
      [["r1", "styles", "../../../../etc/passwd"]],
      [{ name: "../../evil", data: "x" }],
    );
    expect((await readDocument(bytes)).text).toBe("4271");
  });

  it("that links to a template outside loads nothing", async () => {
    const bytes = docx(p("4271"), [
      ["r1", "attachedTemplate", "http://127.0.0.1:9/t.dotm", "outside"],
      ["r2", "header", "http://127.0.0.1:9/h.xml", "outside"],
      ["r3", "styles", "http://127.0.0.1:9/s.xml", "outside"],
    ]);
    expect((await readDocument(bytes)).text).toBe("4271");
  });

  it("that was cut off is damaged; with a damaged part it is read as far as it goes", async () => {
    const whole = docx(
      Array.from({ length: 3_000 }, (_, n) => p(`line ${(n * 7919) % 3_001} 4271`)).join(""),
    );
    const cut = await readDocument(whole.subarray(0, whole.length - 100), { filename: "a.docx" });
    expect(cut.taken.notice?.key).toBe("media.broken");
    const hurt = Buffer.from(whole);
    hurt.fill(0xff, whole.length - 900, whole.length - 850);
    const { taken } = await readDocument(hurt, { filename: "a.docx" });
    expect(["extracted", "unreadable"]).toContain(taken.outcome);
  });

  it("whose XML is broken is read as far as it makes sense", async () => {
    const { text } = await readDocument(docx(`${p("4271")}<w:p><w:r><w:t>and < on</w:p>&nope;${p("end")}`));
    expect(text).toContain("4271");
  });

  it("is told from an archive that merely holds such names", async () => {
    const { taken } = await readDocument(
      zip([
        { name: "word/document.xml", data: "<x/>" },
        { name: "a.txt", data: "x" },
      ]),
    );
    expect(taken.notice?.key).toBe("media.archive");
  });
});
