import type { Poll } from "grammy/types";
import type { Account } from "../account.ts";
import { destination, send } from "../destination.ts";
import { type Methods, previewField, refuseParseMode, richContent, textFields } from "../method.ts";
import { newPoll } from "../poll.ts";
import { badRequest } from "../refusal.ts";
import { flag, integer, string, type Parameters } from "../request.ts";
import { messageText } from "../text.ts";

const POLL = { question: 300, option: 100, options: 12 }; // Bot API sendPoll
const DICE: Readonly<Record<string, number>> = { "🎲": 6, "🎯": 6, "🎳": 6, "🏀": 5, "⚽": 5, "🎰": 64 };

/** Everything that is sent and is no file. */
export const messageMethods: Methods = {
  sendMessage(account, call) {
    const { parameters } = call;
    refuseParseMode(parameters);
    const to = destination(account, parameters, "can_send_messages");
    const text = textFields(messageText(parameters["text"], parameters["entities"]));
    const content = { ...text, ...previewField(parameters["link_preview_options"]) };
    return { commit: () => send(account, call, to, content) };
  },

  sendRichMessage(account, call) {
    const to = destination(account, call.parameters, "can_send_messages");
    const rich = richContent(account, call, { inDraft: false });
    return { commit: () => send(account, call, to, { rich_message: rich.message }, { rich }) };
  },

  sendLocation(account, call) {
    const to = destination(account, call.parameters, "can_send_messages");
    const location = locationOf(call.parameters);
    return { commit: () => send(account, call, to, { location }) };
  },

  sendVenue(account, call) {
    const to = destination(account, call.parameters, "can_send_messages");
    const location = locationOf(call.parameters);
    const title = string(call.parameters["title"]);
    const address = string(call.parameters["address"]);
    if (title === "" || address === "") throw badRequest("VENUE_TITLE_OR_ADDRESS_EMPTY");
    // Older clients look for the place alone: Bot API Message.venue.
    return { commit: () => send(account, call, to, { venue: { location, title, address }, location }) };
  },

  sendContact(account, call) {
    const to = destination(account, call.parameters, "can_send_messages");
    const phone_number = string(call.parameters["phone_number"]);
    const first_name = string(call.parameters["first_name"]);
    if (phone_number === "" || first_name === "")
      throw badRequest("phone number and first name must be non-empty");
    return { commit: () => send(account, call, to, { contact: { phone_number, first_name } }) };
  },

  sendPoll(account, call) {
    const to = destination(account, call.parameters, "can_send_polls");
    const poll = pollOf(account, call.parameters);
    return { commit: () => send(account, call, to, { poll }) };
  },

  sendDice(account, call) {
    const to = destination(account, call.parameters, "can_send_other_messages");
    const emoji = string(call.parameters["emoji"]) || "🎲";
    const sides = DICE[emoji];
    if (sides === undefined) throw badRequest("DICE_EMOJI_INVALID");
    const value = 1 + (account.log.sent.count % sides);
    return { commit: () => send(account, call, to, { dice: { emoji, value } }) };
  },
};

function locationOf(parameters: Parameters): { latitude: number; longitude: number } {
  const latitude = Number(parameters["latitude"] ?? Number.NaN);
  const longitude = Number(parameters["longitude"] ?? Number.NaN);
  if (!(Math.abs(latitude) <= 90) || !(Math.abs(longitude) <= 180)) {
    throw badRequest("invalid location specified");
  }
  return { latitude, longitude };
}

function pollOf(account: Account, parameters: Parameters): Poll {
  const question = string(parameters["question"]);
  const given = parameters["options"];
  if (question === "") throw badRequest("poll question must be non-empty");
  if (question.length > POLL.question) throw badRequest("poll question length must not exceed 300");
  if (!Array.isArray(given) || given.length === 0) throw badRequest("poll must have at least 1 option");
  if (given.length > POLL.options) throw badRequest("poll can't have more than 12 options");
  const texts = given.map((option: unknown) => {
    const text = string(isFields(option) ? option["text"] : option);
    if (text === "") throw badRequest("poll options must be non-empty");
    if (text.length > POLL.option) throw badRequest("poll options length must not exceed 100");
    return text;
  });
  const correct = parameters["correct_option_ids"];
  return {
    ...newPoll(account, question, texts),
    is_closed: flag(parameters["is_closed"]),
    is_anonymous: parameters["is_anonymous"] === undefined || flag(parameters["is_anonymous"]),
    allows_multiple_answers: flag(parameters["allows_multiple_answers"]),
    ...(parameters["type"] === "quiz" && { type: "quiz", allows_revoting: false }),
    ...(Array.isArray(correct) && { correct_option_ids: correct.map((id) => integer(id) ?? 0) }),
  };
}

function isFields(value: unknown): value is Parameters {
  return typeof value === "object" && value !== null;
}
