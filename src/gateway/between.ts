import type { Channel } from "../core/channel.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Wire } from "../core/wire.ts";
import { draftOf } from "../reply/draft.ts";
import type { Correction } from "../store/asides.ts";
import type { Tasks } from "../turns/tasks.ts";
import type { Turns } from "../turns/turns.ts";
import { showSigns } from "./elsewhere.ts";

/** What has to reach whoever works on a chat or a task, in whatever process that is. */
export type Told =
  | { readonly is: "stop" | "interrupt" | "forget" | "over"; readonly chat: ChatId }
  | { readonly is: "correct"; readonly chat: ChatId; readonly correction: Correction }
  /** A background task was changed, or taken back. */
  | { readonly is: "task"; readonly row: number };

const TOPIC = "told";

/**
 * Tells this process, and others where there are any; and shows what their turns have to show. Each of these is a fact as
 * well, or worth nothing later, so that what is lost on the way is only late.
 */
export class Between {
  readonly #wire: Wire | undefined;
  readonly #atWork: () => { readonly turns: Turns; readonly tasks: Tasks };
  readonly #ends: readonly (() => void)[];

  constructor(
    wire: Wire | undefined,
    here: {
      readonly atWork: () => { readonly turns: Turns; readonly tasks: Tasks };
      readonly channel: (id: ChannelId) => Channel | undefined;
      readonly closing: AbortSignal;
    },
  ) {
    this.#wire = wire;
    this.#atWork = here.atWork;
    this.#ends = wire
      ? [
          wire.subscribe(TOPIC, (message) => this.#heard(message as unknown as Told)), // only `tell` sends here
          showSigns(wire, { channel: here.channel, draft: draftOf, closing: here.closing }),
        ]
      : [];
  }

  tell(told: Told): void {
    // A wire hands it to the subscribers of this process as well.
    if (this.#wire) this.#wire.publish(TOPIC, told);
    else this.#heard(told);
  }

  close(): void {
    for (const end of this.#ends) end();
  }

  #heard(told: Told): void {
    const { turns, tasks } = this.#atWork();
    switch (told.is) {
      case "stop":
        return void turns.stop(told.chat);
      case "interrupt":
        return void turns.interrupt(told.chat);
      case "correct":
        return turns.correct(told.chat, told.correction);
      case "over":
        return tasks.turnEnded(told.chat);
      case "task":
        return tasks.end(told.row);
      case "forget":
        turns.letGo(told.chat);
        return tasks.drop(told.chat);
    }
  }
}
