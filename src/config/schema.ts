import { z } from "zod";

import { COMMANDS } from "../core/commands.ts";
import { budget, budgetsSchema } from "./budget-schema.ts";
import { DURINGS } from "../core/rules.ts";
import { bucketSchema, clusterSchema, storeSchema, telemetrySchema } from "./operations-schema.ts";
import { chatGatherSchema, gatherSchema } from "./gather.ts";
import { chatUnaskedKeys, scheduleSchema, timeZone, unaskedKeys } from "./schedule-schema.ts";

// Every default of the configuration stands here, once. Messages read "what is wrong; what to do".

/** Names of channels and agents: they stand in rows, folders and thread ids. */
export const NAME = /^[a-z][a-z0-9-]{0,39}$/;
export const NAME_RULE = "a name is 1–40 lower-case letters, digits and hyphens, and begins with a letter";

/** Of a channel, an agent or a server of tools. */
export const name = z.string().regex(NAME, `${NAME_RULE}; Rename it`);

const idText = z
  .string()
  .regex(
    /^[^@\s]\S{0,127}$/,
    "an id has no spaces and is no @name, which can change hands; Write the platform's own id",
  );
const id = z
  .union([z.string(), z.int()], { error: 'an id is text or a whole number; Write it in quotes: "123456789"' })
  .transform(String)
  .pipe(idText);

const agent = name.describe("The agent that answers: a file config/agents/<name>.md.");
const when = z
  .enum(["addressed", "all", "none"])
  .describe(
    "Which messages of a group are answered: those addressed to the bot (the default), all, or none.",
  );

/** Commands that the agent never hears of. */
const OURS: ReadonlySet<string> = new Set([...COMMANDS, "start"]);

const context = z
  .int()
  .min(0)
  .max(100)
  .describe("How many messages of a group that were not for the agent it is shown when it is asked.");
const live = z
  .enum(["draft", "edit", "off"])
  .describe("How an answer that is being written is shown: as the platform's draft, by edits, or not.");

const queueLimit = z
  .int()
  .min(1)
  .max(1_000)
  .describe(
    "How many intents may wait in a chat; what comes then joins what waits, or is refused with a word.",
  );
const waitingSign = z
  .enum(["reaction", "line", "off"])
  .describe(
    "What whoever waits is shown: a reaction to their message, a line below it with a button, or nothing.",
  );
const during = z.enum(DURINGS);

const chat = z.strictObject({
  agent: agent.exactOptional(),
  allow: z
    .union([z.literal("everyone"), z.array(id)], {
      error: 'must be a list of ids, or everyone; Write allow: ["123456789"], or allow: everyone',
    })
    .exactOptional()
    .describe("Who may talk in this chat, besides those who may everywhere: ids, or everyone."),
  budget: budget.exactOptional().describe("What this chat may use; each thing goes before `budgets.chat`."),
  context: context.exactOptional(),
  live: live.exactOptional(),
  gather: chatGatherSchema.exactOptional(),
  during: during.exactOptional(),
  queueLimit: queueLimit.exactOptional(),
  ...chatUnaskedKeys,
  waitingSign: waitingSign.exactOptional(),
  when: when.exactOptional(),
  senders: z.record(idText, z.strictObject({ agent })).exactOptional(),
  topics: z
    .record(idText, z.strictObject({ agent: agent.exactOptional(), when: when.exactOptional() }))
    .exactOptional(),
});

/** What every channel has, whatever its kind. */
export const channelSchema = z.strictObject({
  kind: z.string().describe("What it connects to: a folder under channels/."),
  was: name.exactOptional().describe("An earlier name of this channel, so that its chats are kept."),
  owner: id.exactOptional().describe("The platform's id of the person who may do everything."),
  allow: z.array(id).default([]).describe("The platform's ids of the people who may talk here."),
  deny: z.array(id).default([]).describe("People who may not, whatever else is said."),
  open: z.boolean().default(false).describe("Everybody may talk here; needs `acknowledge`."),
  acknowledge: z.literal("allow-arbitrary-senders").exactOptional(),
  turnsPerHour: z
    .int()
    .min(1)
    .max(10_000)
    .default(20)
    .describe(
      "Turns that each person gets in an hour whom only `open` lets in, or `allow: everyone` of a chat.",
    ),
  budgets: z
    .strictObject({
      person: budget.exactOptional().describe("What each person may use here."),
      chat: budget.exactOptional().describe("What each chat may use here."),
    })
    .exactOptional()
    .describe("What may be used here; the owner is counted and not stopped."),
  strangers: z
    .enum(["silent", "polite", "pair"])
    .default("silent")
    .describe("What others get: nothing, one sentence, or a code that you can let them in with."),
  agent: agent.exactOptional(),
  names: z
    .array(z.string().regex(/\p{L}|\p{N}/u, "a name is words that can be said; Write one such as perch"))
    .default([])
    .describe(
      "What people call the agent: in a group, messages and voice notes with such a word in them are answered.",
    ),
  edits: z
    .strictObject({
      running: z.enum(["wait", "steer"]).default("wait"),
      answered: z.enum(["note", "rerun"]).default("note"),
    })
    .prefault({})
    .describe("What an edit leads to while its message is being answered, and afterwards."),
  reactions: z
    .enum(["ignore", "note", "turn"])
    .default("note")
    .describe(
      "What a reaction to the agent's messages leads to: nothing, a note with the next turn, or a turn.",
    ),
  context: context.default(0),
  away: z
    .strictObject({
      answerHours: z.number().min(0).max(8_760).default(24),
      digestHours: z.number().min(0).max(8_760).default(168),
    })
    .prefault({})
    .describe(
      "What was sent so long before it arrived is no longer answered as usual, but all of a chat in one turn; and at last only kept.",
    ),
  gather: gatherSchema
    .prefault({})
    .describe(
      "How long more of what somebody says may take to arrive after each message (seconds), and how much is answered at once.",
    ),
  during: during
    .default("steer")
    .describe(
      "What becomes of messages that come while a turn runs: the agent sees them at its next step (steer), they wait for a turn each (queue) or for one together (collect), or they end it (interrupt).",
    ),
  queueLimit: queueLimit.default(20),
  waitingSign: waitingSign.default("reaction"),
  pauseMinutes: z
    .number()
    .min(0)
    .max(10_080)
    .default(0)
    .describe("How long the agent keeps still in a chat after you have written there by hand."),
  ...unaskedKeys,
  live: live.exactOptional(),
  commands: z
    .record(
      z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,31}$/, "a command is 1–32 lower-case letters, digits and _; Rename it")
        .refine((word) => !OURS.has(word), "Perch itself answers to this command; Rename it"),
      z.string().min(1).max(256),
    )
    .default({})
    .describe("What people may ask the agent for by /name, and what each is for."),
  chats: z
    .record(idText, chat)
    .default({})
    .describe("Rules for single chats, by the platform's id of the chat."),
});

export const agentsSchema = z.strictObject({
  folder: z.string().min(1).default("agents").describe("Where the agents' files are, from here."),
  default: name.default("helper").describe("Who answers where a channel names no agent."),
  timeZone: timeZone
    .exactOptional()
    .describe("In which the agents tell the time, such as Europe/Berlin; this machine's without it."),
});

/** A server of tools: a program of this machine, or an address. */
const mcpServer = z
  .strictObject({
    command: z.string().min(1).exactOptional().describe("A program that speaks on its stdin and stdout."),
    args: z.array(z.string()).default([]),
    env: z
      .record(
        z.string().regex(/^[A-Za-z_]\w*$/, "a variable's name is letters, digits and _; Rename it"),
        z.string(),
      )
      .default({})
      .describe("All that the program finds in its environment, beside PATH."),
    url: z
      .url({ protocol: /^https?$/ })
      .exactOptional()
      .describe("A server that speaks over HTTP."),
    headers: z.record(z.string().min(1), z.string()).default({}).describe("Sent with each request."),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(600)
      .default(30)
      .describe("Connecting may take so long, and each call of one of its tools."),
  })
  .check(({ value, issues }) => {
    // Of a key that is misspelt more is known than that the right one is missing.
    if (issues.length > 0) return;
    const { command, url, args, env, headers } = value;
    const issue = (path: string[], message: string): void => {
      issues.push({ code: "custom", path, message, input: value });
    };
    if ((command === undefined) === (url === undefined))
      issue([], "a server of tools is a program or an address; Write command: or url:, and only one of them");
    else if (url !== undefined && args.length > 0)
      issue(["args"], "an address takes no arguments; Remove them");
    else if (url !== undefined && Object.keys(env).length > 0)
      issue(["env"], "an address has no environment; Remove it, or write headers:");
    else if (command !== undefined && Object.keys(headers).length > 0)
      issue(["headers"], "a program takes no headers; Remove them, or write env:");
  });

/**
 * The whole file but for the channels, whose keys depend on their kind.
 */
export const rootSchema = z.strictObject({
  channels: z.record(z.string().regex(NAME, `${NAME_RULE}; Rename it`), z.record(z.string(), z.unknown())),
  agents: agentsSchema.prefault({}),
  budgets: budgetsSchema.prefault({}).describe("What may be used; without any nothing is counted."),
  mcp: z
    .record(z.string().regex(NAME, `${NAME_RULE}; Rename it`), mcpServer)
    .default({})
    .describe("Servers of tools (Model Context Protocol); an agent has those that its own file names."),
  schedules: z
    .record(
      z.string().regex(NAME, `${NAME_RULE}; Rename it`),
      scheduleSchema.extend({ chat: id, topic: id.exactOptional() }),
    )
    .default({})
    .describe("What is done at a time though nobody writes, by names of yours."),
  data: z
    .strictObject({
      folder: z
        .string()
        .min(1)
        .default("../data")
        .describe("Where the database, media and workspaces are kept, from here."),
      bucket: bucketSchema.exactOptional(),
    })
    .prefault({}),
  store: storeSchema,
  cluster: clusterSchema.exactOptional(),
  telemetry: telemetrySchema,
  http: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1").describe("The address to listen on."),
      port: z.int().min(0).max(65_535).default(7373).describe("0 takes a free one."),
      password: z
        .string()
        .min(8)
        .exactOptional()
        .describe("Asked of everybody who opens a page; at least 8 characters."),
    })
    .prefault({}),
  turns: z
    .strictObject({
      concurrent: z.int().min(1).max(1000).default(16).describe("Turns that run at once."),
      graceSeconds: z
        .int()
        .min(0)
        .max(600)
        .default(10)
        .describe("How long running turns may go on after the process was told to end."),
      timeoutSeconds: z.int().min(1).max(86_400).default(600).describe("A turn that takes longer is ended."),
    })
    .prefault({}),
  media: z
    .strictObject({
      // The Bot API hands bots files of at most 20 MB; other platforms and a Bot API server of one's own hand out more.
      imageBytes: bytes(20_000_000),
      documentBytes: bytes(50_000_000),
      audioBytes: bytes(50_000_000),
      videoBytes: bytes(100_000_000),
      fetchSeconds: z.int().min(1).max(3600).default(120).describe("A download may take so long."),
      stallSeconds: z.int().min(1).max(600).default(20).describe("A download may be silent for so long."),
      workSeconds: z.int().min(1).max(3600).default(60).describe("Reading one file may take so long."),
      imagePixels: z
        .int()
        .min(1)
        .max(500_000_000)
        .default(50_000_000)
        .describe("Pixels that a picture may declare before anything of it is decoded."),
      pdfPages: z
        .int()
        .min(0)
        .max(100)
        .default(8)
        .describe("Pages of a scanned PDF that a model which sees pictures is shown."),
      audioSeconds: z
        .int()
        .min(1)
        .max(36_000)
        .default(1_800)
        .describe("The longest sound that is listened to."),
      uploadDays: z
        .int()
        .min(1)
        .max(3_650)
        .default(30)
        .describe("Days for which the original files that people sent are kept for the agent."),
    })
    .prefault({}),
  answers: z
    .strictObject({
      mediaHosts: z
        .array(
          z
            .string()
            .regex(
              /^[a-z0-9.-]+$/,
              "a host is a name such as files.example.org; Leave out https:// and paths",
            ),
        )
        .default([])
        .describe("Hosts whose pictures and files in an answer are fetched and attached; others stay links."),
      fileOverCharacters: z
        .int()
        .min(1_000)
        .exactOptional()
        .describe("An answer longer than this goes out as a .md file."),
    })
    .prefault({}),
});

export type RootSettings = z.output<typeof rootSchema>;
export type ChannelSettings = z.output<typeof channelSchema>;

function bytes(usual: number): z.ZodDefault<z.ZodInt> {
  return z.int().min(1).max(2_000_000_000).default(usual);
}
