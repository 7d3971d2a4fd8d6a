import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import telegram from "../../channels/telegram/index.ts";
import { createAgentRunner } from "../../src/agent/runner.ts";
import { ThreadSaver } from "../../src/agent/threads.ts";
import { rootSchema } from "../../src/config/schema.ts";
import type { AgentDefinition, AgentRunner, AgentTurn } from "../../src/core/agent.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import { type Clock, scaledClock } from "../../src/core/clock.ts";
import type { ChannelRules } from "../../src/core/rules.ts";
import { inChildren } from "../../src/media/children.ts";
import { programsOn } from "../../src/media/programs.ts";
import { studioIn } from "../../src/media/studio.ts";
import { channelState } from "../../src/store/channel-state.ts";
import { openJournal } from "../../src/store/journal.ts";
import { threadStore } from "../../src/store/threads.ts";
import { memoryLog } from "../support/channel-host.ts";
import { AGENT, OPEN_TO_ADA, testGateway, type TestGateway } from "../support/gateway.ts";
import { startAnthropic } from "../support/models/anthropic.ts";
import { type Asked, instructions, lastTurn } from "../support/models/asked.ts";
import { startOpenAi } from "../support/models/openai.ts";
import { startResponses } from "../support/models/responses.ts";
import type { Json, ModelServer, Reply } from "../support/models/server.ts";
import { startTelegram, type TelegramEmulator } from "../support/telegram/emulator.ts";
import type { Voice } from "../support/telegram/people.ts";
import {
  startTranscriber,
  type TranscriberReply,
  type TranscriberServer,
  type Upload,
} from "../support/transcriber.ts";
import type { Phone, SentFile, Shown } from "./phone.ts";
import { TelegramPhone } from "./telegram-phone.ts";
import { WhatsApp } from "./whatsapp-phone.ts";

export type Platform = "telegram" | "whatsapp";

/** Time runs faster: windows in which more is waited for are most of a case. */
const RATE = 5;
/** What is asked behind each case: the next message works, and all that came before it has been shown. */
const FOLLOW_UP = "Is that all?";
const LAST_WORDS = "That is all.";

export type Door = "chat" | "responses" | "anthropic";

/** LangChain asks models of some names through the Responses API. */
const MODELS: Readonly<Record<Door, { readonly provider: string; readonly name: string }>> = {
  chat: { provider: "openai", name: "local" },
  responses: { provider: "openai", name: "local-codex" },
  anthropic: { provider: "anthropic", name: "local" },
};

export type TalkOptions = {
  readonly platform: Platform;
  /** What the model answers; its question by default. */
  readonly says?: string | ((asked: Asked, body: Json) => Exclude<Reply, Function>);
  /** Of the agent, beside those that agents of tests have. */
  readonly limits?: Partial<AgentDefinition["limits"]>;
  /** What its transcriber answers; without this there is none. */
  readonly hears?: TranscriberReply;
  /** A folder that the agent may send files from. */
  readonly assets?: string;
  /** Through which door of a provider its model is asked. */
  readonly door?: Door;
};

/** One person with an agent of their own, in one chat. */
export type Talk = {
  readonly chat: string;
  /** All that a person can do on Telegram, if they are there. */
  readonly voice: Voice;
  /** Says a few words. */
  ask(words: string): Promise<void>;
  send(file: SentFile): Promise<void>;
  /** What the model was asked in turns of this person, without the one that `finish` adds. */
  readonly asked: readonly Asked[];
  /** The whole requests of those turns, what was said before included. */
  readonly requests: readonly Json[];
  /** What stood in those turns before it was shown to the model. */
  readonly turns: readonly AgentTurn[];
  /** What they were shown, in order. */
  shown(): readonly Shown[];
  readonly uploads: readonly Upload[];
  /** Resolves when the model has been asked so many times. */
  untilAsked(count: number): Promise<void>;
  /** Waits for a turn, says one thing more, and resolves when that is answered. */
  finish(): Promise<void>;
};

export type World = {
  readonly clock: Clock;
  readonly emulator: TelegramEmulator;
  readonly gateway: TestGateway;
  talk(options: TalkOptions): Promise<Talk>;
  close(): Promise<void>;
};

/**
 * The whole of Perch but its process: the real gateway, store, workshop and agents, as shipped; real connections to a
 * Telegram and, from the first talk there on, a WhatsApp on this machine; a model and a transcriber that record.
 */
export async function startWorld(clock: Clock = scaledClock(RATE, Date.now())): Promise<World> {
  const talks = new Map<string, LiveTalk>();
  const says: Reply = ({ body }) => talkOf(talks, body).answer(body);
  const doors: Readonly<Record<Door, ModelServer>> = {
    chat: await startOpenAi({ otherwise: says }),
    responses: await startResponses({ otherwise: says }),
    anthropic: await startAnthropic({ otherwise: says }),
  };
  const transcribers: TranscriberServer[] = [];
  const emulator = await startTelegram({ clock });
  const { media } = rootSchema.parse({ channels: {} });
  const folder = await mkdtemp(join(tmpdir(), "perch-cases-"));
  const workSeconds = media.workSeconds * RATE; // reading takes the machine's time, whatever the clock says
  const workshop = inChildren({
    entry: new URL("../../dist/src/media/worker.js", import.meta.url),
    blobsFolder: join(folder, "blobs"),
    workSeconds,
    path: process.env["PATH"],
    clock,
    log: memoryLog([]),
  });
  let agents: AgentRunner | undefined;
  const programs = await programsOn(process.env);
  const limits = { ...media, workSeconds, stallSeconds: media.stallSeconds * RATE };
  const test = await testGateway({
    clock,
    folder,
    workshop: () => workshop,
    programs,
    limits,
    runner: (database, blobs) => {
      const saver = async ({ limits: { mediaTurns } }: AgentDefinition) =>
        new ThreadSaver({ store: threadStore(database), blobs, mediaTurns });
      const runner = createAgentRunner({ blobs, saver, clock, log: memoryLog([]) });
      agents = {
        ...runner,
        run(turn, signal) {
          talks.get(turn.agent.name)?.turns.push(turn);
          return runner.run(turn, signal);
        },
      };
      return agents;
    },
  });
  const { blobs, database, host: shared } = test;
  const host = (id: Platform): ChannelHost => ({
    ...shared,
    id,
    accept: (events) => test.gateway.accept(id, events),
    state: channelState(database, id, { owner: "test", clock }),
    journal: () => openJournal(join(folder, `${id}.journal.db`)),
    studio: studioIn({ workshop, blobs, programs, limits, clock, log: shared.log }),
  });
  const settings = { token: emulator.token, apiRoot: emulator.apiRoot };
  await test.gateway.opened("telegram", await telegram.open(settings, host("telegram")));
  let whatsapp: Promise<WhatsApp> | undefined;
  const openWhatsApp = async (): Promise<WhatsApp> => {
    const opened = await WhatsApp.open(host("whatsapp"));
    await test.gateway.opened("whatsapp", opened.channel);
    return opened;
  };
  let people = 0;

  return {
    clock,
    emulator,
    gateway: test,
    async talk(options) {
      const number = (people += 1);
      const transcriber = options.hears === undefined ? undefined : await startTranscriber();
      if (transcriber) transcribers.push(transcriber);
      if (transcriber && options.hears !== undefined) transcriber.otherwise = options.hears;
      const name = `case-${number}`;
      const door = options.door ?? "chat";
      const agent: AgentDefinition = {
        ...AGENT,
        name,
        prompt: `You answer in <${name}>.`,
        files: true,
        limits: { ...AGENT.limits, ...options.limits },
        model: { ...MODELS[door], baseUrl: doors[door].url, apiKey: "none" },
        // What it cannot take as it is has to reach it as text.
        senses: { images: true, pdf: false, audio: false },
        ...(transcriber === undefined ? {} : { transcriber: transcriber.transcriber }),
        ...(options.assets === undefined ? {} : { assets: options.assets }),
      };
      const phone =
        options.platform === "telegram"
          ? new TelegramPhone(7_000_000_000 + number, emulator)
          : await (await (whatsapp ??= openWhatsApp())).phone(number);
      const talk = new LiveTalk(phone, agent, options, transcriber);
      talks.set(name, talk);
      test.gateway.use({
        channels: new Map(["telegram", "whatsapp"].map((id) => [id, rulesOf([...talks.values()])])),
        agents: new Map([...talks.values()].map((each) => [each.agent.name, each.agent])),
      });
      // Built before anybody waits for it: what is loaded then takes seconds of the machine's time.
      agents?.prepare(agent);
      await agents?.senses(agent);
      return talk;
    },
    async close() {
      await test.close();
      await (await whatsapp)?.close();
      workshop.close();
      const servers = [emulator, ...Object.values(doors), ...transcribers];
      await Promise.all(servers.map((server) => server.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function rulesOf(talks: readonly LiveTalk[]): ChannelRules {
  const chats = talks.map(({ chat, agent }) => [chat, { agent: agent.name }] as const);
  return { ...OPEN_TO_ADA, allow: chats.map(([chat]) => chat), chats: Object.fromEntries(chats) };
}

function talkOf(talks: ReadonlyMap<string, LiveTalk>, body: Json): LiveTalk {
  const [, name = ""] = /You answer in <([^>]*)>/.exec(instructions(body)) ?? [];
  const talk = talks.get(name);
  if (!talk) throw new Error("a request names no case");
  return talk;
}

class LiveTalk implements Talk {
  readonly asked: Asked[] = [];
  readonly requests: Json[] = [];
  readonly turns: AgentTurn[] = [];
  readonly agent: AgentDefinition;
  readonly #phone: Phone;
  readonly #options: TalkOptions;
  readonly #transcriber: TranscriberServer | undefined;
  readonly #looking = new Set<() => void>();

  constructor(
    phone: Phone,
    agent: AgentDefinition,
    options: TalkOptions,
    transcriber: TranscriberServer | undefined,
  ) {
    this.#phone = phone;
    this.agent = agent;
    this.#options = options;
    this.#transcriber = transcriber;
  }

  get chat(): string {
    return this.#phone.chat;
  }

  get voice(): Voice {
    if (this.#phone instanceof TelegramPhone) return this.#phone.voice;
    throw new Error("this person is not on Telegram");
  }

  get uploads(): readonly Upload[] {
    return this.#transcriber?.uploads ?? [];
  }

  answer(body: Json): Exclude<Reply, Function> {
    const asked = lastTurn(body);
    if (asked.texts.join("\n").includes(FOLLOW_UP)) return LAST_WORDS;
    this.asked.push(asked);
    this.requests.push(body);
    for (const look of this.#looking) look();
    const { says = "Seen." } = this.#options;
    return typeof says === "string" ? says : says(asked, body);
  }

  ask(words: string): Promise<void> {
    return this.#phone.write(words);
  }

  send(file: SentFile): Promise<void> {
    return this.#phone.send(file);
  }

  shown(): readonly Shown[] {
    return this.#phone.shown().filter(({ text }) => text !== LAST_WORDS);
  }

  async untilAsked(count: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (this.asked.length < count) return;
        this.#looking.delete(look);
        resolve();
      };
      this.#looking.add(look);
      look();
    });
  }

  async finish(): Promise<void> {
    await this.untilAsked(1);
    await this.ask(FOLLOW_UP);
    await this.#phone.untilShown(LAST_WORDS);
  }
}
