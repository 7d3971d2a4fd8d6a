import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentDefinition, AgentTurn } from "../../../src/core/agent.ts";
import { type Clock, scaledClock } from "../../../src/core/clock.ts";
import type { ChannelRules } from "../../../src/core/rules.ts";
import { channelState } from "../../../src/store/channel-state.ts";
import { openJournal } from "../../../src/store/journal.ts";
import { AGENT, OPEN_TO_ADA, testGateway, type TestGateway, textOf } from "../gateway.ts";
import { type Linked, openLinked } from "./linked.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "./loopback.ts";
import type { Person } from "./person.ts";
import { Seen } from "./seen.ts";

/** Windows and waits are most of a test. */
const RATE = 10;
const CHANNEL = "whatsapp";
/** People are numbered from here on. */
const FIRST = 100;

export type LinkedGatewayOptions = {
  /** Of an earlier one, to go on as after a restart. */
  readonly before?: LinkedGateway;
  readonly rules?: Partial<ChannelRules>;
  readonly agent?: Partial<AgentDefinition>;
  readonly selfChat?: boolean;
  /** How many times as fast as real time it runs. */
  readonly rate?: number;
  /** What the agent answers; "heard: " and what it was told by default. */
  readonly answer?: (turn: AgentTurn) => Promise<string> | string;
};

/** A gateway with an account of a WhatsApp on this machine, over the library's own socket, and an agent that the test plays. */
export class LinkedGateway {
  readonly wa: LoopbackWhatsApp;
  readonly owner: Person;
  readonly clock: Clock;
  readonly folder: string;
  readonly gateway: TestGateway;
  readonly turns: Seen<AgentTurn>;
  readonly linked: Linked;
  readonly #options: LinkedGatewayOptions;
  #people: number;

  private constructor(
    parts: Pick<LinkedGateway, "wa" | "owner" | "clock" | "folder" | "gateway" | "turns" | "linked">,
    options: LinkedGatewayOptions,
  ) {
    ({ wa: this.wa, owner: this.owner, clock: this.clock, folder: this.folder } = parts);
    ({ gateway: this.gateway, turns: this.turns, linked: this.linked } = parts);
    this.#options = options;
    this.#people = options.before?.people ?? 0;
  }

  static async open(options: LinkedGatewayOptions = {}): Promise<LinkedGateway> {
    const { before, answer, agent, selfChat } = options;
    const wa = before?.wa ?? (await startWhatsApp());
    if (!before) wa.trust();
    const owner =
      before?.owner ?? (await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" }));
    const clock = before?.clock ?? scaledClock(options.rate ?? RATE, Date.now());
    const folder = before?.folder ?? (await mkdtemp(join(tmpdir(), "perch-linked-")));
    const turns = new Seen<AgentTurn>();
    const gateway = await testGateway({
      clock,
      folder,
      agents: [{ ...AGENT, ...agent }],
      answer(turn) {
        turns.add(turn);
        return answer ? answer(turn) : `heard: ${textOf(turn)}`;
      },
    });
    // What has waited comes as soon as the connection is open.
    admit(gateway, options, before?.people ?? 0);
    const linked = await openLinked(
      wa,
      owner,
      {
        ...gateway.host,
        id: CHANNEL,
        accept: (events) => gateway.gateway.accept(CHANNEL, events),
        state: channelState(gateway.database, CHANNEL, { owner: "test", clock }),
        journal: () => openJournal(join(folder, "journal.db")),
      },
      selfChat === undefined ? {} : { selfChat },
    );
    const opened = new LinkedGateway({ wa, owner, clock, folder, gateway, turns, linked }, options);
    await gateway.gateway.opened(CHANNEL, linked.channel);
    return opened;
  }

  /** How many may talk with the agent. */
  get people(): number {
    return this.#people;
  }

  /** Somebody else who may talk with the agent. */
  async person(): Promise<Person> {
    this.#people += 1;
    const number = FIRST + this.#people;
    admit(this.gateway, this.#options, this.#people);
    return await this.wa.addPerson({
      phone: `15550000${number}`,
      lid: `90000000000${number}`,
      name: `Person ${number}`,
    });
  }

  /** Who it is in rules, and their chat. */
  keyOf({ lid }: Person): string {
    return `lid:${lid.split("@")[0]}`;
  }

  /** Resolves when the agent is asked with such words. */
  async asked(words: string): Promise<AgentTurn> {
    return await this.turns.when((turn) => textOf(turn).includes(words));
  }

  /** Resolves when somebody's phone shows this text. */
  async shown(person: Person, text: string): Promise<void> {
    await this.wa.waitForMessage((shown) => shown.person === person && wordsOn(shown.message) === text);
  }

  /** The texts of Perch on somebody's phone, without its reactions. */
  textsOn({ inbox }: Person): readonly string[] {
    return inbox.flatMap(({ message }) => (message.reactionMessage ? [] : wordsOn(message)));
  }

  /** The gateway alone ends, as before a restart. */
  async stop(): Promise<void> {
    await this.gateway.close();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.wa.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The owner and so many others. */
function admit({ gateway }: TestGateway, { rules, agent }: LinkedGatewayOptions, people: number): void {
  const others = Array.from({ length: people }, (_, at) => `lid:90000000000${FIRST + 1 + at}`);
  const allow = ["lid:90000000000001", ...others];
  gateway.use({
    channels: new Map([[CHANNEL, { ...OPEN_TO_ADA, ...rules, allow }]]),
    agents: new Map([[AGENT.name, { ...AGENT, ...agent }]]),
  });
}

function wordsOn({ extendedTextMessage, conversation }: Person["inbox"][number]["message"]): string {
  return extendedTextMessage?.text ?? conversation ?? "";
}
