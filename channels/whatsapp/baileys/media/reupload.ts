import type { BaileysEventMap, WASocket } from "@whiskeysockets/baileys";
import { decryptMediaRetryData, encryptMediaRetryRequest, proto } from "@whiskeysockets/baileys";
import type { Clock } from "../../../../src/core/clock.ts";
import { asError, GatewayError } from "../../../../src/core/errors.ts";
import type { Account } from "../line.ts";
import type { AnnouncedMedia } from "./media-ref.ts";

/** A phone that is there answers in a few seconds; one that is off answers never. */
const ANSWER_MS = 20_000;

type Update = BaileysEventMap["messages.media-update"][number];

/**
 * Has the account's phone upload a file again that WhatsApp's servers have no more; gives its new path. The library's own
 * way waits for ever and keeps listening.
 * @throws GatewayError "media.unavailable"; the signal's reason.
 */
export async function reupload(
  media: AnnouncedMedia & { readonly key: Uint8Array },
  { account, clock }: { readonly account: Account; readonly clock: Clock },
  signal: AbortSignal,
): Promise<string> {
  const socket = account.line()?.socket;
  const me = account.me();
  if (!socket || !me) throw gone("and the connection is down, so that the phone cannot be asked for it now");
  const { id, chat, fromMe, participant } = media.of;
  const key = { id, remoteJid: chat, fromMe, ...(participant === undefined ? {} : { participant }) };
  const update = await answered(socket, id, clock, signal, () =>
    socket.sendNode(encryptMediaRetryRequest(key, media.key, me.pn)),
  );
  const path = update.media && pathIn(update.media, media.key, id);
  if (path === undefined) throw gone("and the phone has it no more either; ask for it to be sent again");
  return path;
}

function answered(
  { ev }: Pick<WASocket, "ev">,
  id: string,
  clock: Clock,
  signal: AbortSignal,
  ask: () => Promise<unknown>,
): Promise<Update> {
  return new Promise<Update>((resolve, reject) => {
    const hear = (updates: readonly Update[]): void => {
      const update = updates.find(({ key }) => key.id === id);
      if (update) settle(() => resolve(update));
    };
    const closed = ({ connection }: BaileysEventMap["connection.update"]): void => {
      if (connection === "close") settle(() => reject(gone("and the connection broke; send it again")));
    };
    const abort = (): void => settle(() => reject(asError(signal.reason)));
    const timer = clock.after(ANSWER_MS, () =>
      settle(() =>
        reject(
          gone(`and the phone did not upload it again within ${ANSWER_MS / 1_000} s; is it switched on?`),
        ),
      ),
    );
    const settle = (end: () => void): void => {
      timer.cancel();
      ev.off("messages.media-update", hear);
      ev.off("connection.update", closed);
      signal.removeEventListener("abort", abort);
      end();
    };
    ev.on("messages.media-update", hear);
    ev.on("connection.update", closed);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) return abort();
    ask().catch(() => settle(() => reject(gone("and the phone could not be asked; send it again"))));
  });
}

/** Undefined where the phone says no, or where what came is not its own: the file's key opens it. */
function pathIn(media: NonNullable<Update["media"]>, key: Uint8Array, id: string): string | undefined {
  try {
    const { result, directPath } = decryptMediaRetryData(media, key, id);
    const isThere = result === proto.MediaRetryNotification.ResultType.SUCCESS;
    return isThere && directPath ? directPath : undefined;
  } catch {
    return undefined;
  }
}

function gone(why: string): GatewayError {
  return new GatewayError("media.unavailable", `WhatsApp has the file no more, ${why}`);
}
