const NAME_LENGTH = 120;

/**
 * The last part of a path, without control characters and signs that turn the writing round; undefined when nothing is
 * left.
 */
export function plainName(declared: string | undefined): string | undefined {
  const name = (declared ?? "")
    .slice(Math.max((declared ?? "").lastIndexOf("/"), (declared ?? "").lastIndexOf("\\")) + 1)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "")
    .trim()
    .replace(/^\.+$/, "");
  if (name.length <= NAME_LENGTH) return name === "" ? undefined : name;
  const [extension = ""] = /\.[^.]{1,12}$/.exec(name) ?? [];
  return name.slice(0, NAME_LENGTH - extension.length).replace(/[\ud800-\udbff]$/, "") + extension;
}

/**
 * A name as it survives the upload: grammY writes it into the form without quotes, and Telegram cuts such a name at ";"
 * and decodes %XX in it.
 */
export function uploadName(name: string): string | undefined {
  return plainName(name.replaceAll(/[;"%]/g, "_"));
}
