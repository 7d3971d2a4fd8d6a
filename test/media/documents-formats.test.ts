import { describe, expect, it } from "vitest";
import { document, encoded, readDocument } from "../support/documents.ts";

const lines = (text: string): string[] => text.split("\n");

describe("HTML", () => {
  it("DOC-26: is text, and nothing in it is loaded or runs", async () => {
    const { text, block } = await readDocument(document("page.html"), { filename: "page.html" });
    expect([text, block?.mimeType]).toEqual(["Number 4271", "text/html"]);
  });

  it("becomes Markdown", async () => {
    const html = `<!DOCTYPE html><html><head><title>T</title><style>x{}</style><script>if (a < b) "</p>"</script></head>
<body><h1>Head <i>line</i></h1><p>One&nbsp;&amp; two &euro;&#150;&mdash;<br>three <a href="https://example.org/?a=1&amp;b=2">link</a>
<a href="javascript:alert(1)">not one</a> <img src="http://tracker/p.gif" alt="a heron"><img src="x"></p>
<ul><li>a<ul><li><p>b</p></li></ul></li><li>c</ul><ol start="4"><li>d<li>e</ol>
<table><tr><th>k<th>v</tr><tr><td>1</td><td>2 | 3<table><tr><td>in</td></tr></table></td></tr></table>
<pre>  code
    in lines</pre><!-- comment <p>no</p> --><div style="display: none">hidden <div>deep</div></div><p hidden>hidden<p>seen</p>
<svg><text>drawn</text></svg> 1 < 2 & 3</body></html>`;
    const { text } = await readDocument(html);
    expect(lines(text)).toEqual([
      "# Head line",
      "",
      "One & two €–—",
      "three [link](https://example.org/?a=1&b=2) not one [picture: a heron]",
      "",
      "- a",
      "  - b",
      "- c",
      "4. d",
      "5. e",
      "",
      "| k | v |",
      "| --- | --- |",
      "| 1 | 2 \\| 3 in |",
      "",
      "  code",
      "    in lines",
      "",
      "seen",
      "",
      "1 < 2 & 3",
    ]);
  });

  it("is decoded as it says of itself", async () => {
    const html = `<html><meta charset="windows-1251"><p>Да</p></html>`;
    expect((await readDocument(encoded(html, "windows-1251"))).text).toBe("Да");
  });

  it.each([
    ["unclosed tags", "<b><p>".repeat(200_000)],
    ["deep ones", `${"<div>".repeat(100_000)}4271${"</div>".repeat(100_000)}`],
    ["angle brackets", `<html>${"<".repeat(500_000)}`],
    ["attributes without end", `<html>${'<a href="'.repeat(100_000)}`],
    ["quotes", `<html><a ${`x="'" `.repeat(100_000)}>`],
    ["comments without end", `<html>${"<!--".repeat(200_000)}`],
    ["scripts without end", `<html>${"<script>".repeat(100_000)}`],
    ["tables in tables", `<html>${"<table><tr><td>x".repeat(50_000)}`],
    ["lists in lists", `<html>${"<ul><li>x".repeat(50_000)}`],
    ["entities", `<html>${"&amp;&#x41;&zzz".repeat(100_000)}`],
  ])("of %s is read in no more than a moment", async (_, html) => {
    const { taken } = await readDocument(`<html>${html}`, { filename: "a.html" });
    expect(["extracted", "shortened", "unreadable"]).toContain(taken.outcome);
  });
});

describe("RTF", () => {
  it("says its paragraphs, tables, notes and letters, and leaves what it embeds", async () => {
    const rtf = String.raw`{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Cyr;}}{\colortbl;\red0;}{\*\generator Word;}{\info{\author Ada}}
Gr\'fc\'dfe \u8364?\emdash 4271 {\b bold}\par second\line line \{x\}\par {\f1 \'cf\'f0\'e8\'e2\'e5\'f2}{\footnote a note} on\par
{\pict\wmetafile8 0102ffee}{\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt link}}\par
\trowd\cellx1\cellx2\pard\intbl k\cell v\cell\row\trowd\pard\intbl 1\cell 2\cell\row\pard after{\bin5 }}}}}\par}`;
    const { text, block } = await readDocument(rtf, { filename: "a.doc" });
    expect(lines(text)).toEqual([
      "Grüße €—4271 bold",
      "",
      "second",
      "line {x}",
      "",
      "Привет [note: a note] on",
      "",
      "link",
      "",
      "| k | v |",
      "| --- | --- |",
      "| 1 | 2 |",
      "",
      "after",
    ]);
    expect(block?.mimeType).toBe("application/rtf");
  });

  it.each([
    ["groups without end", `{\\rtf1 ${"{".repeat(300_000)}x`],
    ["binary without end", `{\\rtf1 a \\bin999999999 b`],
    ["broken letters", `{\\rtf1 4271\\'zz\\u99999999?\\`],
  ])("of %s does no harm", async (_, rtf) => {
    expect((await readDocument(rtf)).taken.outcome).toBe("extracted");
  });
});

describe("a mail", () => {
  const HEAD = [
    "Received: from a by b; Wed, 1 May 2024 10:00:00 +0200",
    'From: "=?utf-8?Q?Ad=C3=A1?= Heron" <ada@example.org>',
    "To: Bo <bo@example.org>, Cy <cy@example.org>",
    "Subject: =?utf-8?B?UsOpdW5pb24=?=",
    "Date: Wed, 1 May 2024 10:00:00 +0200",
    "MIME-Version: 1.0",
  ];
  const mail = (...more: string[]): string => [...HEAD, ...more].join("\r\n");

  it("says who, when, what; its text rather than its HTML; and what is attached, unopened", async () => {
    const source = mail(
      "Content-Type: multipart/mixed; boundary=x",
      "",
      "--x",
      "Content-Type: multipart/alternative; boundary=y",
      "",
      "--y",
      "Content-Type: text/plain; charset=iso-8859-1",
      "Content-Transfer-Encoding: quoted-printable",
      "",
      "Gr=FC=DFe 4271",
      "--y",
      "Content-Type: text/html",
      "",
      "<p>html</p>",
      "--y--",
      "--x",
      'Content-Type: application/pdf; name="a.pdf"',
      'Content-Disposition: attachment; filename="../../a].pdf"',
      "Content-Transfer-Encoding: base64",
      "",
      Buffer.alloc(3_000).toString("base64"),
      "--x--",
      "",
    );
    const { text, block } = await readDocument(source, { filename: "mail.txt" });
    expect(lines(text)).toEqual([
      "From: Adá Heron <ada@example.org>",
      "To: Bo <bo@example.org>, Cy <cy@example.org>",
      "Date: 2024-05-01T08:00:00.000Z",
      "Subject: Réunion",
      "",
      "Grüße 4271",
      "",
      "[attachment, not read: a .pdf, application/pdf, 3 KB]",
    ]);
    expect(block?.mimeType).toBe("message/rfc822");
  });

  it("of HTML alone is told as text", async () => {
    const { text } = await readDocument(
      mail("Content-Type: text/html; charset=utf-8", "", "<h1>Hi</h1><p>there</p>", ""),
    );
    expect(text.endsWith("\n\n# Hi\n\nthere")).toBe(true);
  });

  it("of parts in parts without end does no harm", async () => {
    const parts = Array.from(
      { length: 5_000 },
      (_, n) => `--b${n}\r\nContent-Type: multipart/mixed; boundary=b${n + 1}\r\n`,
    );
    const { taken } = await readDocument(mail("Content-Type: multipart/mixed; boundary=b0", "", ...parts), {
      filename: "a.eml",
    });
    expect(taken.outcome).toMatch(/^(extracted|shortened)$/);
  });

  it("of a sender without an address says the name alone", async () => {
    const { text } = await readDocument("From: Ada\nTo: Bob\nSubject: hi\n\nbody\n", { filename: "a.eml" });
    expect(text).toBe("From: Ada\nTo: Bob\nSubject: hi\n\nbody");
  });
});

describe("a calendar", () => {
  it("says what, when, where and who, and no alarms", async () => {
    const source = [
      "BEGIN:VCALENDAR",
      "METHOD:REQUEST",
      "BEGIN:VTIMEZONE",
      "TZID:Europe/Berlin",
      "END:VTIMEZONE",
      "BEGIN:VEVENT",
      "SUMMARY:Heron watch\\, with",
      "  tea",
      "DTSTART;TZID=Europe/Berlin:20240501T100000",
      "DTEND;TZID=Europe/Berlin:20240501T113000",
      "LOCATION:By the lake\\; north",
      'ORGANIZER;CN="Ada: Heron":mailto:ada@example.org',
      "ATTENDEE;PARTSTAT=ACCEPTED;CN=Bo:mailto:bo@example.org",
      "ATTENDEE:mailto:cy@example.org",
      "RRULE:FREQ=WEEKLY",
      "DESCRIPTION:Bring\\ncups",
      "BEGIN:VALARM",
      "DESCRIPTION:beep",
      "END:VALARM",
      "END:VEVENT",
      "BEGIN:VTODO",
      "SUMMARY:Buy tea",
      "DUE:20240430T120000Z",
      "END:VTODO",
      "BEGIN:VEVENT",
      "DTSTART;VALUE=DATE:20240601",
      "END:VEVENT",
      "END:VCALENDAR",
      "",
    ].join("\r\n");
    const { text, block } = await readDocument(source, { filename: "invite" });
    expect(lines(text)).toEqual([
      "Method: REQUEST",
      "",
      "## Heron watch, with tea",
      "When: 2024-05-01 10:00 Europe/Berlin – 2024-05-01 11:30 Europe/Berlin",
      "Repeats: FREQ=WEEKLY",
      "Where: By the lake; north",
      "Organizer: Ada: Heron <ada@example.org>",
      "Who: Bo <bo@example.org> (accepted), cy@example.org",
      "",
      "Bring",
      "cups",
      "",
      "## Buy tea",
      "Due: 2024-04-30 12:00 UTC",
      "",
      "## (no title)",
      "When: 2024-06-01",
    ]);
    expect(block?.mimeType).toBe("text/calendar");
  });
});

describe("contacts", () => {
  it("say names, numbers and mails, and of a photo that there is one", async () => {
    const source = [
      "BEGIN:VCARD",
      "VERSION:3.0",
      "N:Heron;Ada;;;",
      "FN:Ada Heron",
      "ORG:Heron Ltd;Lake",
      "item1.TEL;TYPE=CELL,VOICE:+49 30 4271",
      "EMAIL;TYPE=INTERNET;TYPE=WORK:ada@example.org",
      "ADR;TYPE=HOME:;;Lake Street 1;Berlin;;12345;Germany",
      `PHOTO;ENCODING=b;TYPE=JPEG:${"A".repeat(60)}`,
      ` ${"A".repeat(5_000)}`,
      "END:VCARD",
      "BEGIN:VCARD",
      "VERSION:2.1",
      "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg",
      "TEL;CELL:4271",
      "NOTE;ENCODING=QUOTED-PRINTABLE:one =",
      "line",
      "END:VCARD",
      "",
    ].join("\r\n");
    const { text, block } = await readDocument(source, { filename: "a.vcf" });
    expect(lines(text)).toEqual([
      "## Ada Heron",
      "Organization: Heron Ltd, Lake",
      "Phone (cell): +49 30 4271",
      "Mail (work): ada@example.org",
      "Address (home): Lake Street 1, Berlin, 12345, Germany",
      "(has a photo)",
      "",
      "## Jörg Müller",
      "Phone (cell): 4271",
      "Note: one line",
    ]);
    expect(block?.mimeType).toBe("text/vcard");
  });
});
