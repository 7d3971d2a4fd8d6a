import { asError } from "../core/errors.ts";
import type { ChannelId } from "../core/identity.ts";
import type { ChannelRules } from "../core/rules.ts";
import { check, keysAt } from "./check.ts";
import type { KindSettings } from "./check.ts";
import { suggestion } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Path } from "./path.ts";
import { chatRules, gatherRules } from "./gather.ts";
import { peopleFaults } from "./people.ts";
import { hideSecrets } from "./secrets.ts";
import { channelSchema, NAME } from "./schema.ts";
import type { ChannelSettings } from "./schema.ts";
import { child } from "./yaml-source.ts";
import type { YamlSource } from "./yaml-source.ts";

/** The channel kinds that there are. A kind is loaded when a channel of it is met. */
export type Kinds = {
  readonly names: readonly string[];
  /** `undefined` for what is not in `names`; rejects where the kind's own code cannot be loaded. */
  load(kind: string): Promise<KindSettings | undefined>;
};

/** How a channel is connected; who may talk there is in the rules. */
export type ChannelConfig = {
  readonly kind: string;
  /** The name that its chats are stored under still, if it was renamed. */
  readonly was?: ChannelId;
  /** As the kind's own schema gives them; absent while the channel is off. */
  readonly settings?: unknown;
  /** The channel is not connected until these variables are set. */
  readonly off?: { readonly set: readonly string[] };
};

type ChannelsFound = {
  readonly channels: ReadonlyMap<ChannelId, ChannelConfig>;
  readonly rules: ReadonlyMap<ChannelId, ChannelRules>;
  /** Channels that name no agent. */
  readonly needDefault: readonly ChannelId[];
  readonly faults: readonly Fault[];
};

const COMMON_KEYS = keysAt(channelSchema, []);

/** Checks everything under `channels:`: the keys that all channels have, and those of each one's kind. */
export async function loadChannels(options: {
  readonly source: YamlSource;
  readonly kinds: Kinds;
  readonly defaultAgent: string;
  /** Agents that there are; none where their folder could not be read, which is told already. */
  readonly agents: readonly string[];
}): Promise<ChannelsFound> {
  const { source, kinds, agents } = options;
  const channels = new Map<ChannelId, ChannelConfig>();
  const rules = new Map<ChannelId, ChannelRules>();
  const needDefault: ChannelId[] = [];
  const faults: Fault[] = [];
  const all = entriesOf(child(source.value, "channels"));

  for (const [id, value] of all) {
    const at: Path = ["channels", id];
    // The root's schema has told of names and of what is no map.
    if (!NAME.test(id) || !isMap(value)) continue;
    const common = check(
      channelSchema,
      pick(value, (key) => COMMON_KEYS.includes(key)),
      source,
      at,
    );
    const kind = await checkKind(value, source, at, kinds);
    const people = kind.people ? peopleFaults(value, source, at, kind.people) : [];
    // Of what is no id anywhere, those who know how the platform's ids look say more than the schema.
    const others = common.ok
      ? []
      : common.faults.filter(({ path }) => !people.some((fault) => fault.path === path));
    faults.push(...others, ...people, ...kind.faults);
    faults.push(
      ...openFaults(value, source, at),
      ...agentFaults(value, source, at, agents),
      ...wasFaults(all, id, source),
    );
    if (!source.has([...at, "agent"])) needDefault.push(id);
    if (!common.ok) continue;

    const set = [...new Set(source.unsetUnder(at).map((it) => it.name))];
    const { was } = common.value;
    channels.set(id, {
      kind: common.value.kind,
      ...(was === undefined ? {} : { was }),
      ...(set.length > 0 ? { off: { set } } : { settings: kind.settings }),
    });
    rules.set(id, rulesOf(common.value, options.defaultAgent, kind.owner));
  }
  return { channels, rules, needDefault, faults };
}

type KindChecked = {
  readonly settings?: unknown;
  readonly owner?: string;
  readonly people?: KindSettings["people"];
  readonly faults: readonly Fault[];
};

async function checkKind(
  value: Readonly<Record<string, unknown>>,
  source: YamlSource,
  at: Path,
  kinds: Kinds,
): Promise<KindChecked> {
  const name = value["kind"];
  if (typeof name !== "string" || source.spoiledUnder([...at, "kind"])) return { faults: [] };
  let kind: KindSettings | undefined;
  try {
    kind = await kinds.load(name);
  } catch (error) {
    const problem = `this kind of channel cannot be loaded: ${hideSecrets(asError(error).message, source.secrets)}`;
    return { faults: [source.fault([...at, "kind"], problem, "Run npm install, or take the channel out")] };
  }
  if (kind === undefined) {
    const remedy = suggestion(name, kinds.names);
    return { faults: [source.fault([...at, "kind"], "there is no such kind of channel", remedy)] };
  }
  const own = pick(value, (key) => !COMMON_KEYS.includes(key));
  const checked = check(kind.settings, own, source, at, COMMON_KEYS);
  return {
    ...(kind.owner === undefined ? {} : { owner: kind.owner }),
    ...(kind.people === undefined ? {} : { people: kind.people }),
    ...(checked.ok ? { settings: checked.value, faults: [] } : { faults: checked.faults }),
  };
}

function openFaults(
  value: Readonly<Record<string, unknown>>,
  source: YamlSource,
  at: Path,
): readonly Fault[] {
  if (value["open"] !== true || source.has([...at, "acknowledge"])) return [];
  const remedy = "Write acknowledge: allow-arbitrary-senders beside it, or allow: with the people you mean";
  return [
    source.fault([...at, "open"], "anybody could use the agent, its tools and your model's budget", remedy),
  ];
}

/** Every place under a channel that names an agent. */
function agentFaults(
  value: Readonly<Record<string, unknown>>,
  source: YamlSource,
  at: Path,
  agents: readonly string[],
): readonly Fault[] {
  if (agents.length === 0) return [];
  const places: Path[] = [["agent"]];
  for (const [chat, rules] of entriesOf(value["chats"])) {
    places.push(["chats", chat, "agent"]);
    for (const inner of ["senders", "topics"]) {
      for (const [id] of entriesOf(child(rules, inner))) places.push(["chats", chat, inner, id, "agent"]);
    }
  }
  return places.flatMap((place) => {
    const name = place.reduce<unknown>(child, value);
    const path = [...at, ...place];
    // What is no name has been told by the schema.
    if (typeof name !== "string" || !NAME.test(name) || agents.includes(name) || source.spoiledUnder(path))
      return [];
    return [source.fault(path, "there is no such agent", suggestion(name, agents))];
  });
}

/** An earlier name belongs to one channel, which is not there under it any more. */
function wasFaults(
  all: readonly (readonly [string, unknown])[],
  id: ChannelId,
  source: YamlSource,
): readonly Fault[] {
  const was = child(Object.fromEntries(all)[id], "was");
  if (typeof was !== "string") return [];
  const path = ["channels", id, "was"];
  if (all.some(([other]) => other === was)) {
    return [source.fault(path, "a channel of this name is still here", "Remove was, or that channel")];
  }
  const first = all.find(([, value]) => child(value, "was") === was)?.[0];
  if (first === id) return [];
  return [source.fault(path, `channel ${first} was called so too`, "Keep one of the two")];
}

const HOUR_MS = 3_600_000;

function rulesOf(
  settings: ChannelSettings,
  defaultAgent: string,
  kindOwner: string | undefined,
): ChannelRules {
  const {
    allow,
    deny,
    open,
    turnsPerHour,
    budgets,
    strangers,
    names,
    edits,
    reactions,
    context,
    away,
    pauseMinutes,
    gather,
    during,
    queueLimit,
    waitingSign,
    quietHours,
    unaskedPerDay,
    timeZone,
    live,
    commands,
    chats,
  } = settings;
  const owner = settings.owner ?? kindOwner;
  return {
    ...(owner === undefined ? {} : { owner }),
    allow,
    deny,
    open,
    turnsPerHour,
    ...(budgets === undefined ? {} : { budgets }),
    strangers,
    agent: settings.agent ?? defaultAgent,
    names,
    edits,
    reactions,
    context,
    away: { answerMs: away.answerHours * HOUR_MS, digestMs: away.digestHours * HOUR_MS },
    pauseMs: Math.round(pauseMinutes * 60_000),
    gather: gatherRules(gather),
    during,
    queueLimit,
    waitingSign,
    ...(quietHours === undefined ? {} : { quietHours }),
    unaskedPerDay,
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(live === undefined ? {} : { live }),
    commands,
    chats: Object.fromEntries(Object.entries(chats).map(([id, chat]) => [id, chatRules(chat)])),
  };
}

function pick(
  value: Readonly<Record<string, unknown>>,
  wanted: (key: string) => boolean,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => wanted(key)));
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isMap(value) ? Object.entries(value) : [];
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
