import { proto } from "@whiskeysockets/baileys";
import { idIn } from "./message-id.ts";

const { MEDIA_ALBUM, HD_IMAGE_DUAL_UPLOAD, HD_VIDEO_DUAL_UPLOAD, HEVC_VIDEO_DUAL_UPLOAD } =
  proto.MessageAssociation.AssociationType;
type Association = proto.MessageAssociation.AssociationType;

/** The same picture or film once more, in another quality. */
const COPIES: ReadonlySet<Association> = new Set([
  HD_IMAGE_DUAL_UPLOAD,
  HD_VIDEO_DUAL_UPLOAD,
  HEVC_VIDEO_DUAL_UPLOAD,
]);

/** To which earlier message of the same sender one belongs, by its id. */
export function belongsTo(association: proto.IMessageAssociation | null | undefined): {
  readonly album?: string;
  readonly copyOf?: string;
} {
  const { associationType: type, parentMessageKey } = association ?? {};
  const parent = idIn(parentMessageKey?.id);
  if (type == null || parent === undefined) return {};
  if (type === MEDIA_ALBUM) return { album: parent };
  return COPIES.has(type) ? { copyOf: parent } : {};
}
