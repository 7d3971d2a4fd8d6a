import type { ChannelState } from "../../src/core/host.ts";

const KEY = "webhook";

/** The addresses that this connection may have told Telegram to hand messages to: only those may be taken away again. */
export async function ownWebhooks(state: ChannelState): Promise<readonly string[]> {
  const kept = (await state.get([KEY])).get(KEY);
  return kept === undefined ? [] : kept.split("\n");
}

/** Before it is told: whether the answer comes is not known. */
export async function rememberWebhook(state: ChannelState, url: string): Promise<void> {
  const known = await ownWebhooks(state);
  if (!known.includes(url)) await state.set({ [KEY]: [...known, url].join("\n") });
}

/** What stands at Telegram now: this address, or none. */
export async function keepOnlyWebhook(state: ChannelState, url?: string): Promise<void> {
  await state.set({ [KEY]: url });
}

/** What may be said of an address that somebody else has set: its path may be a secret. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an unknown address";
}
