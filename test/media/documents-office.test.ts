import { describe, expect, it } from "vitest";
import sharp from "sharp";
import { document, readDocument } from "../support/documents.ts";
import { docx, epub, odf, p, pptx, xlsx } from "../support/office.ts";

const WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

describe("a Word document", () => {
  it.each([
    ["BIN-01", "brief.docx", WORD, ["Customer briefing 4271", "naïve café, 北京"]],
    ["BIN-19", "brief.docx", WORD, ["Customer briefing 4271"]],
    [
      "BIN-02",
      "table.xlsx",
      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
      ["chair 4271\t40"],
    ],
    [
      "BIN-04",
      "table.xlsx",
      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
      ["[sheet Stock]\nitem\tqty"],
    ],
  ])("%s: %s is known by its bytes", async (id, name, mimeType, words) => {
    const filename = { "BIN-19": "brief", "BIN-04": "stock.csv" }[id] ?? name;
    const { text, block, taken } = await readDocument(document(name), { filename, mimeType: "text/csv" });
    for (const word of words) expect(text).toContain(word);
    expect(text).not.toContain("PK");
    expect([taken.outcome, block?.mimeType]).toEqual(["extracted", mimeType]);
  });

  it("becomes Markdown: headings by name and by outline, lists by their numbers, tables, links, notes, comments", async () => {
    const list = (id: number, level: number): string =>
      `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${id}"/></w:numPr>`;
    const body = [
      p("Report", `<w:pStyle w:val="Kop1"/>`),
      p("A part", `<w:outlineLvl w:val="1"/>`),
      `<w:p><w:r><w:t>Two words</w:t><w:tab/><w:t>and</w:t><w:br/><w:t>a line</w:t></w:r><w:del><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:del><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="0"/></w:r></w:p>`,
      p("first", list(1, 0)),
      p("second", list(1, 0)),
      p("deeper", list(1, 1)),
      p("third", list(1, 0)),
      p("dot", list(2, 0)),
      `<w:tbl><w:tr><w:tc>${p("item")}</w:tc><w:tc>${p("qty")}</w:tc></w:tr><w:tr><w:tc>${p("a | b")}${p("c")}</w:tc><w:tc><w:tbl><w:tr><w:tc>${p("in")}</w:tc><w:tc>${p("ner")}</w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>`,
      `<w:p><w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink r:id="r7"><w:r><w:t>the page</w:t></w:r></w:hyperlink><w:r><w:instrText>PAGEREF x</w:instrText></w:r></w:p>`,
      `<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>${p("in a box")}</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>${p("in a box")}</w:txbxContent></mc:Fallback></mc:AlternateContent><w:drawing><wp:docPr id="1" descr="a heron"/></w:drawing></w:r></w:p>`,
    ].join("");
    const bytes = docx(
      body,
      [
        ["r1", "styles", "styles.xml"],
        ["r2", "numbering", "numbering.xml"],
        ["r3", "footnotes", "footnotes.xml"],
        ["r4", "comments", "comments.xml"],
        ["r5", "header", "header1.xml"],
        ["r6", "header", "header2.xml"],
        ["r7", "hyperlink", "https://example.org/a?b=1&amp;c", "outside"],
      ],
      [
        {
          name: "word/styles.xml",
          data: `<w:styles xmlns:w="w"><w:style w:styleId="Base"><w:name w:val="heading 1"/></w:style><w:style w:styleId="Kop1"><w:name w:val="kop"/><w:basedOn w:val="Base"/></w:style></w:styles>`,
        },
        {
          name: "word/numbering.xml",
          data: `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="5"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:abstractNum w:abstractNumId="6"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="6"/></w:num></w:numbering>`,
        },
        {
          name: "word/footnotes.xml",
          data: `<w:footnotes xmlns:w="w"><w:footnote w:type="separator" w:id="0">${p("---")}</w:footnote><w:footnote w:id="2">${p("a note")}${p("of two lines")}</w:footnote></w:footnotes>`,
        },
        {
          name: "word/comments.xml",
          data: `<w:comments xmlns:w="w"><w:comment w:id="0" w:author="Ada">${p("really?")}</w:comment></w:comments>`,
        },
        { name: "word/header1.xml", data: `<w:hdr xmlns:w="w">${p("Heron Ltd")}</w:hdr>` },
        { name: "word/header2.xml", data: `<w:hdr xmlns:w="w">${p("Heron Ltd")}</w:hdr>` },
      ],
    );
    const { text } = await readDocument(bytes);
    expect(text.split("\n")).toEqual([
      "# Report",
      "",
      "## A part",
      "",
      "Two words\tand",
      "a line[^2] [comment: Ada: really?]",
      "",
      "3. first",
      "4. second",
      "  - deeper",
      "5. third",
      "- dot",
      "",
      "| item | qty |",
      "| --- | --- |",
      "| a \\| b c | in ner |",
      "",
      "See [the page](https://example.org/a?b=1&c)",
      "",
      "in a box",
      "",
      "[picture: a heron]",
      "",
      "[^2]: a note of two lines",
      "",
      "[page header]",
      "",
      "Heron Ltd",
    ]);
  });

  it("says that macros were left alone", async () => {
    const { block } = await readDocument(docx(p("hello"), [], [{ name: "word/vbaProject.bin", data: "x" }]));
    expect(block?.note).toBe("its macros were left alone");
  });

  it("of nothing but pictures is shown as those, or told to be that", async () => {
    const picture = await sharp({ create: { width: 40, height: 20, channels: 4, background: "#f00" } })
      .png()
      .toBuffer();
    const bytes = docx("<w:p/>", [], [{ name: "word/media/image1.png", data: picture }]);
    const seen = await readDocument(bytes, { filename: "a.docx" });
    expect(seen.block?.stills).toMatchObject([{ width: 40, height: 20, label: "picture 1" }]);
    expect([seen.taken.outcome, seen.block?.note]).toEqual(["seen", "no text, only pictures"]);
    const blind = await readDocument(bytes, { filename: "a.docx", sees: false });
    expect(blind.taken).toMatchObject({ outcome: "unsupported", notice: { key: "media.scan" } });
  });

  it("that holds nothing is empty", async () => {
    expect((await readDocument(docx("<w:p/>"))).taken.notice?.key).toBe("media.empty");
  });
});

describe("a workbook", () => {
  it("says its sheets, and its cells as they are shown", async () => {
    const cell = (r: string, v: string, more = ""): string => `<c r="${r}" ${more}><v>${v}</v></c>`;
    const rows = [
      `<row r="1">${cell("A1", "0", `t="s"`)}${cell("B1", "1", `t="s"`)}${cell("D1", "far", `t="str"`)}</row>`,
      `<row r="2">${cell("A2", "45413", `s="1"`)}${cell("B2", "0.30000000000000004")}${cell("C2", "0.19", `s="2"`)}${cell("D2", "1", `t="b"`)}</row>`,
      `<row r="3">${cell("A3", "45413.4375", `s="3"`)}${cell("B3", "0.75", `s="4"`)}<c r="C3"><f>SUM(B1:B2)</f></c>${cell("D3", "#N/A", `t="e"`)}</row>`,
      `<row r="5"><c><v>7</v></c><c t="inlineStr"><is><r><t>two</t></r><r><t> runs</t></r></is></c></row>`,
    ].join("");
    const bytes = xlsx(
      [
        { name: "Stock", rows },
        { name: "Old", rows: `<row>${cell("A1", "1")}</row>`, state: "hidden" },
        { name: "Empty", rows: "" },
      ],
      [
        {
          name: "xl/sharedStrings.xml",
          data: `<sst><si><t>when</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>yomi</t></rPh></si></sst>`,
        },
        {
          name: "xl/styles.xml",
          data: `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[$-407]dd.mm.yyyy hh:mm"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="164"/><xf numFmtId="20"/></cellXfs></styleSheet>`,
        },
        {
          name: "xl/worksheets/_rels/sheet1.xml.rels",
          data: `<R><Relationship Id="c" Type="x/comments" Target="../comments1.xml"/></R>`,
        },
        {
          name: "xl/comments1.xml",
          data: `<comments><commentList><comment ref="B2"><text><r><t>check this</t></r></text></comment></commentList></comments>`,
        },
      ],
    );
    const { text } = await readDocument(bytes, { filename: "a.csv" });
    expect(text.split("\n")).toEqual([
      "[sheet Stock]",
      "when\trich text\t\tfar",
      "2024-05-01\t0.3\t19%\tTRUE",
      "2024-05-01 10:30\t18:00\t=SUM(B1:B2)\t#N/A",
      "7\ttwo runs",
      "[comment on B2: check this]",
      "",
      "[sheet Old, hidden]",
      "1",
      "",
      "[sheet Empty]",
    ]);
  });
});

describe("a presentation", () => {
  it("says its slides with titles, lists, tables, notes and comments", async () => {
    const shape = (place: string, paragraphs: string): string =>
      `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${place}"/></p:nvPr></p:nvSpPr><p:txBody>${paragraphs}</p:txBody></p:sp>`;
    const a = (words: string, properties = ""): string =>
      `<a:p>${properties}<a:r><a:t>${words}</a:t></a:r></a:p>`;
    const first = [
      shape("ctrTitle", a("Plans")),
      shape("body", a("one", `<a:pPr><a:buChar char="•"/></a:pPr>`) + a("under it", `<a:pPr lvl="1"/>`)),
      shape("sldNum", a("1")),
      `<p:pic><p:nvPicPr><p:cNvPr id="1" name="x" descr="a chart"/></p:nvPicPr></p:pic>`,
    ].join("");
    const second = `HIDDEN<p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody>${a("k")}</a:txBody></a:tc><a:tc><a:txBody>${a("v")}</a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame>`;
    const bytes = pptx(
      [first, second],
      {
        1: [
          ["n", "notesSlide", "../notesSlides/notesSlide1.xml"],
          ["c", "comments", "../comments/comment1.xml"],
        ],
      },
      [
        {
          name: "ppt/notesSlides/notesSlide1.xml",
          data: `<p:notes xmlns:p="p" xmlns:a="a">${shape("sldImg", "")}${shape("body", a("say this"))}${shape("sldNum", a("1"))}</p:notes>`,
        },
        {
          name: "ppt/comments/comment1.xml",
          data: `<p:cmLst xmlns:p="p"><p:cm><p:text>too long</p:text></p:cm></p:cmLst>`,
        },
      ],
    );
    const { text, block } = await readDocument(bytes);
    expect(text.split("\n")).toEqual([
      "[slide 1]",
      "",
      "## Plans",
      "",
      "- one",
      "  - under it",
      "",
      "[picture: a chart]",
      "",
      "[notes of slide 1]",
      "say this",
      "",
      "[comment: too long]",
      "",
      "[slide 2, hidden]",
      "",
      "| k | v |",
      "| --- | --- |",
    ]);
    expect(block?.mimeType).toContain("presentationml.presentation");
  });
});

describe("OpenDocument", () => {
  it("reads a text", async () => {
    const body = `<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="2">Head</text:h><text:p>a<text:s text:c="2"/>b<text:tab/>c <text:a xlink:href="https://example.org/">link</text:a><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p></text:note-body></text:note><office:annotation><dc:creator>Ada</dc:creator><dc:date>2024</dc:date><text:p>hm</text:p></office:annotation> on.</text:p><text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>k</text:p></table:table-cell><table:table-cell><text:p>v</text:p></table:table-cell></table:table-row></table:table>`;
    const { text, block } = await readDocument(odf("text", body));
    expect(text.split("\n")).toEqual([
      "## Head",
      "",
      "a  b\tc [link](https://example.org/) [note: a note] [comment: hm] on.",
      "",
      "- one",
      "  - deep",
      "- two",
      "",
      "| k | v |",
      "| --- | --- |",
    ]);
    expect(block?.mimeType).toBe("application/vnd.oasis.opendocument.text");
  });

  it("reads a spreadsheet and a presentation", async () => {
    const cell = (words: string, more = ""): string =>
      `<table:table-cell ${more}><text:p>${words}</text:p></table:table-cell>`;
    const sheet = `<table:table table:name="Stock"><table:table-row>${cell("a")}<table:table-cell table:number-columns-repeated="2"/>${cell("b")}<table:table-cell table:number-columns-repeated="16000"/></table:table-row><table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>`;
    expect((await readDocument(odf("spreadsheet", sheet))).text).toBe("[sheet Stock]\na\t\t\tb");
    const slides = `<draw:page><draw:frame><draw:text-box><text:p>One</text:p></draw:text-box></draw:frame><presentation:notes><text:p>say</text:p></presentation:notes></draw:page><draw:page><text:p>Two</text:p></draw:page>`;
    expect((await readDocument(odf("presentation", slides))).text).toBe(
      "[slide 1]\n\nOne\n\n[notes of slide 1]\n\nsay\n\n[slide 2]\n\nTwo",
    );
  });

  it("says that an encrypted one has a password", async () => {
    const manifest = {
      name: "META-INF/manifest.xml",
      data: `<m:manifest xmlns:m="m"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>`,
    };
    expect((await readDocument(odf("text", "", [manifest]))).taken.notice?.key).toBe("media.password");
  });
});

describe("a book", () => {
  it("has its chapters in the order in which they are read", async () => {
    const { text, block } = await readDocument(
      epub("Herons", ["<h1>One</h1><p>a &amp; b</p>", "<img/>", "<p>Three</p>"]),
    );
    expect(text).toBe("# Herons\n\n[chapter 1]\n\n# One\n\na & b\n\n[chapter 3]\n\nThree");
    expect(block?.mimeType).toBe("application/epub+zip");
  });

  it("says that a locked one has a password, and reads one whose fonts are scrambled", async () => {
    const locked = (uri: string) => ({
      name: "META-INF/encryption.xml",
      data: `<encryption><CipherReference URI="${uri}"/></encryption>`,
    });
    const shop = await readDocument(epub("x", ["<p>y</p>"], [locked("OEBPS/text/chapter 0.xhtml")]));
    expect(shop.taken.notice?.key).toBe("media.password");
    expect((await readDocument(epub("x", ["<p>y</p>"], [locked("OEBPS/font.otf")]))).text).toContain("y");
  });
});
