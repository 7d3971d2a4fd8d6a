import type { Poll } from "grammy/types";
import type { Account } from "./account.ts";

/** As the app makes it when nothing more is asked for: anonymous, one answer, no quiz. */
export function newPoll(account: Account, question: string, options: readonly string[]): Poll {
  return {
    id: account.pollId(),
    question,
    options: options.map((text, index) => ({ persistent_id: String(index), text, voter_count: 0 })),
    total_voter_count: 0,
    is_closed: false,
    is_anonymous: true,
    type: "regular",
    allows_multiple_answers: false,
    allows_revoting: true,
    members_only: false,
  };
}
