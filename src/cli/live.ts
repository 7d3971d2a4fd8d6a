import type { Config } from "../config/load.ts";
import type { Examination, Finding } from "../core/channel.ts";
import type { Clock } from "../core/clock.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { ChannelRules, ChatRules } from "../core/rules.ts";
import { originOf } from "../http/guards.ts";
import { kinds } from "./kinds.ts";

export type Examined = {
  readonly id: ChannelId;
  readonly kind: string;
  readonly findings: readonly Finding[];
};

/** Asks the platforms of connections that are not off, side by side, whether they can work; not all can be asked. */
export async function examineAll(
  config: Config,
  clock: Clock,
  ids: Iterable<ChannelId> = config.channels.keys(),
): Promise<readonly Examined[]> {
  const examined = await Promise.all(
    [...ids].map(async (id) => {
      const { kind: name = "", settings, off } = config.channels.get(id) ?? {};
      const kind = off ? undefined : await kinds.load(name);
      const rules = config.rules.channels.get(id);
      if (!kind?.examine || !rules) return [];
      const by = { clock, chats: chatsOf(rules), origin: originOf(config.http.host, config.http.port) };
      return [{ id, kind: name, findings: await kind.examine(settings, by) }];
    }),
  );
  return examined.flat();
}

/** Warns of what keeps connections from doing in chats what the configuration says of those. Never rejects. */
export async function warnOfFaults(config: Config, clock: Clock, log: Log): Promise<void> {
  // What concerns a connection as a whole it tells by itself.
  const ids = [...config.rules.channels].flatMap(([id, { chats }]) =>
    Object.keys(chats).length > 0 ? [id] : [],
  );
  try {
    for (const { id, findings } of await examineAll(config, clock, ids))
      for (const { kind, text, remedy } of findings)
        if (kind === "fault") log.warn({ channel: id, remedy }, text);
  } catch (err) {
    log.warn({ err }, "the platforms could not be asked whether the connections can work");
  }
}

function chatsOf(rules: ChannelRules): Examination["chats"] {
  return Object.entries(rules.chats).map(([chat, of]) => ({
    chat,
    when: needsAll(of, rules) ? "all" : (of.when ?? "addressed"),
  }));
}

/** To know what was said before, or its name among the words, the agent needs to see what was not for it. */
function needsAll({ when = "addressed", topics = {}, context }: ChatRules, rules: ChannelRules): boolean {
  const everywhere = [when, ...Object.values(topics).flatMap((topic) => topic.when ?? [])];
  if (everywhere.every((one) => one === "none")) return false;
  return everywhere.includes("all") || (context ?? rules.context) > 0 || rules.names.length > 0;
}
