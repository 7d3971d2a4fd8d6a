import { decodeAs, labelOf } from "./encodings.ts";

/** A line of a calendar or a contact: name, parameters in capitals, value with its escapes taken back. */
export type ContentLine = {
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly value: string;
  /** Of a value that has several, as written: "Doe;Ada;;;". */
  readonly parts: readonly string[];
};

/** Reads iCalendar (RFC 5545) and vCard (RFC 6350, and 2.1 with its quoted-printable); what is no such line is left. */
export function contentLines(text: string): readonly ContentLine[] {
  return unfolded(text).flatMap((line) => {
    const head = /^([\w.-]+)((?:;[^:;"]*(?:"[^"]*"[^:;"]*)*)*):/.exec(line);
    if (!head) return [];
    const parameters = new Map<string, string>();
    for (const [, name = "", value] of (head[2] ?? "").matchAll(/;([^=;"]+)(?:=((?:[^;"]|"[^"]*")*))?/g)) {
      const key = value === undefined ? "TYPE" : name.toUpperCase(); // 2.1 writes ;CELL for ;TYPE=CELL
      const told = (value ?? name).replaceAll('"', "");
      parameters.set(key, parameters.has(key) ? `${parameters.get(key)},${told}` : told);
    }
    const raw = line.slice(head[0].length);
    const written = /quoted-printable/i.test([...parameters.values()].join())
      ? fromQuotedPrintable(raw, parameters)
      : raw;
    return [
      {
        name: (head[1] ?? "").split(".").at(-1)?.toUpperCase() ?? "", // "item1.TEL" is in a group
        parameters,
        value: unescaped(written),
        parts: written.split(/(?<!\\);/).map(unescaped),
      },
    ];
  });
}

/** Lines that were broken for length are one again. */
function unfolded(text: string): readonly string[] {
  const lines: string[] = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    const last = lines.at(-1);
    if (last !== undefined && /^[ \t]/.test(line)) lines[lines.length - 1] = last + line.slice(1);
    else if (last?.endsWith("=") && /quoted-printable/i.test(last))
      lines[lines.length - 1] = last.slice(0, -1) + line;
    else lines.push(line);
  }
  return lines;
}

function fromQuotedPrintable(value: string, parameters: ReadonlyMap<string, string>): string {
  const bytes = Buffer.from(
    value.replaceAll(/=([\dA-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  return decodeAs(bytes, labelOf(parameters.get("CHARSET") ?? "utf-8") ?? "utf-8");
}

function unescaped(value: string): string {
  return value.replaceAll(/\\([nN,;:\\])/g, (_, sign: string) =>
    sign === "n" || sign === "N" ? "\n" : sign,
  );
}
