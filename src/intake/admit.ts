import { type CommandName, COMMANDS } from "../core/commands.ts";
import type { MessageEvent, Place, Sender, StopEvent } from "../core/events.ts";
import { idsOf } from "../core/identity.ts";
import type { ChannelRules, ChatRules, When } from "../core/rules.ts";

/** What intake decides about an event. The reason is for the trace, not for the chat. */
export type Verdict =
  | { readonly kind: "turn"; readonly agent: string; readonly by: string }
  /** It becomes a turn if the agent is called by name in what is said in it. */
  | { readonly kind: "listen"; readonly agent: string; readonly by: string }
  | { readonly kind: "command"; readonly name: CommandName; readonly agent: string }
  | { readonly kind: "stop"; readonly agent: string }
  | { readonly kind: "claim"; readonly code: string; readonly agent: string }
  /** `stranger`: it may be that they are told something, as the rules say. */
  | { readonly kind: "refused"; readonly why: string; readonly stranger: boolean };

/**
 * What becomes of a message: as an "aside" it begins no turn, but the agent is told of it with one. `keep` is how many of
 * these the chat keeps.
 */
export type Decision =
  | Exclude<Verdict, { readonly kind: "turn" }>
  /** With `digest` it came late, and is answered with all of its chat that did. */
  | (Extract<Verdict, { readonly kind: "turn" }> & { readonly digest?: true })
  | { readonly kind: "aside"; readonly why: string; readonly keep: number };

/** What was granted in chat to the sender of an event; "spent" where a guest has had all turns of the hour. */
export type Granted = "owner" | "allowed" | "spent" | undefined;

/** A "guest" is let in by nothing but `open`, or `allow: everyone` of the chat. */
export type Standing = "denied" | "owner" | "allowed" | "guest" | "stranger";

/** Whether an event may do something here, and what. Pure: rules and grants in, verdict out. */
export function admit(
  event: MessageEvent | StopEvent,
  rules: ChannelRules | undefined,
  granted: Granted,
): Verdict {
  if (!rules) return refused("the connection is not in the configuration");
  const { agent, by } = agentFor(event, rules);
  const code = event.type === "message" ? startCode(event) : undefined;
  const standing = standingOf(event, rules, granted);
  if (standing === "denied") return refused("the sender is on the deny list");
  if (code !== undefined) return { kind: "claim", code, agent };
  if (standing === "stranger")
    return { kind: "refused", why: "the sender is not allowed here", stranger: true };
  if (event.type === "stop") return { kind: "stop", agent };
  const when = whenFor(event, rules);
  if (event.place.kind === "group" && when === "none") return refused("the chat is set to none");
  if (event.place.kind === "group" && when === "addressed" && !event.addressed && !asksAgent(event, rules))
    return refused("not addressed");
  const name = commandName(event);
  if (name) return { kind: "command", name, agent };
  if (standing === "guest" && granted === "spent") {
    const why = `the sender has had the turns of an hour (${rules.turnsPerHour})`;
    return { kind: "refused", why, stranger: true };
  }
  return { kind: "turn", agent, by };
}

/** Which agent answers: sender in chat > topic > chat > channel. `by` names the rule that decided. */
export function agentFor(
  event: { readonly place: Place; readonly from: Sender },
  rules: ChannelRules,
): { readonly agent: string; readonly by: string } {
  const chat = under(rules.chats, event.place.chat);
  const sender = idsOf(event.from)
    .map((id) => under(chat?.senders, id))
    .find((rule) => rule !== undefined);
  if (sender) return { agent: sender.agent, by: "sender" };
  const topic = under(chat?.topics, event.place.topic);
  if (topic?.agent !== undefined) return { agent: topic.agent, by: "topic" };
  if (chat?.agent !== undefined) return { agent: chat.agent, by: "chat" };
  return { agent: rules.agent, by: "channel" };
}

export function whenFor(event: { readonly place: Place }, rules: ChannelRules): When {
  const chat = under(rules.chats, event.place.chat);
  const topic = under(chat?.topics, event.place.topic);
  return topic?.when ?? chat?.when ?? "addressed";
}

/** How many messages of a chat that are not for the agent it is shown with a turn. */
export function contextFor(event: { readonly place: Place }, rules: ChannelRules | undefined): number {
  if (!rules || event.place.kind !== "group" || whenFor(event, rules) === "none") return 0;
  return under(rules.chats, event.place.chat)?.context ?? rules.context;
}

/** Whether one of a person's ids is on the deny list. */
export function isDenied(person: Sender, { deny }: Pick<ChannelRules, "deny">): boolean {
  return idsOf(person).some((id) => deny.includes(id));
}

/** The narrowest rule that lets somebody in says how they stand; a deny wins over all. */
export function standingOf(
  event: { readonly place: Place; readonly from: Sender },
  rules: ChannelRules,
  granted: Granted,
): Standing {
  const isOneOf = (people: readonly string[]): boolean => idsOf(event.from).some((id) => people.includes(id));
  if (isDenied(event.from, rules)) return "denied";
  if ((rules.owner !== undefined && isOneOf([rules.owner])) || granted === "owner") return "owner";
  if (isOneOf(rules.allow) || granted === "allowed") return "allowed";
  const inChat = under(rules.chats, event.place.chat)?.allow ?? [];
  if (inChat !== "everyone" && isOneOf(inChat)) return "allowed";
  return rules.open || inChat === "everyone" ? "guest" : "stranger";
}

/** What the operator wrote for one chat. */
export function chatRules(place: Pick<Place, "chat">, rules: ChannelRules): ChatRules | undefined {
  return under(rules.chats, place.chat);
}

/** What the operator wrote under a key: ids are the platform's, and "constructor" is a property of every object. */
function under<T>(rules: Readonly<Record<string, T>> | undefined, key: string | undefined): T | undefined {
  return rules && key !== undefined && Object.hasOwn(rules, key) ? rules[key] : undefined;
}

/** The first word of a message, where it is a command of ours. `/start` without a code greets like `/help`. */
function commandName(event: MessageEvent): CommandName | undefined {
  const word = commandIn(event);
  if (word === "start") return "help";
  return COMMANDS.find((name) => name === word);
}

/** Whether it is a command that the operator has named: it speaks to the agent, which gets it as it was typed. */
function asksAgent(event: MessageEvent, { commands }: ChannelRules): boolean {
  return under(commands, commandIn(event)) !== undefined;
}

function commandIn(event: MessageEvent): string | undefined {
  return /^\/([a-z][a-z0-9_]*)(?:\s|$)/.exec(textOf(event))?.[1];
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
