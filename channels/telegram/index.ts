import type { ChannelKind } from "../../src/core/channel.ts";
import { faceOf, openTelegram } from "./channel.ts";
import { examine } from "./examine.ts";
import { ID, settings, type TelegramSettings } from "./settings.ts";

const telegram: ChannelKind<TelegramSettings> = {
  kind: "telegram",
  settings,
  people: { pattern: ID, example: "123456789" },
  face: faceOf,
  single: ({ webhook }) => webhook === undefined,
  open: openTelegram,
  examine,
};

export default telegram;
