import type { InboundEvent, MessageEvent } from "../core/events.ts";
import type { ChannelRules, When } from "../core/rules.ts";

/** What intake decides about an event. The reason is for the trace, not for the chat. */
export type Verdict =
  | { readonly kind: "turn"; readonly agent: string; readonly by: string }
  /** It becomes a turn if the agent is called by name in what is said in it. */
  | { readonly kind: "listen"; readonly agent: string; readonly by: string }
  | { readonly kind: "command"; readonly name: CommandName; readonly agent: string }
  | { readonly kind: "stop"; readonly agent: string }
  | { readonly kind: "claim"; readonly code: string; readonly agent: string }
  | { readonly kind: "refused"; readonly why: string; readonly stranger: boolean };

export type CommandName = (typeof COMMANDS)[number];

export const COMMANDS = ["new", "stop", "status", "help"] as const;

/** What was granted in chat to the sender of an event. */
export type Granted = "owner" | "allowed" | undefined;

/** Whether an event may do something here, and what. Pure: rules and grants in, verdict out. */
export function admit(event: InboundEvent, rules: ChannelRules | undefined, granted: Granted): Verdict {
  if (!rules) return refused("the connection is not in the configuration");
  const { agent, by } = agentFor(event, rules);
  const code = event.type === "message" ? startCode(event) : undefined;
  const standing = standingOf(event.from.id, rules, granted);
  if (standing === "denied") return refused("the sender is on the deny list");
  if (code !== undefined) return { kind: "claim", code, agent };
  if (standing === "stranger")
    return { kind: "refused", why: "the sender is not allowed here", stranger: true };
  if (event.type === "stop") return { kind: "stop", agent };
  const when = whenFor(event, rules);
  if (event.place.kind === "group" && when === "none") return refused("the chat is set to none");
  if (event.place.kind === "group" && when === "addressed" && !event.addressed)
    return refused("not addressed");
  const name = commandName(event);
  if (name) return { kind: "command", name, agent };
  return { kind: "turn", agent, by };
}

/** Which agent answers: sender in chat > topic > chat > channel. `by` names the rule that decided. */
export function agentFor(
  event: Pick<InboundEvent, "place" | "from">,
  rules: ChannelRules,
): { readonly agent: string; readonly by: string } {
  const chat = under(rules.chats, event.place.chat);
  const sender = under(chat?.senders, event.from.id);
  if (sender) return { agent: sender.agent, by: "sender" };
  const topic = under(chat?.topics, event.place.topic);
  if (topic?.agent !== undefined) return { agent: topic.agent, by: "topic" };
  if (chat?.agent !== undefined) return { agent: chat.agent, by: "chat" };
  return { agent: rules.agent, by: "channel" };
}

export function whenFor(event: Pick<InboundEvent, "place">, rules: ChannelRules): When {
  const chat = under(rules.chats, event.place.chat);
  const topic = under(chat?.topics, event.place.topic);
  return topic?.when ?? chat?.when ?? "addressed";
}

export function standingOf(
  person: string,
  rules: ChannelRules,
  granted: Granted,
): "denied" | "owner" | "allowed" | "stranger" {
  if (rules.deny.includes(person)) return "denied";
  if (rules.owner === person || granted === "owner") return "owner";
  if (rules.open || rules.allow.includes(person) || granted === "allowed") return "allowed";
  return "stranger";
}

/** What the operator wrote under a key: ids are the platform's, and "constructor" is a property of every object. */
function under<T>(rules: Readonly<Record<string, T>> | undefined, key: string | undefined): T | undefined {
  return rules && key !== undefined && Object.hasOwn(rules, key) ? rules[key] : undefined;
}

/** The first word of a message, where it is a command of ours. `/start` without a code greets like `/help`. */
function commandName(event: MessageEvent): CommandName | undefined {
  const word = /^\/([a-z]+)(?:\s|$)/.exec(textOf(event))?.[1];
  if (word === "start") return "help";
  return COMMANDS.find((name) => name === word);
}

function startCode(event: MessageEvent): string | undefined {
  return event.place.kind === "private" ? /^\/start ([\w-]{8,64})$/.exec(textOf(event))?.[1] : undefined;
}

/** What could be a command: the words of the sender's own, and without a file, which would be lost with the caption. */
function textOf({ forward, content }: MessageEvent): string {
  const [first, ...rest] = content;
  if (forward || rest.some(({ type }) => type === "unfetched")) return "";
  return first?.type === "text" ? first.text : "";
}

function refused(why: string): Verdict {
  return { kind: "refused", why, stranger: false };
}
