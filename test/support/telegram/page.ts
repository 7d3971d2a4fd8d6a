import type { Message, MessageEntity } from "grammy/types";
import type { TelegramEmulator } from "./emulator.ts";

/**
 * A chat as the emulator keeps it, drawn as a plain page of its own: the texts with their entities, the files as what
 * they were sent as. It is no picture of Telegram's own programs, and says so.
 */
export async function chatPage(telegram: TelegramEmulator, chatId: number): Promise<string> {
  const files = new Files(telegram);
  const bubbles: string[] = [];
  for (const group of albums(telegram.shown(chatId)))
    bubbles.push(await bubble(group, files, telegram.me.id));
  return `<!doctype html><meta charset="utf-8"><title>A chat of the tests</title><style>${STYLE}</style>
<header>A chat as the Bot API server of the tests received it, drawn by the tests. No picture of a Telegram program.</header>
<main>${bubbles.join("\n")}</main>`;
}

/** Gets files as a bot does. */
class Files {
  readonly #telegram: TelegramEmulator;

  constructor(telegram: TelegramEmulator) {
    this.#telegram = telegram;
  }

  async address(fileId: string, mimeType: string): Promise<string> {
    const { apiRoot, token } = this.#telegram;
    const asked = await fetch(`${apiRoot}/bot${token}/getFile?file_id=${fileId}`);
    const { result } = (await asked.json()) as { result: { file_path: string } }; // Bot API getFile
    const file = await fetch(`${apiRoot}/file/bot${token}/${result.file_path}`);
    return `data:${mimeType};base64,${Buffer.from(await file.arrayBuffer()).toString("base64")}`;
  }
}

function albums(messages: readonly Message[]): readonly (readonly Message[])[] {
  const groups: Message[][] = [];
  for (const message of messages) {
    const album = message.media_group_id;
    if (album !== undefined && groups.at(-1)?.[0]?.media_group_id === album) groups.at(-1)?.push(message);
    else groups.push([message]);
  }
  return groups;
}

async function bubble(messages: readonly Message[], files: Files, bot: number): Promise<string> {
  const [first] = messages;
  const parts = await Promise.all(messages.map((message) => content(message, files)));
  const side = first?.from?.id === bot ? "bot" : "person";
  const forms = [...new Set(messages.map(formOf))].join(", ");
  const many = messages.length > 1 ? " many" : "";
  return `<article class="${side}"><div class="parts${many}">${parts.join("")}</div><small>${side === "bot" ? "bot" : escape(first?.from?.first_name ?? "")} · ${messages.length > 1 ? "album: " : ""}${forms}</small></article>`;
}

const FORMS = [
  "animation",
  "photo",
  "video",
  "video_note",
  "voice",
  "audio",
  "sticker",
  "document",
  "venue",
  "location",
  "contact",
  "poll",
  "dice",
] as const satisfies readonly (keyof Message)[];

function formOf(message: Message): string {
  return (FORMS.find((form) => message[form]) ?? "text").replace("_", " ");
}

async function content(message: Message, files: Files): Promise<string> {
  const {
    text,
    entities,
    caption,
    caption_entities,
    reply_to_message: replied,
    forward_origin: origin,
  } = message;
  const said = text === undefined ? marked(caption ?? "", caption_entities) : marked(text, entities);
  const quote =
    replied === undefined ? "" : `<q>${escape(replied.text ?? replied.caption ?? formOf(replied))}</q>`;
  const from = origin?.type === "hidden_user" ? `<q>from ${escape(origin.sender_user_name)}</q>` : "";
  return `<figure>${from}${quote}${await medium(message, files)}${said === "" ? "" : `<div class="said">${said}</div>`}</figure>`;
}

async function medium(message: Message, files: Files): Promise<string> {
  const { photo, animation, video, video_note: note, voice, audio, sticker, document } = message;
  const largest = photo?.at(-1);
  if (largest) return `<img src="${await files.address(largest.file_id, "image/jpeg")}">`;
  if (animation?.mime_type === "image/gif")
    return `<img src="${await files.address(animation.file_id, "image/gif")}">`;
  const film = animation ?? video;
  if (film) return `<video muted src="${await files.address(film.file_id, "video/mp4")}"></video>`;
  if (note)
    return `<video muted class="round" src="${await files.address(note.file_id, "video/mp4")}"></video>`;
  if (voice) return sound("Voice note", voice.duration);
  if (audio) return sound(audio.file_name ?? "Audio", audio.duration);
  if (sticker) return `<img class="sticker" src="${await files.address(sticker.file_id, "image/webp")}">`;
  if (document)
    return `<div class="file"><i>↧</i><b>${escape(document.file_name ?? "file")}</b> ${size(document.file_size)}</div>`;
  return words(message);
}

function words({ venue, location, contact, poll, dice }: Message): string {
  if (venue) return `<p>📍 <b>${escape(venue.title)}</b><br>${escape(venue.address)}</p>`;
  if (location) return `<p>📍 ${location.latitude}, ${location.longitude}</p>`;
  if (contact) return `<p>👤 <b>${escape(contact.first_name)}</b> ${escape(contact.phone_number)}</p>`;
  if (poll)
    return `<p>📊 <b>${escape(poll.question)}</b>${poll.options.map((option) => `<br>○ ${escape(option.text)}`).join("")}</p>`;
  if (dice) return `<p>${dice.emoji} ${dice.value}</p>`;
  return "";
}

function sound(name: string, seconds: number): string {
  return `<div class="file"><i>▶</i><b>${escape(name)}</b>${seconds > 0 ? ` ${seconds} s` : ""}</div>`;
}

function size(bytes = 0): string {
  return bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} KB`;
}

const TAGS: Readonly<Record<string, string>> = {
  bold: "b",
  italic: "i",
  underline: "u",
  strikethrough: "s",
  code: "code",
  pre: "pre",
  text_link: "u",
  blockquote: "blockquote",
};

/** Text with its entities, which contain each other or lie apart. */
function marked(text: string, entities: readonly MessageEntity[] = []): string {
  const signs = entities.flatMap(({ type, offset, length }) => {
    const tag = TAGS[type];
    return tag === undefined ? [] : [{ tag, from: offset, to: offset + length }];
  });
  let html = "";
  for (let at = 0; at <= text.length; at += 1) {
    for (const { tag } of signs.filter(({ to }) => to === at).toSorted((a, b) => b.from - a.from))
      html += `</${tag}>`;
    for (const { tag } of signs.filter(({ from }) => from === at).toSorted((a, b) => b.to - a.to))
      html += `<${tag}>`;
    html += escape(text.charAt(at));
  }
  // A block stands apart by its style; the blank lines around it would do so twice.
  return html.replaceAll(/\n*(<(?:pre|blockquote)>.*?<\/(?:pre|blockquote)>)\n*/gs, "$1");
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

const STYLE = `
* { box-sizing: border-box; margin: 0; }
body { font: 15px/1.4 system-ui, sans-serif; color: #1c2a33; background: #dfe8ec; padding: 0 20px 20px; }
header { padding: 14px 4px; color: #4d626e; font-size: 13px; text-align: center; }
main { columns: 2; column-gap: 20px; }
article { break-inside: avoid; margin-bottom: 10px; width: fit-content; max-width: 88%; background: #fff; border-radius: 14px; padding: 8px; }
article.person { margin-left: auto; background: #e3f6d8; }
small { display: block; padding: 3px 6px 0; color: #6b7d87; font-size: 11.5px; text-align: right; }
figure + figure { margin-top: 6px; }
.many { display: grid; grid-template-columns: 1fr 1fr; gap: 4px; }
.many figure + figure { margin-top: 0; }
img, video { display: block; max-width: 100%; max-height: 210px; border-radius: 9px; }
.many img, .many video { width: 100%; height: 130px; object-fit: cover; }
.sticker { max-height: 110px; }
.round { width: 130px; height: 130px; border-radius: 50%; object-fit: cover; }
p, .said { padding: 3px 6px 0; white-space: pre-wrap; overflow-wrap: anywhere; }
pre, code { font: 12.5px/1.45 "Noto Sans Mono CJK SC", ui-monospace, monospace; background: #eef2f4; border-radius: 6px; }
code { padding: 1px 4px; }
pre { padding: 7px 9px; }
pre, blockquote { margin: 8px 0; }
blockquote, q { display: block; border-left: 3px solid #58a4c4; padding: 1px 8px; color: #41545f; }
q { margin: 2px 6px 5px; font-size: 13px; }
q::before, q::after { content: none; }
.file { display: flex; gap: 10px; align-items: center; padding: 4px 10px 4px 4px; color: #5b6d77; white-space: nowrap; }
.file i { display: grid; place-items: center; width: 34px; height: 34px; border-radius: 50%; background: #58a4c4; color: #fff; font-style: normal; }
.file b { color: #1c2a33; font-weight: 600; }
`;
