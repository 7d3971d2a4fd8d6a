import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { givenIn, type Offer } from "./messages.ts";
import { plainText } from "./words.ts";

/** A graph of the operator's offers choices by binding a tool of this name that takes the same. */
const OFFER = "offer_choices";

const OFFERED = z.object({
  choices: z
    .array(z.string().trim().min(1).max(200))
    .min(2)
    .max(12)
    .describe("What can be chosen, in the person's language: 2 to 12, each of a few words that differ."),
});

/** Lets an agent ask with buttons. It has no effect of its own: what was offered is read from the calls. */
export function choiceTool() {
  return tool(
    () => "The choices will stand as buttons below your answer. Now write your question as the answer.",
    {
      name: OFFER,
      description:
        "Puts buttons below your answer, each with one choice. Use it when your answer asks a question that has a few " +
        "possible answers (which one, yes or no, how much); not for open questions. Then write the question itself as your " +
        "answer, without listing the choices. What the person presses comes as their next message; they may also write.",
      schema: OFFERED,
    },
  );
}

export function offerIn(messages: readonly BaseMessage[]): Offer | undefined {
  const offers = messages.flatMap((message) => {
    const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
    const earlier = givenIn(message)?.offer;
    const own = calls.flatMap(({ name, args }): readonly Offer[] => {
      // A call that the tool has refused offers nothing.
      const read = name === OFFER ? OFFERED.safeParse(args) : undefined;
      return read?.success ? [{ choices: read.data.choices.map(plainText), beside: message.text }] : [];
    });
    return earlier ? [earlier, ...own] : own;
  });
  return offers.at(-1);
}
