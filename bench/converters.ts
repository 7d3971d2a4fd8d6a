import type { Channel } from "../src/core/channel.ts";
import type { Rendered } from "../src/core/tree.ts";

/** Makes of an answer what is sent; gives how many messages that is. */
export type Converter = (markdown: string) => Promise<number>;

/** By name: loaded when asked for, so that each can be looked at alone. */
export const CONVERTERS = {
  "Perch, for Telegram": async () => {
    const { LIMITS } = await import("../channels/telegram/limits.ts");
    const { render } = await import("../channels/telegram/render.ts");
    return await planned({ limits: LIMITS, render });
  },
  "Perch, for WhatsApp": async () => {
    const { LIMITS } = await import("../channels/whatsapp/limits.ts");
    const { render } = await import("../channels/whatsapp/render.ts");
    const { inSigns } = await import("../channels/whatsapp/signs.ts");
    const lengthOf = (rendered: Rendered): number => inSigns(rendered).length;
    return await planned({ limits: LIMITS, render, lengthOf });
  },
  "Perch, for the web chat": async () => {
    const { LIMITS } = await import("../channels/web/channel.ts");
    const { render } = await import("../channels/web/render.ts");
    return await planned({ limits: LIMITS, render });
  },
  "Perch, for Telegram, unsplit": async () => {
    const { parseMarkdown } = await import("../src/reply/tree.ts");
    const { render } = await import("../channels/telegram/render.ts");
    return async (markdown) => oneOf(render(parseMarkdown(markdown)).text);
  },
  "telegramify-markdown": async () => {
    const { default: telegramify } = await import("telegramify-markdown");
    return async (markdown) => oneOf(telegramify(markdown, "escape"));
  },
  "@chat-adapter/telegram": async () => {
    const { TelegramFormatConverter } = await import("@chat-adapter/telegram");
    const converter = new TelegramFormatConverter();
    return async (markdown) => oneOf(converter.renderPostable({ markdown }));
  },
} as const satisfies Record<string, () => Promise<Converter>>;

export type ConverterName = keyof typeof CONVERTERS;

/** All the way that an answer without media goes: read, searched for media, rendered, split. */
async function planned(channel: Pick<Channel, "limits" | "render" | "lengthOf">): Promise<Converter> {
  const { planReply } = await import("../src/reply/plan.ts");
  const { systemClock } = await import("../src/core/clock.ts");
  const { inThisProcess } = await import("../src/media/workshop.ts");
  const { FileBlobs } = await import("../src/store/blobs.ts");
  const { memoryLog } = await import("../test/support/channel-host.ts");
  const blobs = new FileBlobs("/nowhere"); // no answer here has media
  const by = {
    channel,
    roots: { outputs: "/nowhere" },
    answers: { mediaHosts: [] },
    blobs,
    workshop: inThisProcess(blobs),
    imagePixels: 0,
    clock: systemClock,
    log: memoryLog([]),
    signal: new AbortController().signal,
  };
  return async (markdown) => (await planReply(markdown, by)).length;
}

function oneOf(text: string): number {
  return text === "" ? 0 : 1;
}
