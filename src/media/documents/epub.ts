import { type Contents, PASSWORD, type Unread } from "./contents.ts";
import { writeHtml } from "./html.ts";
import { Manuscript } from "./manuscript.ts";
import { readXml, valueOf } from "./xml.ts";
import { resolvePart, type Zip } from "./zip.ts";

/** A book: its chapters in the order in which they are read, each with a mark. */
export async function readEpub(zip: Zip): Promise<Contents | Unread> {
  let root = "";
  await readXml(zip.part("META-INF/container.xml"), {
    open: (name, attributes) => {
      if (name === "rootfile" && root === "") root = valueOf(attributes, "full-path") ?? "";
    },
  });
  const written = new Manuscript();
  let title = "";
  let inTitle = false;
  const parts = new Map<string, string>();
  const spine: string[] = [];
  await readXml(zip.part(root), {
    open: (name, attributes) => {
      if (name === "title") inTitle = title === "";
      else if (name === "item") parts.set(valueOf(attributes, "id") ?? "", valueOf(attributes, "href") ?? "");
      else if (name === "itemref") spine.push(valueOf(attributes, "idref") ?? "");
    },
    close: () => {
      inTitle = false;
    },
    text: (text) => {
      if (inTitle) title += text;
    },
  });
  const folder = root.slice(0, root.lastIndexOf("/") + 1);
  const chapters = spine.flatMap((id) => {
    const href = parts.get(id);
    return href === undefined ? [] : [resolvePart(folder, decoded(href.split("#")[0] ?? ""))];
  });
  // Fonts are often scrambled, and that is no matter; chapters are where a shop has locked the book.
  const locked = zip.has("META-INF/encryption.xml") ? await zip.text("META-INF/encryption.xml") : "";
  if (chapters.some((chapter) => locked.includes(`"${chapter}"`))) return PASSWORD;
  if (title.trim() !== "") {
    written.heading(1);
    written.text(title);
  }
  let filled = false;
  for (const [index, chapter] of chapters.entries()) {
    if (written.full) break;
    const text = new Manuscript();
    writeHtml(await zip.text(chapter), text);
    const said = text.finish();
    if (said === "") continue; // a cover is a picture
    filled = true;
    written.mark(`chapter ${index + 1}`);
    written.paragraph();
    written.exact(said);
  }
  return { text: filled ? written.finish() : "" };
}

function decoded(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}
