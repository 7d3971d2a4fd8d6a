import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";

/** The one tool that it calls. */
export const TOOL = "look_up";
/** What a turn asks; a summary of such turns begins otherwise. */
export const QUESTION = "What do you think of this? ";
const ASKED = /^\d+: What do you think/;
/** What it says of one turn's question, in characters: a usual answer. */
const ANSWER_CHARACTERS = 200;

/**
 * A model without latency: it calls its tool once for each question, then answers. What it was sent is measured, so that a
 * prompt that grows is seen.
 */
export class ScriptedModel extends BaseChatModel {
  /** Characters of text of the newest request, and of the largest since it was asked for last. */
  #characters = 0;
  #calls = 0;

  constructor() {
    super({});
  }

  override _llmType(): string {
    return "scripted";
  }

  /** Both sides bind the same tool, which it calls by name. */
  override bindTools(): this {
    return this;
  }

  override async _generate(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    _run?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    const characters = messages.reduce((sum, message) => sum + message.text.length, 0);
    this.#characters = Math.max(this.#characters, characters);
    this.#calls += 1;
    const last = messages.at(-1);
    // Whatever else it is asked, such as for a summary, it answers in words.
    const asks = HumanMessage.isInstance(last) && ASKED.test(last.text);
    const used = { input_tokens: Math.ceil(characters / 4), output_tokens: 50 };
    const message = new AIMessage({
      content: asks ? "" : `Answer ${this.#calls}. ${"It is so. ".repeat(ANSWER_CHARACTERS / 10)}`,
      tool_calls: asks
        ? [{ type: "tool_call", name: TOOL, args: { about: "this" }, id: `call_${this.#calls}` }]
        : [],
    });
    Object.assign(message, {
      usage_metadata: { ...used, total_tokens: used.input_tokens + used.output_tokens },
    });
    return { generations: [{ text: message.text, message }] };
  }

  /** The largest request since the last look. */
  largest(): number {
    const characters = this.#characters;
    this.#characters = 0;
    return characters;
  }
}
