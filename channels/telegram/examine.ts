import { access, constants } from "node:fs/promises";
import type { UserFromGetMe, WebhookInfo } from "grammy/types";
import type { Examination, Finding } from "../../src/core/channel.ts";
import { oneLine } from "../../src/core/words.ts";
import { asking } from "./deadline.ts";
import { examineChat } from "./examine-chat.ts";
import { failureOf, withoutText, wordsOf } from "./failures.ts";
import { hostOf } from "./own-webhook.ts";
import { ID, type TelegramSettings } from "./settings.ts";
import { openLine } from "./transport.ts";

const CALL_MS = 10_000;
const PORTS: ReadonlySet<string> = new Set(["", "443", "80", "88", "8443"]); // Bot API setWebhook; "" is what the protocol has

/** Whether the bot can do here what the configuration says. Asks for nothing that would take a message from a gateway that runs. */
export async function examine(settings: TelegramSettings, by: Examination): Promise<readonly Finding[]> {
  const { Api } = await import("grammy");
  const apiRoot = settings.apiRoot.replace(/\/+$/, "");
  const line = await openLine(apiRoot, settings.proxy);
  const fetch = line.fetch as never; // it does what grammY uses of node-fetch, whose type says much more
  const ask = asking(new Api(settings.token, { apiRoot, fetch }).raw, by.clock, CALL_MS);
  const findings = [...addressFaults(settings), ...(await folderFaults(settings.serverFolder))];
  try {
    const me = await ask((api, signal) => api.getMe(signal));
    findings.unshift(identity(me));
    findings.push(...webhookFindings(settings, await ask((api, signal) => api.getWebhookInfo(signal)), by));
    for (const chat of by.chats) if (ID.test(chat.chat)) findings.push(...(await examineChat(chat, me, ask)));
  } catch (thrown) {
    findings.push(unreachable(thrown));
  } finally {
    line.idle();
  }
  return findings;
}

function identity({ first_name, username, can_read_all_group_messages: all }: UserFromGetMe): Finding {
  const seen = all ? "everything" : "what is meant for it, unless it is an administrator";
  return { kind: "fact", text: `it is ${oneLine(first_name)} (@${username}); in groups it sees ${seen}` };
}

function webhookFindings(
  { webhook }: TelegramSettings,
  info: WebhookInfo,
  { origin }: Examination,
): readonly Finding[] {
  const { url = "", pending_update_count: waiting, last_error_date, last_error_message = "" } = info;
  const findings: Finding[] = [];
  if (waiting > 0) findings.push({ kind: "fact", text: `messages that wait at Telegram: ${waiting}` });
  if (webhook === undefined) {
    if (url !== "") findings.push(polledBeside(hostOf(url)));
    return findings;
  }
  const host = hostOf(webhook);
  if (url === "")
    findings.push({ kind: "fact", text: "no webhook is set yet; Perch sets it when it starts" });
  else if (!url.startsWith(`${webhook.replace(/\/+$/, "")}/telegram/`))
    findings.push({
      kind: "fault",
      text: `the webhook that is set leads to ${hostOf(url)}, not to ${host}`,
      remedy: "start Perch, which sets it; if it changes again, another program has the bot's token",
    });
  else if (waiting > 0 && last_error_date !== undefined)
    findings.push({
      kind: "fault",
      text: `Telegram cannot hand messages over at ${host}: ${withoutText(last_error_message)}`,
      remedy: `see that Perch runs and that ${host} passes /telegram/ on to ${origin}`,
    });
  return findings;
}

function polledBeside(host: string): Finding {
  return {
    kind: "fault",
    text: `a webhook at ${host} is set, and Telegram hands messages to it alone`,
    remedy:
      "stop the program that set it and call the Bot API's deleteWebhook, or have @BotFather make a new token; a webhook " +
      "that Perch has set itself goes when it starts",
  };
}

/** What Telegram's own servers do not take as the address of a webhook; one's own takes any. */
function addressFaults({ webhook, apiRoot }: TelegramSettings): readonly Finding[] {
  if (webhook === undefined || new URL(apiRoot).hostname !== "api.telegram.org") return [];
  const { protocol, port, host } = new URL(webhook);
  if (protocol === "https:" && PORTS.has(port)) return [];
  return [
    {
      kind: "fault",
      text: `Telegram does not call a webhook at ${protocol}//${host}`,
      remedy: "set webhook to an address that begins with https and has port 443, 80, 88 or 8443",
    },
  ];
}

async function folderFaults(folder: string | undefined): Promise<readonly Finding[]> {
  if (folder === undefined) return [];
  try {
    await access(folder, constants.R_OK | constants.X_OK);
    return [];
  } catch {
    return [
      {
        kind: "fault",
        text: `serverFolder (${folder}) cannot be read`,
        remedy: "set it to what the Bot API server was given as --dir, and let Perch's user read it",
      },
    ];
  }
}

function unreachable(thrown: unknown): Finding {
  const failure = failureOf(thrown);
  if (failure.kind === "refused" && (failure.code === 401 || failure.code === 404))
    return {
      kind: "fault",
      text: `Telegram does not accept the token (${failure.code})`,
      remedy: "set token to what @BotFather shows under /mybots, and apiRoot to a Bot API if it is set",
    };
  return {
    kind: "fault",
    text: `it could not be asked: ${wordsOf(failure)}`,
    remedy: "see that this machine reaches Telegram; where it does not by itself, set proxy",
  };
}
