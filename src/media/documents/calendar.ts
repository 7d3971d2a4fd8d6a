import { type ContentLine, contentLines } from "./content-lines.ts";

/** The events and tasks of a calendar in lines that read: what, when, where, who. */
export function calendarText(text: string): string {
  const blocks: string[] = [];
  let lines: ContentLine[] | undefined;
  let within = 0;
  for (const line of contentLines(text)) {
    const kind = line.value.toUpperCase();
    if (line.name === "BEGIN") {
      if (lines) within += 1; // an alarm in an event
      else if (/^V(EVENT|TODO|JOURNAL)$/.test(kind)) lines = [];
    } else if (line.name === "END") {
      if (within > 0) within -= 1;
      else if (lines) {
        blocks.push(entry(lines));
        lines = undefined;
      }
    } else if (lines && within === 0) lines.push(line);
    else if (line.name === "X-WR-CALNAME" || line.name === "METHOD")
      blocks.push(`${label(line.name)}: ${line.value}`);
  }
  if (lines) blocks.push(entry(lines)); // cut off in the middle
  return blocks.join("\n\n");
}

function entry(lines: readonly ContentLine[]): string {
  const value = (name: string): string | undefined => lines.find((line) => line.name === name)?.value;
  const all = (name: string): readonly ContentLine[] => lines.filter((line) => line.name === name);
  const told: string[] = [`## ${(value("SUMMARY") ?? "(no title)").replaceAll(/\s+/g, " ")}`];
  const tell = (words: string, text: string | undefined): void => {
    if (text !== undefined && text.trim() !== "") told.push(`${words}: ${text.trim()}`);
  };
  tell(
    "When",
    [when(all("DTSTART")[0]), when(all("DTEND")[0])].filter((text) => text !== undefined).join(" – "),
  );
  tell("For", value("DURATION"));
  tell("Due", when(all("DUE")[0]));
  tell("Repeats", value("RRULE"));
  tell(
    "Except",
    all("EXDATE")
      .map((line) => when(line))
      .join(", "),
  );
  tell("Where", value("LOCATION"));
  tell("Organizer", all("ORGANIZER").map(person)[0]);
  tell("Who", all("ATTENDEE").map(person).join(", "));
  tell("Status", value("STATUS"));
  tell("Link", value("URL"));
  tell("Categories", value("CATEGORIES"));
  const description = value("DESCRIPTION");
  if (description !== undefined && description.trim() !== "") told.push("", description.trim());
  return told.join("\n");
}

/** "20240501T100000Z" as "2024-05-01 10:00 UTC". */
function when(line: ContentLine | undefined): string | undefined {
  if (line === undefined) return undefined;
  const zone = line.parameters.get("TZID");
  return line.value.replaceAll(
    /(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?/g,
    (
      _,
      year: string,
      month: string,
      day: string,
      hour?: string,
      minute?: string,
      _second?: string,
      utc?: string,
    ) => {
      const date = `${year}-${month}-${day}`;
      if (hour === undefined) return date;
      const place = utc === undefined ? (zone === undefined ? "" : ` ${zone}`) : " UTC";
      return `${date} ${hour}:${minute}${place}`;
    },
  );
}

function person(line: ContentLine): string {
  const address = line.value.replace(/^mailto:/i, "");
  const name = line.parameters.get("CN");
  const answer = line.parameters.get("PARTSTAT")?.toLowerCase();
  const said = answer === undefined || answer === "needs-action" ? "" : ` (${answer})`;
  return `${name === undefined || name === address ? address : `${name} <${address}>`}${said}`;
}

function label(name: string): string {
  return name === "METHOD" ? "Method" : "Calendar";
}
