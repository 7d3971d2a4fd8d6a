/** What a contact card says of somebody. */
export type Card = {
  readonly name: string;
  /** Phone numbers, mail addresses and links. */
  readonly reachedBy: readonly string[];
};

/** Reads a vCard of 2.1 to 4.0, as far as it says who it is and how they are reached. */
export function readCard(vcard: string): Card {
  let name = "";
  const reachedBy: string[] = [];
  // A line that begins with a space goes on with the one before.
  for (const line of vcard.replaceAll(/\r?\n[ \t]/g, "").split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon < 0) continue;
    const [head = "", ...parameters] = line.slice(0, colon).split(";");
    const value = unescaped(line.slice(colon + 1)).trim();
    // "item1.TEL" is of a group of lines that belong together.
    switch (head.replace(/^.*\./, "").toUpperCase()) {
      case "FN":
        name = value;
        break;
      case "TEL":
        reachedBy.push(phoneOf(value, parameters));
        break;
      case "EMAIL":
      case "URL":
        reachedBy.push(value);
        break;
    }
  }
  return { name, reachedBy: [...new Set(reachedBy.filter((way) => way !== ""))].slice(0, MOST) };
}

const MOST = 20;

/** WhatsApp's own number of the account is preferred to what somebody has written. */
function phoneOf(value: string, parameters: readonly string[]): string {
  const account = parameters.find((parameter) => /^waid=\d+$/i.test(parameter));
  return account === undefined ? value : `+${account.slice("waid=".length)}`;
}

function unescaped(value: string): string {
  return value.replaceAll(/\\([\\,;nN])/g, (_whole, sign: string) =>
    sign.toLowerCase() === "n" ? " " : sign,
  );
}
