import { type ContentLine, contentLines } from "./content-lines.ts";

const LABELS: Readonly<Record<string, string>> = {
  ORG: "Organization",
  TITLE: "Title",
  ROLE: "Role",
  TEL: "Phone",
  EMAIL: "Mail",
  ADR: "Address",
  URL: "Link",
  IMPP: "Chat",
  BDAY: "Birthday",
  ANNIVERSARY: "Anniversary",
  NICKNAME: "Nickname",
  NOTE: "Note",
  CATEGORIES: "Categories",
  "X-ABRELATEDNAMES": "Related",
};

/** Contacts in lines that read; of a picture or a key only that there is one. */
export function contactsText(text: string): string {
  const blocks: string[] = [];
  let lines: ContentLine[] | undefined;
  for (const line of contentLines(text)) {
    if (line.name === "BEGIN") lines = [];
    else if (line.name === "END") {
      if (lines && lines.length > 0) blocks.push(contact(lines));
      lines = undefined;
    } else lines?.push(line);
  }
  if (lines && lines.length > 0) blocks.push(contact(lines));
  return blocks.join("\n\n");
}

function contact(lines: readonly ContentLine[]): string {
  const told = lines.flatMap((line) => {
    const label = Object.hasOwn(LABELS, line.name) ? LABELS[line.name] : undefined;
    if (label !== undefined) {
      const value = joined(line);
      return value === "" ? [] : [`${label}${kindOf(line)}: ${value}`];
    }
    return /^(PHOTO|LOGO|SOUND|KEY)$/.test(line.name) ? [`(has a ${line.name.toLowerCase()})`] : [];
  });
  return [`## ${nameOf(lines)}`, ...told].join("\n");
}

function nameOf(lines: readonly ContentLine[]): string {
  const full = lines.find((line) => line.name === "FN")?.value.trim();
  if (full !== undefined && full !== "") return full.replaceAll(/\s+/g, " ");
  const [family = "", given = "", middle = ""] = lines.find((line) => line.name === "N")?.parts ?? [];
  const name = [given, middle, family].filter((part) => part !== "").join(" ");
  return name === "" ? "(no name)" : name;
}

function joined({ parts }: ContentLine): string {
  return parts
    .map((part) => part.replace(/^(tel|mailto):/i, "").trim())
    .filter((part) => part !== "")
    .join(", ");
}

/** "(cell, work)", where it is said and says anything. */
function kindOf({ parameters }: ContentLine): string {
  const kinds = (parameters.get("TYPE") ?? "")
    .toLowerCase()
    .split(",")
    .filter((kind) => kind !== "" && !/^(internet|pref|voice|x-|utf-8|quoted-printable)/.test(kind));
  return kinds.length === 0 ? "" : ` (${kinds.join(", ")})`;
}
