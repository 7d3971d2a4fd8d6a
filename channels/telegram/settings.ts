import { z } from "zod";

/** Telegram's ids of people, groups and channels; those of groups and channels are negative. */
export const ID = /^-?\d{1,19}$/;

const time = z
  .string()
  .regex(
    /^([01]\d|2[0-3]):[0-5]\d$/,
    "a time is two digits, a colon and two digits; Write one such as 22:00",
  );

const ids = z.array(z.string().regex(ID, "an id is a whole number in quotes; Write it so"));

/** The keys of a Telegram connection in perch.yaml, beside those that all channels have. */
export const settings = z.strictObject({
  token: z
    .string()
    .regex(
      /^\d+:[\w-]{30,}$/,
      "is no bot token; Copy it whole from @BotFather: digits, a colon and at least 30 letters",
    ),
  apiRoot: z.url({ protocol: /^https?$/ }).default("https://api.telegram.org"),
  proxy: z
    .url({ protocol: /^(https?|socks5h?)$/ })
    .exactOptional()
    .describe("A proxy through which Telegram is reached: http://, https:// or socks5://."),
  serverFolder: z
    .string()
    .min(1)
    .exactOptional()
    .describe("The folder of a Bot API server of your own on this machine, which runs with --local."),
  webhook: z
    .url({ protocol: /^https?$/ })
    .exactOptional()
    .describe("Where Telegram reaches Perch's HTTP server from outside; without it the bot polls."),
  channelPosts: z
    .boolean()
    .exactOptional()
    .describe("Whether posts of channels are taken in; such a channel's id has to stand in allow."),
  business: ids
    .exactOptional()
    .describe("Whose business accounts the bot answers for, by their ids; without it, nobody's."),
  linkPreviews: z.boolean().exactOptional().describe("Whether links in answers are shown with a preview."),
  rich: z
    .union([z.boolean(), ids])
    .exactOptional()
    .describe(
      "Tables, details and formulas as Telegram's rich messages: everywhere, or in the chats listed.",
    ),
  quiet: z
    .strictObject({
      from: time,
      to: time,
      zone: z.string().refine(isZone, "there is no such time zone; Write one such as Europe/Berlin"),
    })
    .exactOptional()
    .describe("What is sent between these times makes no sound."),
});

export type TelegramSettings = z.output<typeof settings>;

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }).format(0) !== "";
  } catch {
    return false;
  }
}
