import type { Chat, proto, WAMessage } from "@whiskeysockets/baileys";
import type { ChannelHost } from "../../../../src/core/host.ts";
import { asError } from "../../../../src/core/errors.ts";
import type { Hearing } from "../line.ts";
import { unwrap } from "../reading/unwrap.ts";

const MOST_REMEMBERED = 1_000;

/**
 * For how long messages are shown in private chats where they disappear, as people's own messages say. What we write there
 * must say the same, or clients complain. Groups say it in their metadata.
 */
export class Disappearing {
  readonly #host: Pick<ChannelHost, "log" | "state">;
  readonly #chatOf: (jid: string) => string | undefined;
  /** Seconds, 0 where nothing disappears. */
  readonly #seconds = new Map<string, number>();

  constructor(
    host: Pick<ChannelHost, "log" | "state">,
    /** The gateway's name of a private chat. */
    chatOf: (jid: string) => string | undefined,
  ) {
    this.#host = host;
    this.#chatOf = chatOf;
  }

  readonly hear: Hearing = ({ socket }) => {
    const onMessages = ({ messages }: { readonly messages: readonly WAMessage[] }): void => {
      for (const { key, message } of messages) {
        const seconds = message ? secondsIn(message) : undefined;
        if (key.remoteJid && seconds !== undefined) this.#is(key.remoteJid, seconds);
      }
    };
    const onChats = (chats: readonly Partial<Chat>[]): void => {
      for (const { id, ephemeralExpiration } of chats)
        if (id && ephemeralExpiration !== undefined) this.#is(id, ephemeralExpiration ?? 0);
    };
    socket.ev.on("messages.upsert", onMessages);
    socket.ev.on("chats.update", onChats);
    return () => {
      socket.ev.off("messages.upsert", onMessages);
      socket.ev.off("chats.update", onChats);
    };
  };

  /** Undefined where messages stay. */
  async expirationIn(chat: string): Promise<number | undefined> {
    let seconds = this.#seconds.get(chat);
    if (seconds === undefined) {
      seconds = Number((await this.#host.state.get([keyOf(chat)])).get(keyOf(chat)) ?? 0);
      this.#remember(chat, seconds);
    }
    return seconds === 0 ? undefined : seconds;
  }

  forget(): void {
    this.#seconds.clear();
  }

  #is(jid: string, seconds: number): void {
    const chat = this.#chatOf(jid);
    if (chat === undefined || this.#seconds.get(chat) === seconds) return;
    this.#remember(chat, seconds);
    const value = seconds === 0 ? undefined : String(seconds);
    this.#host.state.set({ [keyOf(chat)]: value }).catch((thrown: unknown) => {
      this.#host.log.warn({ err: asError(thrown) }, "that messages disappear in a chat could not be stored");
    });
  }

  #remember(chat: string, seconds: number): void {
    this.#seconds.delete(chat);
    this.#seconds.set(chat, seconds);
    for (const oldest of this.#seconds.keys()) {
      if (this.#seconds.size <= MOST_REMEMBERED) break;
      this.#seconds.delete(oldest);
    }
  }
}

/** Undefined where a message of this kind does not say. */
function secondsIn(wrapped: proto.IMessage): number | undefined {
  const { kind, message } = unwrap(wrapped);
  if (kind === undefined) return undefined;
  if (kind === "conversation") return 0;
  if (kind === "protocolMessage") return message.protocolMessage?.ephemeralExpiration ?? undefined;
  const content: unknown = message[kind];
  if (!TELLING.has(kind) || typeof content !== "object" || content === null) return undefined;
  const { contextInfo } = content as { readonly contextInfo?: proto.IContextInfo | null }; // these kinds have one
  return contextInfo?.expiration ?? 0;
}

const TELLING: ReadonlySet<string> = new Set([
  "extendedTextMessage",
  "imageMessage",
  "videoMessage",
  "audioMessage",
  "documentMessage",
  "stickerMessage",
  "locationMessage",
  "contactMessage",
]);

function keyOf(chat: string): string {
  return `disappears/${chat}`;
}
