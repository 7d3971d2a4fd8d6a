import { safeName } from "../../src/core/names.ts";

/**
 * A name as it survives the upload: grammY writes it into the form without quotes, and Telegram cuts such a name at ";"
 * and decodes %XX in it.
 */
export function uploadName(name: string): string | undefined {
  return safeName(name.replaceAll(/[;"%]/g, "_"));
}
