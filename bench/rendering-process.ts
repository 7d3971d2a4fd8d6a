import { setImmediate } from "node:timers/promises";
import { answerOf } from "./answers.ts";
import { type Converter, type ConverterName, CONVERTERS } from "./converters.ts";
import { answer } from "./helper.ts";
import { type Hold, holding, worst } from "./holds.ts";
import { longAnswers } from "./long-answers.ts";

// A process that renders answers, always the same ones.

type Answers = { readonly count: number; readonly length: number };

/** Others than the measured ones: the compiler has seen the code by then. */
const WARM_UP = 200;
const WARM_UP_SEED = 1_000_000;

let loaded: readonly (readonly [ConverterName, Converter])[] = [];

const questions = {
  load: async ({ names }: { readonly names: readonly ConverterName[] }) => {
    loaded = await Promise.all(names.map(async (name) => [name, await CONVERTERS[name]()] as const));
    return null;
  },

  warmUp: async ({ length }: { readonly length: number }) => {
    for (let n = 0; n < WARM_UP; n += 1) {
      for (const [, convert] of loaded) await convert(answerOf(WARM_UP_SEED + n, length));
    }
    return null;
  },

  /** Every answer by each in turn, whose turn comes first changes: ms that each took, and how many messages it made. */
  turns: async ({ count, length }: Answers) => {
    const took = new Map(loaded.map(([name]) => [name, { ms: 0, messages: 0 }]));
    for (let n = 0; n < count; n += 1) {
      const markdown = answerOf(n, length);
      for (let turn = 0; turn < loaded.length; turn += 1) {
        const [name, convert] = loaded[(n + turn) % loaded.length] as (typeof loaded)[number]; // within the length
        const sum = took.get(name);
        const began = performance.now();
        const messages = await convert(markdown);
        if (!sum) continue;
        sum.ms += performance.now() - began;
        sum.messages += messages;
      }
    }
    return Object.fromEntries(took);
  },

  /** All answers, each on a turn of the event loop of its own: the longest hold. */
  all: async ({ count, length }: Answers) => {
    const answers = Array.from({ length: count }, (_, n) => answerOf(n, length));
    const { hold } = await holding(async () => {
      for (const markdown of answers) {
        for (const [, convert] of loaded) await convert(markdown);
        await setImmediate();
      }
    });
    return hold;
  },

  /** One very long answer: how long the event loop is held by it. */
  long: async ({ name, length }: { readonly name: string; readonly length: number }) => {
    const markdown = longAnswers(length)[name] ?? "";
    const holds: Hold[] = [];
    for (const [, convert] of loaded) holds.push((await holding(() => convert(markdown))).hold);
    return worst(holds);
  },
};

export type RenderingQuestions = typeof questions;

answer(questions);
