import { channel } from "node:diagnostics_channel";
import { startOpenAi } from "../test/support/models/openai.ts";
import { answer } from "./helper.ts";

// The model: it says the same to everything, after as long as it is told to think.

const SAYS = `A kingfisher **corrects for the bend of light** before it dives:

- it judges the angle from its perch,
- it turns its head so that the fish falls on the *second* fovea,
- and it closes a clear lid as it strikes.`;

let delayMs = 0;
const model = await startOpenAi({ otherwise: () => ({ text: SAYS, delayMs }) });

// The server's own time of each request, from its first line being read to its answer being handed to the system.
const began = new WeakMap<object, number>();
const tookMs: number[] = [];
channel("http.server.request.start").subscribe((event) => {
  began.set((event as { request: object }).request, performance.now()); // as Node documents it
});
channel("http.server.response.finish").subscribe((event) => {
  const at = began.get((event as { request: object }).request);
  if (at !== undefined) tookMs.push(performance.now() - at);
});

const questions = {
  address: async () => model.url,

  think: async ({ ms }: { readonly ms: number }) => {
    delayMs = ms;
    return null;
  },

  /** Milliseconds that went into requests since this was asked last. */
  took: async () => tookMs.splice(0).reduce((sum, ms) => sum + ms, 0),
};

export type ModelQuestions = typeof questions;

answer(questions);
