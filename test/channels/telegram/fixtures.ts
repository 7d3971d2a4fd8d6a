import { readFileSync } from "node:fs";
import type { Update, UserFromGetMe } from "grammy/types";

type Sample = { readonly kind: string; readonly update: Update };

const PATH = new URL("../../fixtures/telegram-updates.json", import.meta.url);

/** Fictional updates, one of each kind, and the bot that they were made for. */
export const samples = JSON.parse(readFileSync(PATH, "utf8")) as {
  readonly bot: UserFromGetMe;
  readonly updates: readonly Sample[];
}; // type-checked against the Bot API's types when it was made

export function sample(kind: string): Update {
  const found = samples.updates.find((entry) => entry.kind === kind);
  if (!found) throw new Error(`there is no sample update of the kind ${kind}`);
  return found.update;
}
