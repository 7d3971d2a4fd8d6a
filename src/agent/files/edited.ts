/** What an edit makes of a text: its one place, or all of them. The same where there is nothing to be replaced. */
export function replaced(text: string, old: string, fresh: string, all: boolean): string {
  if (old === "") return text;
  // Neither form heeds "$&" in what is put in.
  return all ? text.replaceAll(old, () => fresh) : text.replace(old, () => fresh);
}
