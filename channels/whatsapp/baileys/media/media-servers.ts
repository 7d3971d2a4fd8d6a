import type { BinaryNode, WASocket } from "@whiskeysockets/baileys";
import { getBinaryNodeChild, getBinaryNodeChildren } from "@whiskeysockets/baileys";
import type { Clock } from "../../../../src/core/clock.ts";

/** Where files are brought to, in the order in which they are to be tried. */
export type MediaServers = {
  readonly hosts: readonly { readonly name: string; readonly mostBytes: number }[];
  /** A secret that lets this account upload. */
  readonly auth: string;
};

const kept = new WeakMap<WASocket, { readonly servers: MediaServers; readonly until: number }>();

/**
 * Asks WhatsApp for its servers of files, or knows them still; `anew` asks in any case. The library's own way remembers a
 * failed answer for as long as its socket lives.
 * @throws Error when the answer is none.
 */
export async function mediaServers(socket: WASocket, clock: Clock, anew: boolean): Promise<MediaServers> {
  const known = kept.get(socket);
  if (known && !anew && clock.now() < known.until) return known.servers;
  const answer: BinaryNode | undefined = await socket.query({
    tag: "iq",
    attrs: { type: "set", xmlns: "w:m", to: "@s.whatsapp.net" },
    content: [{ tag: "media_conn", attrs: {} }],
  });
  const node = getBinaryNodeChild(answer, "media_conn");
  const { auth, ttl } = node?.attrs ?? {};
  const hosts = getBinaryNodeChildren(node, "host").flatMap(({ attrs }) =>
    attrs["hostname"] === undefined
      ? []
      : [{ name: attrs["hostname"], mostBytes: Number(attrs["maxContentLengthBytes"]) || Infinity }],
  );
  if (auth === undefined || hosts.length === 0) throw new Error("WhatsApp named no servers of files");
  const servers = { hosts, auth };
  kept.set(socket, { servers, until: clock.now() + (Number(ttl) || 0) * 1_000 });
  return servers;
}
