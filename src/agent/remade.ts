import { AIMessage } from "@langchain/core/messages";

type Fields = Pick<
  AIMessage,
  "content" | "tool_calls" | "invalid_tool_calls" | "additional_kwargs" | "response_metadata"
> & { readonly id: string };

/**
 * The message with these fields in the place of its own, and all others as they are: what is made anew by hand loses one of
 * them sooner or later, such as what it took.
 */
export function remade(message: AIMessage, change: Partial<Fields>): AIMessage {
  const { name, usage_metadata: usage, content, additional_kwargs, response_metadata } = message;
  const { id = message.id, tool_calls: calls = message.tool_calls } = change;
  const { invalid_tool_calls: invalid = message.invalid_tool_calls } = change;
  return new AIMessage({
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    ...(usage === undefined ? {} : { usage_metadata: usage }),
    content: change.content ?? content,
    ...(calls === undefined ? {} : { tool_calls: calls }),
    ...(invalid === undefined ? {} : { invalid_tool_calls: invalid }),
    additional_kwargs: change.additional_kwargs ?? additional_kwargs,
    response_metadata: change.response_metadata ?? response_metadata,
  });
}

/**
 * What a message keeps beside its content, without the raw forms of its calls: OpenAI's converters would send these again
 * as they came.
 */
export function withoutRawCalls({
  additional_kwargs,
  response_metadata,
}: AIMessage): Pick<Fields, "additional_kwargs" | "response_metadata"> {
  const { tool_calls: _calls, function_call: _call, ...kept } = additional_kwargs;
  const { output: _output, ...metadata } = response_metadata;
  return { additional_kwargs: kept, response_metadata: metadata };
}
