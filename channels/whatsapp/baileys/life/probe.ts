import type { ConnectionState as Update } from "@whiskeysockets/baileys";
import { type Clock, pause, type Timer } from "../../../../src/core/clock.ts";
import type { Log } from "../../../../src/core/log.ts";
import type { Hearing } from "../line.ts";
import { rawOf } from "./raw-socket.ts";

const IDLE_MS = 600_000;
const ANSWER_MS = 30_000;

/**
 * Asks WhatsApp a small question when no message has come for ten minutes: a connection can answer pings and be deaf to
 * everything else. Unanswered, it is ended.
 */
export function idleProbe(clock: Clock, log: Log): Hearing {
  return ({ socket }) => {
    const ending = new AbortController();
    let timer: Timer | undefined;

    const heard = (): void => {
      if (timer === undefined) return;
      timer.cancel();
      timer = clock.after(IDLE_MS, () => void ask());
    };

    async function ask(): Promise<void> {
      const asking = socket.fetchPrivacySettings(true).then(
        () => true,
        () => false,
      );
      const answered = await Promise.race([
        asking,
        pause(clock, ANSWER_MS, ending.signal).then(() => ending.signal.aborted),
      ]);
      if (ending.signal.aborted) return;
      if (answered) return heard();
      log.warn({}, "WhatsApp answers nothing but pings; the connection is made anew");
      rawOf(socket)?.terminate();
    }

    const begin = ({ connection }: Partial<Update>): void => {
      if (connection === "open") timer ??= clock.after(IDLE_MS, () => void ask());
    };
    socket.ev.on("connection.update", begin);
    socket.ws.on("CB:message", heard);
    return () => {
      ending.abort();
      timer?.cancel();
      socket.ev.off("connection.update", begin);
      socket.ws.off("CB:message", heard);
    };
  };
}
