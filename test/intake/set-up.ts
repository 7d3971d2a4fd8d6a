import type { AgentDefinition } from "../../src/core/agent.ts";
import type { Choice, PieceBody } from "../../src/core/channel.ts";
import type { ConnectionShown } from "../../src/core/standing.ts";
import type { InboundEvent, MessageEvent, Place } from "../../src/core/events.ts";
import { plainText } from "../../src/core/rendered.ts";
import type { ChannelRules, Rules } from "../../src/core/rules.ts";
import { Intake } from "../../src/intake/intake.ts";
import type { Database } from "../../src/store/database.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { AGENT, OPEN_TO_ADA } from "../support/gateway.ts";

/** A piece as it was planned. */
export type Planned = {
  readonly to: string;
  readonly text: string;
  readonly choices?: readonly Choice[];
  readonly replaces?: string;
};

type Extra = Partial<MessageEvent> & { readonly channel?: string; readonly part?: true };

export type Taking = {
  readonly database: Database;
  readonly clock: ManualClock;
  readonly logged: LoggedLine[];
  readonly intake: Intake;
  readonly rules: (channels: Readonly<Record<string, Partial<ChannelRules>>>) => void;
  /** Where the connections stand, as the owner is told. */
  readonly standings: ConnectionShown[];
  /** What follows the commits, by name and chat. */
  readonly effects: string[];
  /** Somebody says something in private, whole unless it is a part; the chat is called after them. */
  say(person: string, text: string, extra?: Extra): Promise<void>;
  accept(event: InboundEvent, channel?: string): Promise<string | undefined>;
  /** Somebody presses a button; gives what they are shown at once. */
  press(
    person: string,
    key: string,
    extra?: { id?: string; ref?: string; place?: Place },
  ): Promise<string | undefined>;
  /** All that was planned to be sent, in order. */
  planned(): Promise<readonly Planned[]>;
  /** What became of all that was taken in, in order: its state, and why. */
  fates(): Promise<readonly string[]>;
};

/** Intake alone on a real database: what it decides and plans, without turns and without sending. */
export function takingIn(
  database: Database,
  rules: Partial<ChannelRules> = {},
  agent: AgentDefinition = AGENT,
): Taking {
  const clock = manualClock();
  const logged: LoggedLine[] = [];
  const effects: string[] = [];
  const standings: ConnectionShown[] = [];
  let count = 0;
  const intake = new Intake({
    database,
    clock,
    log: memoryLog(logged),
    rules: rulesOf({ toy: rules }, agent),
    words: (_channel, text): readonly PieceBody[] => [{ kind: "text", rendered: plainText(text) }],
    connections: () => [...standings],
    effects: {
      fetch: () => {},
      turn: (chat) => void effects.push(`turn ${chat}`),
      deliver: (chat) => void effects.push(`deliver ${chat}`),
      stop: (chat) => void effects.push(`stop ${chat}`),
      forget: (chat) => void effects.push(`forget ${chat}`),
      resumed: (chat) => void effects.push(`resumed ${chat}`),
      interrupt: (chat) => void effects.push(`interrupt ${chat}`),
      sign: ({ ref, as }) => void effects.push(`sign ${ref} ${as}`),
      unsign: (_to, refs) => void effects.push(`unsign ${refs.join()}`),
      correct: () => {},
    },
  });
  const nextId = (): string => `e${(count += 1)}`;
  const accept = async (event: InboundEvent, channel = "toy"): Promise<string | undefined> =>
    (await intake.accept(channel, [event])).get(event.id);
  return {
    database,
    clock,
    logged,
    intake,
    effects,
    standings,
    rules: (channels) => intake.use(rulesOf(channels, agent)),
    accept,
    async say(person, text, { channel, part, ...extra } = {}) {
      const id = nextId();
      await accept(
        {
          type: "message",
          id,
          ref: id,
          place: { chat: person, kind: "private" },
          from: { id: person, name: person },
          sentAt: "2026-01-01T00:00:00.000Z",
          content: [{ type: "text", text }],
          addressed: true,
          ...(part ? {} : { whole: true }),
          ...extra,
        },
        channel,
      );
    },
    press(person, key, { id = nextId(), ref = "q1", place } = {}) {
      const where: Place = place ?? { chat: person, kind: "private" };
      const from = { id: person, name: person };
      return accept({ type: "choice", id, place: where, from, sentAt: "", key, ref });
    },
    async planned() {
      const rows = await database.db
        .selectFrom("piece")
        .select(["to_chat", "body", "replaces"])
        .orderBy("id")
        .execute();
      return rows.map(({ to_chat: to, body, replaces }) => {
        const { rendered, choices } = JSON.parse(body) as Extract<PieceBody, { kind: "text" }>;
        return {
          to,
          text: rendered.text,
          ...(choices ? { choices } : {}),
          ...(replaces === "" ? {} : { replaces }),
        };
      });
    },
    async fates() {
      const rows = await database.db.selectFrom("inbox").select(["state", "why"]).orderBy("id").execute();
      return rows.map(({ state, why }) => (why === "" ? state : `${state}: ${why}`));
    },
  };
}

function rulesOf(channels: Readonly<Record<string, Partial<ChannelRules>>>, agent: AgentDefinition): Rules {
  return {
    channels: new Map(
      Object.entries(channels).map(([id, of]) => [id, { ...OPEN_TO_ADA, allow: ["ada"], ...of }] as const),
    ),
    agents: new Map([[agent.name, agent]]),
  };
}
