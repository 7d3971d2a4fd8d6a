import { AIMessage, HumanMessage, type BaseMessage, type UsageMetadata } from "@langchain/core/messages";
import { modelKey } from "../model-key.ts";
import type { ModelChoice } from "../../core/agent.ts";
import type { MediaBlock } from "../../core/blocks.ts";
import { counted } from "../harness/use.ts";
import { cameMeanwhile, isSteered, perchContent } from "../messages.ts";

/** Of UTF-8: four letters of English, two of Russian, one and a third of Chinese. */
export const BYTES_PER_TOKEN = 4;
/** Role, marks and ids around what a message says. */
const PER_MESSAGE = 4;
/** A picture of a million pixels and more; providers make larger ones smaller. */
const PICTURE = 1_600;
const PIXELS_PER_TOKEN = 750;
const SOUND_PER_SECOND = 32;
/** A page as text and picture, and its usual size in a file. */
const PAGE = 2_000;
const PAGE_BYTES = 50_000;
const MOST_PAGES = 100;

/** What a text takes, by its length. */
export function textTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** What a message takes by the length of its text and calls; its media are counted where `shown`, never as text. */
export function messageTokens(message: BaseMessage, shown = false): number {
  const media = shown ? (perchContent(message)?.content ?? []) : [];
  return media.reduce(
    (sum, block) => sum + (block.type === "text" ? 0 : mediaTokens(block)),
    PER_MESSAGE + textTokens(saidIn(message)) + partTokens(message),
  );
}

/** What messages take, with the media of the last `mediaTurns` questions. */
export function messagesTokens(messages: readonly BaseMessage[], mediaTurns: number): readonly number[] {
  let turns = 0;
  return messages
    .toReversed()
    .map((message) => {
      const asks = HumanMessage.isInstance(message) && !cameMeanwhile(message);
      if (asks) turns += 1;
      // What came while a turn ran is of the turn of the question before it.
      const turn = isSteered(message) ? turns + 1 : asks ? turns : Infinity;
      return messageTokens(message, turn <= mediaTurns);
    })
    .toReversed();
}

function mediaTokens({ type, width, height, bytes, durationSeconds, extract, stills }: MediaBlock): number {
  const text = extract === undefined ? 0 : Math.ceil(extract.bytes / BYTES_PER_TOKEN);
  const pictures = (stills ?? []).length * PICTURE;
  switch (type) {
    case "image": {
      const pixels = width === undefined || height === undefined ? Infinity : width * height;
      return Math.min(PICTURE, Math.ceil(pixels / PIXELS_PER_TOKEN));
    }
    case "audio":
      return Math.max(text, Math.ceil((durationSeconds ?? 0) * SOUND_PER_SECOND));
    case "video":
      return text + pictures;
    case "file":
      if (text > 0) return text;
      return pictures > 0 ? pictures : PAGE * Math.min(MOST_PAGES, Math.ceil(bytes / PAGE_BYTES));
  }
}

/** Text and calls, as they are sent. */
function saidIn(message: BaseMessage): string {
  if (!AIMessage.isInstance(message)) return message.text;
  const calls = (message.tool_calls ?? []).map(({ name, args }) => `${name}${JSON.stringify(args)}`);
  return [message.text, ...calls].join("");
}

/** What else stands among a message's parts: thoughts by their length, pictures and the like by number. */
function partTokens({ content }: BaseMessage): number {
  if (typeof content === "string") return 0;
  return content.reduce((sum, part) => {
    const thought = part["reasoning"] ?? part["thinking"];
    if (typeof thought === "string") return sum + textTokens(thought);
    return /image|audio|video|file|media/.test(part.type) ? sum + PICTURE : sum;
  }, 0);
}

/** What was guessed of the request that an answer was given to, as it is kept with the answer. */
export type Guess = {
  readonly tokens: number;
  /** Of them: the prompt and the tools, which every request has. */
  readonly fixed: number;
  /** "openai:gpt-5". */
  readonly model: string;
};

/** Notes down with an answer what was guessed of its request, so that the next guess is measured by what was counted. */
export function noteGuess(answer: AIMessage, guess: Guess): void {
  answer.response_metadata = { ...answer.response_metadata, perchGuess: guess };
}

/** What was guessed, and what the provider has counted; 0 where it did not. */
export type Measured = Guess & { readonly input: number; readonly output: number };

/** The last request of a thread that a guess was noted down of. */
export function measured(messages: readonly BaseMessage[], choice: ModelChoice): Measured | undefined {
  const model = modelKey(choice);
  const last = messages.findLast((message) => {
    const guess = message.response_metadata["perchGuess"] as Guess | undefined; // written by noteGuess alone
    return AIMessage.isInstance(message) && guess?.model === model;
  });
  if (last === undefined) return undefined;
  const guess = last.response_metadata["perchGuess"] as Guess; // just looked at
  return { ...guess, ...countedIn(last) };
}

/** What a provider has counted of a request and of its answer. */
function countedIn(message: BaseMessage): { readonly input: number; readonly output: number } {
  const usage = AIMessage.isInstance(message)
    ? (message.usage_metadata as UsageMetadata | undefined) // its own type allows none
    : undefined;
  return { input: counted(usage?.input_tokens), output: counted(usage?.output_tokens) };
}

// A server that counts wrong must not make a thread forget everything, or nothing.
const LEAST = 0.3;
const MOST = 3;

/** By what guesses of this thread are multiplied: as far as the provider's count of its last request was from ours. */
export function calibration(last: Measured | undefined): number {
  if (last === undefined || last.input === 0 || last.tokens === 0) return 1;
  return Math.min(MOST, Math.max(LEAST, last.input / last.tokens));
}
