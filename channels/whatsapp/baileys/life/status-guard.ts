import type { BinaryNode, buildAckStanza as BuildAckStanza } from "@whiskeysockets/baileys";
import type { Hearing } from "../line.ts";

/** Statuses of contacts, lists to many and channels: nobody there talks to us. */
const NOT_FOR_US = /(?:@broadcast|@newsletter)$/;

/**
 * Acknowledges statuses, broadcasts and newsletters without reading them. The library refuses them or says nothing, upon
 * which WhatsApp holds back what else waits, or ends the connection every 50 minutes.
 */
export function statusGuard(buildAckStanza: typeof BuildAckStanza): Hearing {
  return ({ socket }) => {
    const { ws } = socket;
    const emit = ws.emit.bind(ws);
    ws.emit = (event: string | symbol, ...given: unknown[]): boolean => {
      const [node] = given;
      if (!isNode(node) || !isNotForUs(event, node)) return emit(event, ...given);
      // What is not acknowledged comes again.
      socket.sendNode(buildAckStanza(node, undefined, socket.user?.id)).catch(() => {});
      return true;
    };
    return () => {
      ws.emit = emit;
    };
  };
}

function isNotForUs(event: string | symbol, { attrs }: BinaryNode): boolean {
  if (event === "CB:status") return true;
  return event === "CB:message" && NOT_FOR_US.test(attrs["from"] ?? "");
}

function isNode(value: unknown): value is BinaryNode {
  return typeof value === "object" && value !== null && "tag" in value && "attrs" in value;
}
