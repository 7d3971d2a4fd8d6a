import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { proto } from "@whiskeysockets/baileys";
import type { Json } from "../models/server.ts";
import type { WhatsAppWorld } from "../whatsapp-perch.ts";
import type { Group } from "./group.ts";
import type { LinkedDevice } from "./linked-device.ts";
import type { LoopbackWhatsApp } from "./loopback.ts";
import type { Person } from "./person.ts";
import type { Shown } from "./world.ts";

/** What an answer to a message can be known by: "m<conversation>-<number>". */
const TOKEN = /m\d+-\d+/g;
const PHOTO = join(import.meta.dirname, "../../fixtures/media/photo.jpg");
/** One in so many things that are said is a picture, the first among them. */
const PICTURES = 10;

/** One person with Perch, or three in a group with it. Nobody is in two of them. */
export class Conversation {
  /** On whose phone the answers are looked at. */
  readonly viewer: Person;
  readonly #wa: LoopbackWhatsApp;
  readonly #device: LinkedDevice;
  readonly #speakers: readonly Person[];
  readonly #group: Group | undefined;
  readonly #photo: Buffer;

  constructor(
    {
      wa,
      device,
      photo,
    }: { readonly wa: LoopbackWhatsApp; readonly device: LinkedDevice; readonly photo: Buffer },
    [first, ...others]: readonly [Person, ...Person[]],
    group?: Group,
  ) {
    this.viewer = first;
    this.#wa = wa;
    this.#device = device;
    this.#speakers = [first, ...others];
    this.#group = group;
    this.#photo = photo;
  }

  /** What its viewer was shown, in order. */
  get shown(): readonly Shown[] {
    return this.viewer.inbox;
  }

  /** The `n`th thing that is said here. */
  async say(token: string, n: number): Promise<void> {
    const speaker = this.#speakers[n % this.#speakers.length] ?? this.viewer;
    const message = await this.#message(token, n);
    await speaker.say(this.#device, message, this.#group ? { group: this.#group } : {});
  }

  async answered(token: string): Promise<void> {
    await this.#wa.waitForMessage(
      ({ person, message }) => person === this.viewer && tokensIn(message).includes(token),
    );
  }

  async #message(token: string, n: number): Promise<proto.IMessage> {
    const lid = this.#device.phone.lid;
    const text = this.#group ? `@${lid.split("@")[0]} ${token}` : token;
    const context = this.#group ? { contextInfo: { mentionedJid: [lid] } } : {};
    if (n % PICTURES !== 1) return { extendedTextMessage: { text, ...context } };
    const file = await this.#wa.media.put(this.#photo, "image");
    return { imageMessage: { ...file, mimetype: "image/jpeg", caption: text, ...context } };
  }
}

/** One of each person alone, and one of each group. */
export async function conversationsIn(
  { wa, owner, people, groups }: WhatsAppWorld,
  device: LinkedDevice,
): Promise<readonly Conversation[]> {
  const parts = { wa, device, photo: await readFile(PHOTO) };
  return [
    ...people.map((person) => new Conversation(parts, [person])),
    ...groups.flatMap((group) => {
      const [first, ...others] = [...group.members].filter((member) => member !== owner);
      return first ? [new Conversation(parts, [first, ...others], group)] : [];
    }),
  ];
}

/** What a message itself says, without what it quotes. */
export function tokensIn({
  conversation,
  extendedTextMessage,
  imageMessage,
}: proto.IMessage): readonly string[] {
  const text = conversation ?? extendedTextMessage?.text ?? imageMessage?.caption ?? "";
  return text.match(TOKEN) ?? [];
}

/** Names every message that the last thing which was said speaks of; with `drawn`, below a picture. */
export function answerTo(body: Json, drawn: boolean): string {
  const messages = body["messages"] as readonly { readonly role: string; readonly content: unknown }[]; // the protocol's own shape
  const last = messages.findLast(({ role }) => role === "user");
  const words = `re ${[...new Set(JSON.stringify(last?.content).match(TOKEN) ?? [])].join(" ")}`;
  return drawn ? `![${words}](chart.jpg)` : words;
}
