import type { Message } from "grammy/types";
import type { Account } from "../account.ts";
import { copied, originOf } from "../copies.ts";
import { destination, send } from "../destination.ts";
import { captionFields, type Method, type Methods, refuseParseMode } from "../method.ts";
import { badRequest } from "../refusal.ts";
import { flag, integer, type Parameters } from "../request.ts";
import { captionText } from "../text.ts";

const MOST = 100; // Bot API forwardMessages, copyMessages: 1–100

export const copyMethods: Methods = {
  forwardMessage(account, call) {
    const to = destination(account, call.parameters, "can_send_messages");
    const message = source(account, call.parameters, "forward");
    const content = { ...copied(message), forward_origin: originOf(message) };
    return { commit: () => send(account, call, to, content) };
  },

  copyMessage(account, call) {
    const { parameters } = call;
    refuseParseMode(parameters);
    const to = destination(account, parameters, "can_send_messages");
    const message = source(account, parameters, "copy");
    const caption =
      parameters["caption"] === undefined
        ? {}
        : captionFields(captionText(parameters["caption"], parameters["caption_entities"]));
    const content = { ...copied(message), ...caption };
    return { commit: () => ({ message_id: send(account, call, to, content).message_id }) };
  },

  forwardMessages: many((message) => ({ ...copied(message), forward_origin: originOf(message) })),

  copyMessages: many((message, parameters) => {
    const { caption: _c, caption_entities: _e, ...bare } = copied(message);
    return flag(parameters["remove_caption"]) ? bare : copied(message);
  }),
};

/** What is not there is passed over. */
function many(contentOf: (message: Message, parameters: Parameters) => Partial<Message>): Method {
  return (account, call) => {
    const { parameters } = call;
    const to = destination(account, parameters, "can_send_messages");
    const from = account.find(parameters["from_chat_id"]);
    const given = parameters["message_ids"];
    if (!Array.isArray(given) || given.length === 0)
      throw badRequest("message identifiers are not specified");
    if (given.length > MOST) throw badRequest("too many messages specified");
    const found = given.flatMap((id) => from.messages.get(integer(id) ?? 0) ?? []);
    return {
      commit: () =>
        found.map((message) => {
          const { message_id } = send(account, call, to, contentOf(message, parameters));
          return { message_id };
        }),
    };
  };
}

function source(account: Account, parameters: Parameters, verb: string): Message {
  const from = account.find(parameters["from_chat_id"]);
  const message = from.messages.get(integer(parameters["message_id"]) ?? 0);
  if (!message) throw badRequest(`message to ${verb} not found`);
  return message;
}
