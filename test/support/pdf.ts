export type PdfPage = {
  /** What is drawn, in the operators of PDF. */
  readonly content?: string;
  /** Shown line under line. */
  readonly lines?: readonly string[];
  /** Fills the page, as a scanner writes it. */
  readonly jpeg?: { readonly bytes: Uint8Array; readonly width: number; readonly height: number };
  /** Further entries of the page: "/Rotate 90". */
  readonly extra?: string;
};

/** A PDF of these pages, A5 upright. `extra` stands in the catalog; `objects` are numbered behind its own, from 10,000. */
export function pdf(pages: readonly PdfPage[], extra = "", objects: readonly string[] = []): Buffer {
  const parts: Buffer[] = [Buffer.from("%PDF-1.4\n")];
  const offsets = new Map<number, number>();
  let at = parts[0]?.length ?? 0;
  const add = (number: number, ...chunks: readonly (string | Uint8Array)[]): void => {
    offsets.set(number, at);
    const bytes = Buffer.concat([
      Buffer.from(`${number} 0 obj\n`),
      ...chunks.map((chunk) => (typeof chunk === "string" ? Buffer.from(chunk, "latin1") : chunk)),
      Buffer.from("\nendobj\n"),
    ]);
    parts.push(bytes);
    at += bytes.length;
  };
  add(1, `<< /Type /Catalog /Pages 2 0 R ${extra} >>`);
  const kids = pages.map((_, index) => `${10 + index * 3} 0 R`);
  add(2, `<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${pages.length} /MediaBox [0 0 420 595] >>`);
  add(3, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
  for (const [index, { content = "", lines = [], jpeg, extra: more = "" }] of pages.entries()) {
    const number = 10 + index * 3;
    const shown = lines.map((line) => `(${line.replaceAll(/[()\\]/g, "\\$&")}) Tj T*`).join("\n");
    const text = lines.length === 0 ? "" : `BT /F1 11 Tf 40 550 Td 14 TL\n${shown}\nET\n`;
    const stream = `${jpeg ? "q 420 0 0 595 0 0 cm /Im1 Do Q\n" : ""}${text}${content}`;
    const pictures = jpeg ? `/XObject << /Im1 ${number + 2} 0 R >>` : "";
    add(
      number,
      `<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> ${pictures} >> /Contents ${number + 1} 0 R ${more} >>`,
    );
    add(number + 1, `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`);
    if (jpeg) {
      const { bytes, width, height } = jpeg;
      const entries = `/Width ${width} /Height ${height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode`;
      add(
        number + 2,
        `<< /Type /XObject /Subtype /Image ${entries} /Length ${bytes.length} >>\nstream\n`,
        bytes,
        "\nendstream",
      );
    }
  }
  for (const [index, object] of objects.entries()) add(10_000 + index, object);
  const table = [...offsets].map(
    ([number, offset]) => `${number} 1\n${String(offset).padStart(10, "0")} 00000 n \n`,
  );
  const size = Math.max(...offsets.keys()) + 1;
  const tail = `xref\n0 1\n0000000000 65535 f \n${table.join("")}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF\n`;
  return Buffer.concat([...parts, Buffer.from(tail)]);
}
