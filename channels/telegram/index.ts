import { z } from "zod";
import type { ChannelKind } from "../../src/core/channel.ts";
import { openTelegram } from "./channel.ts";

const settings = z.strictObject({
  token: z
    .string()
    .regex(
      /^\d+:[\w-]{30,}$/,
      "is no bot token; Copy it whole from @BotFather: digits, a colon and at least 30 letters",
    ),
  apiRoot: z.url({ protocol: /^https?$/ }).default("https://api.telegram.org"),
});

const telegram: ChannelKind<z.infer<typeof settings>> = {
  kind: "telegram",
  settings,
  open: openTelegram,
};

export default telegram;
