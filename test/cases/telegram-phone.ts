import type { MediaForm } from "../../src/core/channel.ts";
import type { TelegramEmulator } from "../support/telegram/emulator.ts";
import type { Voice } from "../support/telegram/people.ts";
import type { MediaName, SentMessage } from "../support/telegram/sent-log.ts";
import type { Phone, SentFile, Shown } from "./phone.ts";

/** Somebody with Telegram. */
export class TelegramPhone implements Phone {
  readonly chat: string;
  readonly voice: Voice;
  readonly #emulator: TelegramEmulator;

  constructor(id: number, emulator: TelegramEmulator) {
    this.chat = String(id);
    this.voice = emulator.privateChat({ id, firstName: "Mira" });
    this.#emulator = emulator;
  }

  async write(words: string): Promise<void> {
    this.voice.sendText(words);
  }

  async send({ bytes, sentAs, filename, mimeType, caption, duration }: SentFile): Promise<void> {
    const file = {
      ...(caption === undefined ? {} : { caption }),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(filename === undefined ? {} : { fileName: filename }),
      ...(duration === undefined ? {} : { duration }),
    };
    switch (sentAs) {
      case "photo":
        return void this.voice.sendPhoto(bytes, file);
      case "document":
        return void this.voice.sendDocument(bytes, file);
      case "voice":
        return void this.voice.sendVoice(bytes, file);
      case "audio":
        return void this.voice.sendAudio(bytes, file);
      default:
        throw new Error(`nobody can send a ${sentAs} on Telegram`);
    }
  }

  shown(): readonly Shown[] {
    return this.#emulator.sentTo(this.voice.chatId).map(shownOf);
  }

  async untilShown(text: string): Promise<void> {
    await this.#emulator.sentMatching((sent) => sent.chatId === this.voice.chatId && sent.text === text);
  }
}

const FORMS: Readonly<Record<MediaName, MediaForm>> = {
  photo: "image",
  sticker: "image",
  document: "file",
  audio: "audio",
  voice: "voice",
  video: "video",
  video_note: "video",
  animation: "animation",
};

function shownOf({ text, caption, entities, media }: SentMessage): Shown {
  return {
    text: text ?? caption ?? "",
    marks: entities,
    ...(media === undefined
      ? {}
      : { media: { bytes: media.bytes, as: FORMS[media.kind], name: media.fileName ?? "" } }),
  };
}
