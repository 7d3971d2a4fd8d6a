import { normalizeMessageContent, type proto } from "@whiskeysockets/baileys";
import type { ChannelHost } from "../../src/core/host.ts";
import type { Channel } from "../../src/core/channel.ts";
import type { LinkedDevice } from "../support/whatsapp/linked-device.ts";
import { openLinked } from "../support/whatsapp/linked.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "../support/whatsapp/loopback.ts";
import type { MediaHost } from "../support/whatsapp/media-host.ts";
import type { Person } from "../support/whatsapp/person.ts";
import type { Phone, SentFile, Shown } from "./phone.ts";

const PHONES = 15_550_000_000;
const LIDS = 90_000_000_000_000;

/** A WhatsApp on this machine that an account of Perch's is linked with, over the library's own socket. */
export class WhatsApp {
  readonly channel: Channel;
  readonly #wa: LoopbackWhatsApp;
  readonly #device: LinkedDevice;

  private constructor(wa: LoopbackWhatsApp, channel: Channel, device: LinkedDevice) {
    this.#wa = wa;
    this.channel = channel;
    this.#device = device;
  }

  static async open(host: ChannelHost): Promise<WhatsApp> {
    const wa = await startWhatsApp();
    wa.trust();
    const owner = await wa.addPerson({ phone: String(PHONES), lid: String(LIDS), name: "Owner" });
    const { channel, device } = await openLinked(wa, owner, host);
    return new WhatsApp(wa, channel, device);
  }

  /** Somebody with a number of their own, from 1 on. */
  async phone(number: number): Promise<WhatsAppPhone> {
    const [phone, lid] = [PHONES, LIDS].map((first) => String(first + number)) as [string, string]; // one of each
    const person = await this.#wa.addPerson({ phone, lid, name: "Mira" });
    return new WhatsAppPhone(`lid:${lid}`, person, this.#device, this.#wa);
  }

  close(): Promise<void> {
    return this.#wa.close();
  }
}

/** Somebody with WhatsApp, who sees no more than what arrives encrypted. */
export class WhatsAppPhone implements Phone {
  readonly chat: string;
  readonly #person: Person;
  readonly #device: LinkedDevice;
  readonly #wa: LoopbackWhatsApp;
  #shown: readonly Shown[] = [];

  constructor(chat: string, person: Person, device: LinkedDevice, wa: LoopbackWhatsApp) {
    this.chat = chat;
    this.#person = person;
    this.#device = device;
    this.#wa = wa;
  }

  async write(words: string): Promise<void> {
    await this.#person.say(this.#device, words);
  }

  async send(file: SentFile): Promise<void> {
    await this.#person.say(this.#device, await carried(file, this.#wa.media));
  }

  /** As of the last text that was waited for. */
  shown(): readonly Shown[] {
    return this.#shown;
  }

  async untilShown(text: string): Promise<void> {
    await this.#wa.waitForMessage(
      ({ person, message }) => person === this.#person && wordsOf(message) === text,
    );
    const messages = this.#person.inbox.map(({ message }) => shownOf(message, this.#wa.media));
    this.#shown = (await Promise.all(messages)).flat();
  }
}

/** A file in the kind of message by which WhatsApp carries it; all but documents lose their names. */
async function carried(file: SentFile, media: MediaHost): Promise<proto.IMessage> {
  const { bytes, sentAs, filename, mimeType, caption, duration } = file;
  const said = {
    ...(mimeType === undefined ? {} : { mimetype: mimeType }),
    ...(duration === undefined ? {} : { seconds: duration }),
    ...(caption === undefined ? {} : { caption }),
  };
  switch (sentAs) {
    case "image":
      return { imageMessage: { ...(await media.put(bytes, "image")), ...said } };
    case "video":
      return { videoMessage: { ...(await media.put(bytes, "video")), ...said } };
    case "audio":
    case "audio (ptt)":
      return { audioMessage: { ...(await media.put(bytes, "audio")), ...said, ptt: sentAs !== "audio" } };
    case "document": {
      const name = filename === undefined ? {} : { fileName: filename, title: filename };
      const message = { documentMessage: { ...(await media.put(bytes, "document")), ...said, ...name } };
      return caption === undefined ? message : { documentWithCaptionMessage: { message } };
    }
    default:
      throw new Error(`nobody can send a ${sentAs} on WhatsApp`);
  }
}

/**
 * What a message shows; the frame of an album, whose pictures are messages of their own, and a reaction to another message
 * are none.
 */
async function shownOf(given: proto.IMessage, media: MediaHost): Promise<readonly Shown[]> {
  const message = normalizeMessageContent(given) ?? {};
  const { imageMessage, videoMessage, audioMessage, documentMessage, albumMessage } = message;
  const shown = (bytes: Buffer, as: NonNullable<Shown["media"]>["as"], text?: string | null, name = "") => [
    { text: text ?? "", marks: [], media: { bytes, as, name } },
  ];
  if (albumMessage || message.reactionMessage) return [];
  if (imageMessage) return shown(await media.open(imageMessage, "image"), "image", imageMessage.caption);
  if (videoMessage) {
    const as = videoMessage.gifPlayback ? "animation" : "video";
    return shown(await media.open(videoMessage, "video"), as, videoMessage.caption);
  }
  if (audioMessage)
    return shown(await media.open(audioMessage, "audio"), audioMessage.ptt ? "voice" : "audio");
  if (documentMessage) {
    const { caption, fileName } = documentMessage;
    return shown(await media.open(documentMessage, "document"), "file", caption, fileName ?? "");
  }
  const text = wordsOf(message);
  if (text === undefined) throw new Error(`a phone cannot show ${Object.keys(message).join(", ")}`);
  return [{ text, marks: [] }];
}

function wordsOf({ conversation, extendedTextMessage }: proto.IMessage): string | undefined {
  return extendedTextMessage?.text ?? conversation ?? undefined;
}
