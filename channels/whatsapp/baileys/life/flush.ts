import type { ConnectionState as Update } from "@whiskeysockets/baileys";
import type { Clock, Timer } from "../../../../src/core/clock.ts";
import type { Hearing } from "../line.ts";

const LOOK_MS = 1_000;
/** Looks in a row that found events held back. */
const LOOKS = 3;

/**
 * Hands out events that Baileys holds back for over 2 s while the connection is open. A flush of its own at the wrong time
 * makes it forget the next one, and messages that came then would wait for its safety net of 30 s.
 */
export function flushing(clock: Clock): Hearing {
  return ({ socket: { ev } }) => {
    let timer: Timer | undefined;
    let held = 0;

    function look(): void {
      held = ev.isBuffering() ? held + 1 : 0;
      if (held >= LOOKS) {
        held = 0;
        ev.flush();
      }
      timer = clock.after(LOOK_MS, look);
    }

    const begin = ({ connection }: Partial<Update>): void => {
      if (connection === "open") timer ??= clock.after(LOOK_MS, look);
    };
    ev.on("connection.update", begin);
    return () => {
      timer?.cancel();
      ev.off("connection.update", begin);
    };
  };
}
