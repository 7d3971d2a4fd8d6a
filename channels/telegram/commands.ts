import { createHash } from "node:crypto";
import type { Api } from "grammy";
import type { BotCommand } from "grammy/types";
import type { ChannelHost, CommandWords } from "../../src/core/host.ts";
import { pause } from "../../src/core/clock.ts";
import { asError } from "../../src/core/errors.ts";
import type { Language } from "../../src/core/sentences.ts";
import { within } from "./deadline.ts";
import { failureOf, wordsOf } from "./failures.ts";

export type CommandParts = {
  readonly api: Api["raw"];
  /** The bot's own id: another one under the same connection has no list yet. */
  readonly bot: number;
  readonly host: Pick<ChannelHost, "clock" | "commands" | "log" | "state">;
  readonly closing: AbortSignal;
};

/** Where a list is shown. One for all is for clients and chats that know no other. */
const SCOPES = ["all_private_chats", "all_group_chats", "default"] as const;
/** The list without a language is for all that have none of their own. */
const LANGUAGES = [
  ["", "en"],
  ["de", "de"],
] as const satisfies readonly (readonly [string, Language])[];

const NAME = /^[a-z0-9_]{1,32}$/; // Bot API BotCommand
const ABOUT_LENGTH = 256;
const MOST = 100; // Bot API setMyCommands

const CALL_MS = 10_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;

/**
 * Lists the commands that people can give behind "/", where the list is not what it was. Resolves when Telegram has them
 * all, or will not have them, or the connection ends. Never throws.
 */
export async function registerCommands(parts: CommandParts): Promise<void> {
  for (const scope of SCOPES)
    for (const [code, language] of LANGUAGES) {
      const commands = listFor(scope, parts.host.commands(language), parts);
      await register({ scope, code, commands }, parts);
    }
}

type List = {
  readonly scope: (typeof SCOPES)[number];
  readonly code: (typeof LANGUAGES)[number][0];
  readonly commands: readonly BotCommand[];
};

function listFor(
  scope: List["scope"],
  commands: readonly CommandWords[],
  { host }: CommandParts,
): readonly BotCommand[] {
  const wanted = commands.filter(({ where }) => where === "everywhere" || scope === "all_private_chats");
  const usable = wanted.filter(({ name, about }) => NAME.test(name) && about.trim() !== "").slice(0, MOST);
  if (usable.length < wanted.length) {
    const names = wanted.map(({ name }) => name).filter((name) => !usable.some((one) => one.name === name));
    host.log.warn({ names }, "Telegram does not list these commands; a name has 1–32 of a–z, 0–9 and _");
  }
  return usable.map(({ name, about }) => ({ command: name, description: about.slice(0, ABOUT_LENGTH) }));
}

async function register(list: List, parts: CommandParts): Promise<void> {
  const { host, api, bot, closing } = parts;
  const { scope, code } = list;
  const key = `commands/${scope}/${code}`;
  const hash = createHash("sha256")
    .update(JSON.stringify([bot, list.commands]))
    .digest("hex");
  const stored = await storedHash(key, parts);
  if (stored === hash || (stored === undefined && list.commands.length === 0)) return;
  let { commands } = list;
  for (let failures = 0; !closing.aborted; failures += 1) {
    try {
      const language = code === "" ? {} : { language_code: code };
      const asked = { commands, scope: { type: scope }, ...language };
      await within(host.clock, CALL_MS, closing, (signal) => api.setMyCommands(asked, signal));
      return await store(key, hash, parts);
    } catch (thrown) {
      const failure = failureOf(thrown);
      const fields = { scope, language: code, why: wordsOf(failure) };
      if (failure.kind === "refused" && failure.retryAfterMs === undefined) {
        if (!/BOT_COMMANDS_TOO_MUCH/.test(failure.description) || commands.length === 0)
          return host.log.warn(fields, "the commands are not listed at Telegram");
        // Telegram does not say how much is too much.
        commands = commands.slice(0, Math.floor(commands.length * 0.8));
        host.log.warn({ ...fields, kept: commands.length }, "not all commands are listed at Telegram");
        continue;
      }
      const asked = failure.kind === "refused" ? failure.retryAfterMs : undefined;
      await pause(host.clock, asked ?? Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS), closing);
    }
  }
}

async function storedHash(key: string, { host }: CommandParts): Promise<string | undefined> {
  try {
    return (await host.state.get([key])).get(key);
  } catch {
    return undefined; // then it is listed once more
  }
}

async function store(key: string, hash: string, { host }: CommandParts): Promise<void> {
  try {
    await host.state.set({ [key]: hash });
  } catch (thrown) {
    host.log.warn({ err: asError(thrown) }, "that the commands are listed could not be stored");
  }
}
