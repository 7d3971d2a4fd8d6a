/**
 * A text without its HTML comments: they are for who edits it. In code they stay, for there they are what is shown, and one
 * that does not end is none.
 */
export function withoutComments(text: string): string {
  let fence = "";
  let outside = "";
  const parts: string[] = [];
  const flush = (): void => {
    parts.push(stripped(outside));
    outside = "";
  };
  for (const line of text.split(/(?<=\n)/)) {
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    // What looks like code within a comment is a part of it.
    if (fence === "" && (marks === "" || isOpen(outside))) {
      outside += line;
      continue;
    }
    if (fence === "") {
      flush();
      fence = marks;
    } else if (marks.startsWith(fence)) fence = "";
    parts.push(line);
  }
  flush();
  return parts.join("");
}

function isOpen(text: string): boolean {
  const begun = text.lastIndexOf("<!--");
  return begun >= 0 && text.indexOf("-->", begun) < 0;
}

/** Comments that have lines to themselves take these along. */
function stripped(text: string): string {
  let rest = "";
  let from = 0;
  for (;;) {
    const begin = text.indexOf("<!--", from);
    const end = begin < 0 ? -1 : text.indexOf("-->", begin + 4);
    if (end < 0) return rest + text.slice(from);
    rest += text.slice(from, begin);
    from = end + 3;
    const alone = (rest === "" || rest.endsWith("\n")) && text.startsWith("\n", from);
    if (alone) from += 1;
  }
}
