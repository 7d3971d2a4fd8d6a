import { checkRights, destination, send } from "../destination.ts";
import { checkedSource, mediaFields, stored } from "../media.ts";
import type { Permission } from "../membership.ts";
import { captionFields, refuseParseMode, type Method } from "../method.ts";
import { badRequest } from "../refusal.ts";
import type { Parameters } from "../request.ts";
import type { MediaName } from "../sent-log.ts";
import { captionText } from "../text.ts";

const ALBUM = { least: 2, most: 10 }; // Bot API sendMediaGroup

const CAPTIONLESS = new Set<MediaName>(["video_note", "sticker"]);

/** What a restricted bot needs to send a kind. */
const PERMISSIONS: Readonly<Record<MediaName, Permission>> = {
  photo: "can_send_photos",
  document: "can_send_documents",
  audio: "can_send_audios",
  voice: "can_send_voice_notes",
  video: "can_send_videos",
  video_note: "can_send_video_notes",
  animation: "can_send_other_messages",
  sticker: "can_send_other_messages",
};

export const mediaMethods: Readonly<Record<string, Method>> = {
  sendPhoto: sendOne("photo"),
  sendDocument: sendOne("document"),
  sendAudio: sendOne("audio"),
  sendVoice: sendOne("voice"),
  sendVideo: sendOne("video"),
  sendVideoNote: sendOne("video_note"),
  sendAnimation: sendOne("animation"),
  sendSticker: sendOne("sticker"),

  sendMediaGroup(account, call) {
    const items = albumItems(call.parameters["media"]);
    const to = destination(account, call.parameters, "can_send_messages");
    const checked = items.map((item) => {
      refuseParseMode(item);
      const kind = item["type"] as MediaName; // albumItems lets four kinds through
      checkRights(to.state, PERMISSIONS[kind]);
      return {
        source: checkedSource(account, call, kind, item["media"]),
        parameters: item,
        caption: captionFields(captionText(item["caption"], item["caption_entities"])),
      };
    });
    return {
      commit() {
        const group = { media_group_id: account.mediaGroupId() };
        return checked.map(({ source, parameters, caption }) => {
          const media = stored(account, source);
          const content = { ...mediaFields(account, media, parameters), ...caption, ...group };
          return send(account, call, to, content, { media: media.sent });
        });
      },
    };
  },
};

function sendOne(kind: MediaName): Method {
  return (account, call) => {
    const { parameters } = call;
    refuseParseMode(parameters);
    const to = destination(account, parameters, PERMISSIONS[kind]);
    const source = checkedSource(account, call, kind, parameters[kind]);
    const caption = CAPTIONLESS.has(kind)
      ? {}
      : captionFields(captionText(parameters["caption"], parameters["caption_entities"]));
    return {
      commit() {
        const media = stored(account, source);
        const content = { ...mediaFields(account, media, parameters), ...caption };
        return send(account, call, to, content, { media: media.sent });
      },
    };
  };
}

function albumItems(media: unknown): readonly Parameters[] {
  if (!Array.isArray(media)) throw badRequest("can't parse media JSON object");
  if (media.length < ALBUM.least) throw badRequest("emulator: an album has at least 2 items");
  if (media.length > ALBUM.most) throw badRequest("too many messages to send as an album");
  const items = media as readonly Parameters[]; // what clients send; each is looked at below
  const kinds = new Set(items.map((item) => item["type"]));
  const alone = kinds.has("document") || kinds.has("audio");
  const allowed = [...kinds].every((kind) => ["photo", "video", "document", "audio"].includes(String(kind)));
  if (!allowed || (alone && kinds.size > 1)) {
    throw badRequest("can't use the media of the specified type in the album");
  }
  return items;
}
