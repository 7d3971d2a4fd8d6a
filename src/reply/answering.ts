import type { AgentAnswer, AgentDefinition } from "../core/agent.ts";
import type { ChannelFace, PieceBody } from "../core/channel.ts";
import type { ChatId } from "../core/identity.ts";
import { type Planned, withChoices } from "./choices.ts";
import { type Draft, draftOf } from "./draft.ts";
import { type CallWords, planCall, type PlanFor, planReply, planWords } from "./plan.ts";

export type AnsweringParts = Omit<PlanFor, "channel" | "roots" | "net"> & {
  /** Absolute path of the folder that a chat's agent puts files into that it wants to send. */
  readonly outputs: (chat: ChatId) => string;
};

/** Makes pieces of what agents and we ourselves have to say. */
export type Answering = {
  answer(
    channel: ChannelFace,
    chat: ChatId,
    agent: AgentDefinition,
    answer: Pick<AgentAnswer, "markdown" | "choices">,
  ): Promise<Planned>;
  words(channel: ChannelFace, text: string): readonly PieceBody[];
  /** Words of ours around what a tool is called with, which is shown as code. */
  call(channel: ChannelFace, words: CallWords): readonly PieceBody[];
  /** What is shown of an answer that is still being written. */
  draft(markdown: string): Draft;
};

export function answering({ outputs, ...parts }: AnsweringParts): Answering {
  return {
    async answer(channel, chat, { assets }, { markdown, choices = [] }) {
      const roots = assets === undefined ? { outputs: outputs(chat) } : { outputs: outputs(chat), assets };
      return withChoices(await planReply(markdown, { ...parts, channel, roots }), choices, channel);
    },
    words: (channel, text) => planWords(text, channel),
    call: (channel, words) => planCall(words, channel),
    draft: draftOf,
  };
}
