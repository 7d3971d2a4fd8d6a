import type { ChannelId } from "../core/identity.ts";
import type { ChannelRules } from "../core/rules.ts";
import type { ScheduleRule } from "../core/schedules.ts";
import { type Fault, suggestion } from "./faults.ts";
import type { RootSettings } from "./schema.ts";
import type { YamlSource } from "./yaml-source.ts";

export type SchedulesFound = {
  readonly schedules: ReadonlyMap<string, ScheduleRule>;
  readonly faults: readonly Fault[];
};

/** Checks everything under `schedules:`. What reads times is loaded where there is one. */
export async function loadSchedules(options: {
  readonly source: YamlSource;
  readonly written: RootSettings["schedules"];
  /** By name; those that have faults of their own are not among them. */
  readonly channels: ReadonlyMap<ChannelId, ChannelRules>;
  /** Names of all that stand in the file. */
  readonly channelNames: readonly ChannelId[];
  readonly agents: readonly string[];
  /** IANA, where neither schedule nor chat says one. */
  readonly timeZone: string;
}): Promise<SchedulesFound> {
  const { source, written, channels, channelNames, agents } = options;
  const schedules = new Map<string, ScheduleRule>();
  const faults: Fault[] = [];
  if (Object.keys(written).length === 0) return { schedules, faults };
  const [{ readWhen }, { unaskedIn }] = await Promise.all([
    import("../schedules/when.ts"),
    import("../schedules/unasked.ts"),
  ]);
  for (const [name, { cron, everyMinutes, at, ...rule }] of Object.entries(written)) {
    const path = ["schedules", name];
    const { channel, agent, chat } = rule;
    if (!channelNames.includes(channel))
      faults.push(
        source.fault([...path, "channel"], "there is no such channel", suggestion(channel, channelNames)),
      );
    if (agent !== undefined && agents.length > 0 && !agents.includes(agent))
      faults.push(source.fault([...path, "agent"], "there is no such agent", suggestion(agent, agents)));
    const rules = channels.get(channel);
    const there = rules === undefined ? options.timeZone : unaskedIn(rules, chat, options.timeZone).timeZone;
    const timeZone = rule.timeZone ?? there;
    const when = readWhen({ cron, everyMinutes, at }, timeZone);
    if ("wrong" in when) {
      const [problem = when.wrong, remedy = "Correct it"] = when.wrong.split(/;\s+/, 2);
      const key = (["cron", "everyMinutes", "at"] as const).find((each) => source.has([...path, each]));
      faults.push(source.fault(key === undefined ? path : [...path, key], problem, remedy));
    } else schedules.set(name, { ...rule, timeZone, when });
  }
  return { schedules, faults };
}
