import type {
  ChoiceEvent,
  DeleteEvent,
  EditEvent,
  InboundEvent,
  MessageEvent,
  Place,
  Quote,
  ReactionEvent,
  Sender,
} from "../../../src/core/events.ts";
import { contentOf } from "./content.ts";
import type { KeyOf } from "./contacts.ts";
import { moveIn, wasOf } from "./moves.ts";
import { type Change, type CloudMessage, isoOf, listed } from "./payload.ts";
import { type Forms, formsIn, nameIn } from "./people.ts";

/** What is known here beside the webhook. */
export type Known = {
  readonly keyOf: KeyOf;
  /** What a message quotes that answers another; undefined where it answers none. */
  readonly quote: (message: CloudMessage) => Quote | undefined;
  /** The sign that a person had set at a message before this reaction; "" for none. */
  readonly signBefore: (key: string, reaction: CloudMessage) => string;
};

/** A message of the webhook, with whom it is from. Of groups, which the Cloud API hands to few businesses, there is none. */
export type Heard = { readonly message: CloudMessage; readonly forms: Forms; readonly name: string };

export function heardIn(change: Change): readonly Heard[] {
  return listed(change.messages)
    .filter(({ id, group_id: group }) => typeof id === "string" && group === undefined)
    .map((message) => ({ message, forms: formsIn(change, message), name: nameIn(change, message) }));
}

/** Whom a message is about: its sender, or by a system message whoever they were before. */
export function personIn({ message, forms }: Heard): Forms {
  const { type, system } = message;
  return type === "system" && system ? wasOf(forms, system) : forms;
}

/** Pure. Nothing where nobody can be told from whom it is, and where it says nothing. */
export function eventIn(heard: Heard, known: Known): InboundEvent | undefined {
  const { message, forms } = heard;
  const key = known.keyOf(forms);
  const { type = "", id = "" } = message;
  if (type === "system") return message.system && moveIn(id, personIn(heard), message.system, known.keyOf);
  if (key === undefined) return undefined;
  const about = aboutOf(heard, key);
  switch (type) {
    case "reaction":
      return reactionIn(message, key, about, known);
    case "interactive":
      return choiceIn(message, about) ?? messageIn(message, about, known);
    case "revoke":
      return deletionIn(message, about);
    case "edit":
      return editIn(message, about, known);
    case "request_welcome":
      return undefined; // somebody has opened the chat for the first time
    default:
      return messageIn(message, about, known);
  }
}

type About = { readonly id: string; readonly place: Place; readonly from: Sender; readonly sentAt: string };

function aboutOf({ message, forms, name }: Heard, key: string): About {
  const also = forms.filter((form) => form !== key);
  const others = also.length === 0 ? {} : { also };
  return {
    id: message.id ?? "",
    place: { chat: key, kind: "private", ...others },
    from: { id: key, name: name === "" ? key : name, ...others },
    sentAt: isoOf(message.timestamp),
  };
}

function messageIn(message: CloudMessage, about: About, known: Known): MessageEvent | undefined {
  const said = saidIn(message, known);
  return said && { type: "message", unique: true, ref: about.id, ...about, ...said };
}

function saidIn(
  message: CloudMessage,
  known: Known,
): Pick<MessageEvent, "content" | "addressed" | "quote" | "forward"> | undefined {
  const content = contentOf(message);
  if (content.length === 0) return undefined;
  const { forwarded, frequently_forwarded: often } = message.context ?? {};
  const quote = known.quote(message);
  return {
    content,
    addressed: true,
    ...(quote ? { quote } : {}),
    // Who said it first WhatsApp does not tell.
    ...(forwarded === true || often === true ? { forward: { from: "somebody" } } : {}),
  };
}

/** Edits and deletions reach only numbers that are used in the WhatsApp Business app as well. */
function editIn({ edit }: CloudMessage, about: About, known: Known): EditEvent | undefined {
  const { original_message_id: ref, message } = edit ?? {};
  const said = message && saidIn(message, known);
  return ref === undefined || !said ? undefined : { type: "edited", ref, ...about, ...said };
}

function deletionIn({ revoke }: CloudMessage, { id, place, sentAt }: About): DeleteEvent | undefined {
  const ref = revoke?.original_message_id;
  return ref === undefined ? undefined : { type: "deleted", id, place, refs: [ref], sentAt };
}

/** Without a sign it was taken back; WhatsApp has one of each person at a message and does not say which it was. */
function reactionIn(
  message: CloudMessage,
  key: string,
  about: About,
  known: Known,
): ReactionEvent | undefined {
  const { message_id: ref, emoji = "" } = message.reaction ?? {};
  if (ref === undefined) return undefined;
  const stood = known.signBefore(key, message);
  return {
    type: "reaction",
    ...about,
    ref,
    added: signs(emoji),
    removed: signs(stood === emoji ? "" : stood),
  };
}

function signs(sign: string): readonly string[] {
  return sign === "" ? [] : [sign];
}

/** A key of ours is 8 letters and digits; another id belongs to a message that somebody else has sent. */
const KEY = /^[A-Z0-9]{8}$/;

/**
 * A pressed button or a chosen row. It says nothing of where it stood: the press is a message of its own in the chat, below
 * the question, so that nothing has to be put in the question's place.
 */
function choiceIn({ interactive }: CloudMessage, about: About): ChoiceEvent | undefined {
  const key = (interactive?.button_reply ?? interactive?.list_reply)?.id;
  return key !== undefined && KEY.test(key) ? { type: "choice", ...about, key } : undefined;
}
