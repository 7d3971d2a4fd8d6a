import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

/**
 * The same model, which gives its client a signal of its own for each call. OpenAI's leaves a listener on
 * what it is given, an `AbortSignal.any` of LangChain's, and those Node 20 keeps for as long as there is one: two kilobytes
 * a call.
 */
export function withOwnSignal<Model extends BaseChatModel>(model: Model): Model {
  /* oxlint-disable no-underscore-dangle -- LangChain's own words for what a model must do */
  const generate = model._generate.bind(model);
  const stream = model._streamResponseChunks.bind(model);
  /* oxlint-enable no-underscore-dangle */
  return Object.assign(model, {
    async _generate(...[messages, options, manager]: Parameters<typeof generate>) {
      const own = follow(options.signal);
      try {
        return await generate(messages, { ...options, ...own.given }, manager);
      } finally {
        own.leave();
      }
    },
    async *_streamResponseChunks(...[messages, options, manager]: Parameters<typeof stream>) {
      const own = follow(options.signal);
      try {
        yield* stream(messages, { ...options, ...own.given }, manager);
      } finally {
        own.leave();
      }
    },
  });
}

function follow(signal: AbortSignal | undefined): {
  readonly given: { readonly signal?: AbortSignal };
  leave(): void;
} {
  if (!signal) return { given: {}, leave: () => {} };
  const own = new AbortController();
  const abort = (): void => own.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return { given: { signal: own.signal }, leave: () => signal.removeEventListener("abort", abort) };
}
