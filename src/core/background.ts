/** A finished task never goes back: "success", "error" and "cancelled" stay. */
export type TaskStatus = "pending" | "running" | "success" | "error" | "cancelled";

/** Work that an agent has handed to a subagent and does not wait for. */
export type BackgroundTask = {
  /** Short, and known in its chat alone: "t3". */
  readonly id: string;
  /** The subagent that does it. */
  readonly agent: string;
  readonly prompt: string;
  readonly status: TaskStatus;
  readonly attempts: number;
  /** What it came to; "" until then. For "error" a sentence of ours. */
  readonly result: string;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly endedAt: number;
};

/** The background tasks of one chat, for the turn that is handed it. Every change is committed when it resolves. */
export type TaskDesk = {
  /** Undefined where too many are open in the chat. */
  start(task: { readonly agent: string; readonly prompt: string }): Promise<BackgroundTask | undefined>;
  find(id: string): Promise<BackgroundTask | undefined>;
  /** The newest, in the order in which they were begun. */
  list(): Promise<readonly BackgroundTask[]>;
  /** Adds to what it is to do: what runs is begun anew with it. Undefined where it has ended, or is not there. */
  update(id: string, addition: string): Promise<BackgroundTask | undefined>;
  /** Undefined where it has ended, or is not there. */
  cancel(id: string): Promise<BackgroundTask | undefined>;
};
