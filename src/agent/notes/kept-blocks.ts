/** The comments between which a program keeps what is its own in a text that an agent may change. */
const MARK = /<!--\s{0,20}perch:(begin|end)\b([^>]{0,200}?)-->/g;

/** A text of a few hundred KB has a few of them; one with more is made to be slow. */
const MOST_MARKS = 1_000;

/**
 * Why a text may not take the place of another: the blocks that a program keeps in it, from `<!-- perch:begin NAME -->` to
 * `<!-- perch:end NAME -->`, must stay as they are and where they are to each other, and no new ones may be made.
 */
export function keptRefusal(path: string, before: string, after: string): string | undefined {
  const [was, is] = [keptIn(before), keptIn(after)];
  if (was.length === is.length && was.every((block, at) => block === is[at])) return undefined;
  return (
    `${path} was not changed: what stands there between <!-- perch:begin … --> and <!-- perch:end … --> is kept by a program. ` +
    "Leave these blocks and their marks as they are, and write beside them"
  );
}

/** Each block with its marks, and each mark that has no other half. */
function keptIn(text: string): readonly string[] {
  const marks = [...text.matchAll(MARK)];
  if (marks.length > MOST_MARKS) return [`${marks.length} marks`, text];
  const kept: string[] = [];
  for (let at = 0; at < marks.length; at += 1) {
    const mark = marks[at] as RegExpExecArray; // within the array
    const [whole, kind, name] = mark;
    const end = kind === "begin" ? marks.findIndex((each, other) => other > at && closes(each, name)) : -1;
    const last = marks[end];
    kept.push(last === undefined ? whole : text.slice(mark.index, last.index + last[0].length));
    if (end > at) at = end;
  }
  return kept;
}

function closes([, kind, name]: RegExpMatchArray, of: string | undefined): boolean {
  return kind === "end" && name?.trim() === of?.trim();
}
