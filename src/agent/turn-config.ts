import type { AgentTurn, Behind } from "../core/agent.ts";

/** What the middleware and tools of a run are told of its turn, under one key of the run's `configurable`. */
export type TurnConfig = {
  /** Absolute path of the chat's folder. */
  readonly folder: string;
  /** Names the turn in what is kept of it. */
  readonly messageId?: string;
  /** Of work without a thread. */
  readonly behind?: Behind;
} & Partial<
  Pick<
    AgentTurn,
    | "thread"
    | "corrections"
    | "steered"
    | "local"
    | "recalled"
    | "language"
    | "endsAt"
    | "onStep"
    | "onUse"
    | "allowance"
    | "effects"
    | "approvals"
    | "approved"
    | "tasks"
    | "schedules"
    | "look"
  >
>;

/** Objects stay in the run; LangChain copies plain values of `configurable` into what is traced and stored. */
export function withTurn(configurable: object, turn: TurnConfig): object {
  return { ...configurable, turn };
}

export function turnOf(configurable: Readonly<Record<string, unknown>> | undefined): TurnConfig | undefined {
  return configurable?.["turn"] as TurnConfig | undefined; // written by withTurn alone
}
