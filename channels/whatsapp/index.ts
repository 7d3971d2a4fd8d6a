import type { ChannelKind, Examination, Finding } from "../../src/core/channel.ts";
import { openWhatsApp } from "./channel.ts";
import { CLOUD_FACE, FACE } from "./face.ts";
import { ID, settings, type WhatsAppSettings } from "./settings.ts";

const whatsapp: ChannelKind<WhatsAppSettings> = {
  kind: "whatsapp",
  settings,
  people: { pattern: ID, example: "+15551234567" },
  links: ({ transport }) => transport === "baileys",
  face: ({ transport }) => (transport === "cloud" ? CLOUD_FACE : FACE),
  single: ({ transport }) => transport === "baileys",
  open: openWhatsApp,
  examine,
  // The library of a linked device costs half a second and 60 MB: who needs it loads it.
  backup: async (...given) => await (await import("./baileys/keys/backup.ts")).backup(...given),
  restore: async (...given) => await (await import("./baileys/keys/backup.ts")).restore(...given),
};

/** A linked device could ask nothing without taking the place of the one that runs. */
async function examine(given: WhatsAppSettings, by: Examination): Promise<readonly Finding[]> {
  if (given.transport !== "cloud" || !given.cloud) return [];
  const { examineCloud } = await import("./cloud/examine.ts");
  return await examineCloud(given.cloud, given, by);
}

export default whatsapp;
