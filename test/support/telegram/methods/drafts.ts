import { actionDestination } from "../destination.ts";
import { commits, type Answer, type Methods, refuseParseMode, richContent } from "../method.ts";
import type { Account } from "../account.ts";
import { badRequest } from "../refusal.ts";
import { flag, integer, type Call } from "../request.ts";
import type { Draft } from "../sent-log.ts";
import { draftText } from "../text.ts";

export const draftMethods: Methods = {
  sendMessageDraft(account, call) {
    const { parameters } = call;
    refuseParseMode(parameters);
    return draft(account, call, () => {
      const { text, entities } = draftText(parameters["text"], parameters["entities"]);
      // Servers of March 2026 refused what the docs allow: nullclaw/nullclaw#338.
      if (text === "" && account.lacks.has("emptyDrafts")) throw badRequest("message text is empty");
      return { text, entities, rich: undefined };
    });
  },

  sendRichMessageDraft: (account, call) =>
    draft(account, call, () => {
      const rich = richContent(account, call, { inDraft: true });
      return { text: rich.text, entities: [], rich };
    }),
};

function draft(
  account: Account,
  call: Call,
  content: () => Pick<Draft, "text" | "entities" | "rich">,
): Answer {
  const { parameters } = call;
  const { chat, refusesDrafts } = actionDestination(account, parameters);
  if (chat.type !== "private" || refusesDrafts) throw badRequest("TEXTDRAFT_PEER_INVALID");
  const draftId = integer(parameters["draft_id"]);
  if (!draftId) throw badRequest("draft_id must be non-zero");
  const shown: Draft = {
    chatId: chat.id,
    threadId: integer(parameters["message_thread_id"]),
    draftId,
    ...content(),
    canStop: flag(parameters["can_stop"]),
    keepOnStop: flag(parameters["keep_on_stop"]),
    at: account.clock.now(),
  };
  return commits(() => {
    account.drafts.show(shown);
    account.log.drafts.add(shown);
  });
}
