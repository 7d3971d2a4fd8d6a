import { createHash } from "node:crypto";

/** As WhatsApp's programs write them, with room to spare. What names another message is kept and looked up by its id. */
const ID = /^[!-~]{1,128}$/;

/** The id by which a message names another one; undefined for what none has. */
export function idIn(id: string | null | undefined): string | undefined {
  return id && ID.test(id) ? id : undefined;
}

/** A message's own id, which is whatever its sender's program writes. */
export function ownId(id: string): string {
  return idIn(id) ?? createHash("sha256").update(id).digest("hex");
}
