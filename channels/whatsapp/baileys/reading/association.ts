import { proto } from "@whiskeysockets/baileys";

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
  const { associationType: type, parentMessageKey: parent } = association ?? {};
  if (type == null || !parent?.id) return {};
  if (type === MEDIA_ALBUM) return { album: parent.id };
  return COPIES.has(type) ? { copyOf: parent.id } : {};
}
