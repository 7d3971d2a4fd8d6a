import { channel } from "node:diagnostics_channel";
import { startOpenAi } from "../test/support/models/openai.ts";
import type { Answer, ModelRequest } from "../test/support/models/server.ts";
import { answer } from "./helper.ts";
import { ANSWER, answerOfWords } from "./speech.ts";

// The model: it says the same to everything, after as long as it is told to think, at once or word by word.

let says: { readonly text: string; readonly thinkMs: number; readonly wordMs?: number } = {
  text: ANSWER,
  thinkMs: 0,
};
const model = await startOpenAi({ otherwise });

function otherwise({ body }: ModelRequest): Answer {
  const { text, thinkMs, wordMs } = says;
  if (wordMs === undefined) return { text, delayMs: thinkMs };
  if (body["stream"] === true) return { text, delayMs: thinkMs, wordMs };
  // Who asks for the whole waits as long for it.
  return { text, delayMs: thinkMs + (text.split(" ").length - 1) * wordMs };
}

// The server's own time of each request, from its first line being read to its answer being handed to the system.
const began = new WeakMap<object, number>();
const tookMs: number[] = [];
let newestBegan = 0;
let firstWordMs = 0;
channel("http.server.request.start").subscribe((event) => {
  newestBegan = performance.now();
  began.set((event as { request: object }).request, newestBegan); // as Node documents it
});
channel("http.server.response.finish").subscribe((event) => {
  const at = began.get((event as { request: object }).request);
  if (at !== undefined) tookMs.push(performance.now() - at);
});
model.on("streaming", ({ words }) => {
  if (words === 1) firstWordMs = performance.now() - newestBegan;
});

const questions = {
  address: async () => model.url,

  think: async ({ ms }: { readonly ms: number }) => {
    says = { text: ANSWER, thinkMs: ms };
    return null;
  },

  speak: async (how: { readonly thinkMs: number; readonly words: number; readonly wordMs: number }) => {
    says = { text: answerOfWords(how.words), thinkMs: how.thinkMs, wordMs: how.wordMs };
    return null;
  },

  /** Milliseconds that went into requests since this was asked last. */
  took: async () => tookMs.splice(0).reduce((sum, ms) => sum + ms, 0),

  /** Milliseconds to the first word of the last stream, if nothing else was asked meanwhile. */
  firstWord: async () => firstWordMs,
};

export type ModelQuestions = typeof questions;

answer(questions);
