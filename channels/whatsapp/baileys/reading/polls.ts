import { createHash } from "node:crypto";
import { decryptPollVote, type proto } from "@whiskeysockets/baileys";
import { pollIn } from "./content.ts";
import { unwrap } from "./unwrap.ts";

/** What opens the votes of a poll. */
export type PollKey = {
  readonly question: string;
  readonly options: readonly string[];
  /** Base64. */
  readonly secret: string;
  /** Addresses of whoever made it, in every form: which of them went into the key is not told. */
  readonly creators: readonly string[];
};

/** What somebody has chosen; undefined where the poll is not known, or the vote does not open. */
export type Vote = { readonly question: string; readonly chosen: readonly string[] };

export function pollKeyOf(given: proto.IMessage, creators: readonly string[]): PollKey | undefined {
  const { message, about } = unwrap(given);
  const poll = pollIn(message);
  const secret = about?.messageSecret;
  if (!poll || !secret || secret.length === 0) return undefined;
  return {
    question: poll.name ?? "",
    options: poll.options?.map((option) => option.optionName ?? "") ?? [],
    secret: Buffer.from(secret).toString("base64"),
    creators,
  };
}

/** `voters` are the addresses of whoever votes, in every form. */
export function voteIn(
  update: proto.Message.IPollUpdateMessage,
  poll: PollKey | undefined,
  voters: readonly string[],
): Vote | undefined {
  const { vote, pollCreationMessageKey: of } = update;
  if (!poll || !vote || !of?.id) return undefined;
  const pollEncKey = Buffer.from(poll.secret, "base64");
  for (const pollCreatorJid of poll.creators)
    for (const voterJid of voters) {
      const opened = tried(() =>
        decryptPollVote(vote, { pollCreatorJid, pollMsgId: of.id ?? "", pollEncKey, voterJid }),
      );
      if (opened)
        return { question: poll.question, chosen: namesOf(opened.selectedOptions ?? [], poll.options) };
    }
  return undefined;
}

function namesOf(hashes: readonly Uint8Array[], options: readonly string[]): readonly string[] {
  const names = new Map(options.map((option) => [createHash("sha256").update(option).digest("hex"), option]));
  return hashes.map(
    (hash) => names.get(Buffer.from(hash).toString("hex")) ?? "an answer that was added later",
  );
}

/** With the wrong addresses the authentication of what is opened fails. */
function tried<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}
