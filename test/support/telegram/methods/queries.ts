import { commits, type Methods } from "../method.ts";
import { badRequest } from "../refusal.ts";
import { flag, string, type Parameters } from "../request.ts";
import { messageText } from "../text.ts";

const NOTIFICATION = 200; // Bot API answerCallbackQuery.text: 0–200 characters

export const queryMethods: Methods = {
  answerCallbackQuery(account, call) {
    const { parameters } = call;
    const queryId = account.presses.check(parameters["callback_query_id"]);
    const text = string(parameters["text"]);
    if (text.length > NOTIFICATION) throw badRequest("MESSAGE_TOO_LONG");
    const alert = flag(parameters["show_alert"]);
    return commits(() => account.log.callbackAnswers.add({ queryId, text, alert, at: account.clock.now() }));
  },

  /** Once for each guest. */
  answerGuestQuery(account, call) {
    const queryId = account.guests.check(call.parameters["guest_query_id"]);
    const result = call.parameters["result"];
    if (typeof result !== "object" || result === null) throw badRequest("result isn't specified");
    const { type, id, input_message_content: content } = result as Parameters; // an object, checked above
    if (string(type) === "") throw badRequest(`can't parse InlineQueryResult: Can't find field "type"`);
    if (string(id) === "") throw badRequest("RESULT_ID_EMPTY");
    const text = articleText(type, content);
    return {
      commit() {
        account.guests.close(queryId);
        const inlineMessageId = `guest${queryId}`;
        account.log.guestAnswers.add({ queryId, inlineMessageId, text, result, at: account.clock.now() });
        return { inline_message_id: inlineMessageId };
      },
    };
  },
};

function articleText(type: unknown, content: unknown): string | undefined {
  if (type !== "article") return undefined;
  if (typeof content !== "object" || content === null)
    throw badRequest("input message content is not specified");
  const { message_text, entities } = content as Parameters; // an object, checked above
  return messageText(message_text, entities).text;
}
