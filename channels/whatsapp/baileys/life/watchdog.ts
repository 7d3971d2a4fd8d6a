import { S_WHATSAPP_NET } from "@whiskeysockets/baileys";
import type { Clock } from "../../../../src/core/clock.ts";
import type { Log } from "../../../../src/core/log.ts";
import type { Hearing } from "../line.ts";
import { rawOf } from "./raw-socket.ts";

const LOOK_MS = 15_000;
/** From then on WhatsApp is asked for a sign of life at each look. */
const ASK_MS = 45_000;
/** Baileys asks by itself every 30 s, and can wait another 30 s for a goodbye once it has noticed. */
const SILENT_MS = 90_000;

/** Ends a connection on which nothing at all has come for 90 s; silence of people is none, as pings are answered. */
export function watchdog(clock: Clock, log: Log): Hearing {
  return ({ socket }) => {
    let heardAt = clock.now();
    let hasSpoken = false;
    let timer = clock.after(LOOK_MS, look);
    const heard = (): void => {
      heardAt = clock.now();
      hasSpoken = true;
    };
    socket.ws.on("frame", heard);

    function look(): void {
      const silentMs = clock.now() - heardAt;
      if (silentMs >= SILENT_MS) {
        log.warn({ silentMs }, "WhatsApp has gone silent; the connection is made anew");
        rawOf(socket)?.terminate();
        return;
      }
      // Its first word begins the handshake: before that there is nobody to be asked.
      if (silentMs >= ASK_MS && hasSpoken && socket.ws.isOpen) ask();
      timer = clock.after(LOOK_MS, look);
    }

    function ask(): void {
      const id = socket.generateMessageTag();
      socket
        .sendNode({
          tag: "iq",
          attrs: { id, to: S_WHATSAPP_NET, type: "get", xmlns: "w:p" },
          content: [{ tag: "ping", attrs: {} }],
        })
        .catch(() => {}); // what cannot be sent is not answered, which the next look tells
    }

    return () => {
      timer.cancel();
      socket.ws.off("frame", heard);
    };
  };
}
