import { z } from "zod";

import { budget } from "./budget-schema.ts";
import { ANSWERERS } from "../core/approvals.ts";
import { name } from "./schema.ts";

const address = z.url({ protocol: /^https?$/ });
const path = z.string().min(1);

/** A model beside the agent's own. */
const otherModel = z
  .union(
    [
      z.string(),
      z.strictObject({
        model: z.string(),
        baseUrl: address.exactOptional(),
        apiKey: z.string().min(1).exactOptional(),
      }),
    ],
    {
      error:
        "must be a model; Write provider:name, such as anthropic:claude-sonnet-4-5, or a map with model:, baseUrl: and apiKey:",
    },
  )
  .transform((written): WrittenModel => (typeof written === "string" ? { model: written } : written));

export type WrittenModel = { readonly model: string; readonly baseUrl?: string; readonly apiKey?: string };

/** Of a million tokens. */
const price = z.number().min(0);

const subagents = z.strictObject({
  agents: z.array(name).min(1),
  atOnce: z.int().min(1).max(8).default(3),
  mostPerTurn: z.int().min(1).max(50).default(6),
  seconds: z.int().min(1).max(86_400).default(120),
});

const background = z.strictObject({
  retries: z.int().min(0).max(10).default(2),
  retrySeconds: z.int().min(1).max(3_600).default(30),
});

const schedules = z.strictObject({
  most: z.int().min(1).max(100).default(10),
  minMinutes: z.int().min(1).max(1_440).default(15),
});

/** The front matter of an agent's file. */
export const agentSchema = z.strictObject({
  model: z.string().default("demo"),
  baseUrl: address.exactOptional(),
  apiKey: z.string().exactOptional(),
  fallbacks: z.array(otherModel).default([]),
  price: z.strictObject({ input: price, output: price, cached: price.exactOptional() }).exactOptional(),
  budget: budget.exactOptional(),
  graph: path.exactOptional(),
  assets: path.exactOptional(),
  transcriber: z
    .discriminatedUnion(
      "use",
      [
        z.strictObject({
          use: z.literal("openai"),
          model: z.string().min(1).default("whisper-1"),
          baseUrl: address.default("https://api.openai.com/v1"),
          apiKey: z.string().min(1).exactOptional(),
          language: z
            .string()
            .regex(/^[a-z]{2}$/, "a language is two letters; Write one such as de")
            .exactOptional(),
        }),
        z.strictObject({
          use: z.literal("command"),
          command: z
            .tuple([z.string().min(1)], z.string())
            .refine(
              (words) => words.some((word) => word.includes("{file}")),
              'a command has to be told where the sound is; Put "{file}" among its arguments',
            ),
        }),
      ],
      { error: "a transcriber is a server or a program; Write use: openai, or use: command" },
    )
    .exactOptional(),
  files: z.boolean().default(true),
  choices: z.boolean().default(false),
  // Over our own table of models.
  senses: z
    .strictObject({
      images: z.boolean().exactOptional(),
      pdf: z.boolean().exactOptional(),
      audio: z.boolean().exactOptional(),
    })
    .exactOptional(),
  skills: z.array(path).default([]),
  memory: z
    .strictObject({
      files: z.array(path).default([]),
      facts: z.boolean().default(false),
      quietSeconds: z.int().min(1).max(3_600).default(30),
      mostSeconds: z.int().min(1).max(86_400).default(300),
      mostFacts: z.int().min(1).max(1_000).default(100),
    })
    .refine(({ quietSeconds, mostSeconds }) => mostSeconds >= quietSeconds, {
      path: ["mostSeconds"],
      error: "must not be less than quietSeconds; Write more, or lower quietSeconds",
    })
    .exactOptional(),
  subagents: z
    .union(
      [
        z
          .array(name)
          .min(1)
          .transform((agents) => subagents.parse({ agents })),
        subagents,
      ],
      {
        error: "must be names of agents; Write [researcher], or a map with agents: [researcher]",
      },
    )
    .exactOptional(),
  about: z.string().min(1).max(1_000).exactOptional(),
  background: z
    .union([z.boolean().transform((on) => (on ? background.parse({}) : undefined)), background], {
      error: "must be true, or a map with retries: and retrySeconds:; Write true",
    })
    .exactOptional(),
  schedules: z
    .union([z.boolean().transform((on) => (on ? schedules.parse({}) : undefined)), schedules], {
      error: "must be true, or a map with most: and minMinutes:; Write true",
    })
    .exactOptional(),
  mcp: z.array(name).default([]),
  shell: z.boolean().default(false),
  guard: path.exactOptional(),
  // Of a guard that says "ask" too.
  approve: z
    .strictObject({
      tools: z.array(z.string().min(1)).default([]),
      who: z.enum(ANSWERERS).exactOptional(),
      minutes: z.int().min(1).max(10_080).default(60),
    })
    .prefault({}),
  todos: z.boolean().default(false),
  rubric: z
    .strictObject({
      criteria: z.string().min(1).max(4_000),
      rounds: z.int().min(1).max(10).default(3),
      model: otherModel.exactOptional(),
    })
    .exactOptional(),
  limits: z
    .strictObject({
      // What a turn may cost in a large window; in a small one the window is the limit. More is summed up.
      messages: z.int().min(1).default(200),
      characters: z.int().min(1000).default(400_000),
      mediaTurns: z.int().min(0).default(3),
      // Without it `turns.timeoutSeconds` holds.
      turnSeconds: z.int().min(1).max(86_400).exactOptional(),
      // Without it our own table of models holds.
      contextTokens: z.int().min(1_000).exactOptional(),
    })
    .prefault({}),
});

export type AgentSettings = z.output<typeof agentSchema>;
