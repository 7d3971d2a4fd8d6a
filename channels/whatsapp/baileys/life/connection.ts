import type { ConnectionState as Update, WASocket } from "@whiskeysockets/baileys";
import type { Clock, Timer } from "../../../../src/core/clock.ts";
import { type Close, closeOf } from "./closes.ts";
import type { Hearing, Line } from "../line.ts";
import { rawOf } from "./raw-socket.ts";

/** How long a goodbye may take, on either side. */
const GOODBYE_MS = 2_000;
/** With these WhatsApp has said its last word; Baileys would still wait half a minute for a goodbye. */
const LAST_WORDS = ["CB:stream:error", "CB:failure", "CB:xmlstreamend", "CB:ib,,downgrade_webclient"];

export type Ended = {
  readonly close: Close;
  /** Milliseconds between login and end; 0 where there was no login. */
  readonly openMs: number;
  /** WhatsApp has said something at all. */
  readonly answered: boolean;
};

export type ConnectionParts = {
  readonly makeSocket: () => WASocket;
  readonly generation: number;
  readonly hearings: readonly Hearing[];
  readonly clock: Clock;
  /** The library has changed the account's credentials in place. */
  readonly changed: () => void;
  readonly opened: () => void;
};

/** One socket from its first packet to its last; nothing of it is left once it has ended. */
export class Connection {
  readonly line: Line;
  /** Never rejects. */
  readonly ended: Promise<Ended>;
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #opened: () => void;
  readonly #resolve: (ended: Ended) => void;
  #undo: (() => void)[] = [];
  #goodbye: Timer | undefined;
  #openedAt: number | undefined;
  #answered = false;
  #over = false;

  constructor({ makeSocket, generation, hearings, clock, changed, opened }: ConnectionParts) {
    this.#clock = clock;
    this.#changed = changed;
    this.#opened = opened;
    let resolve: ((ended: Ended) => void) | undefined;
    this.ended = new Promise((done) => (resolve = done));
    this.#resolve = (ended) => resolve?.(ended);
    const socket = makeSocket();
    this.line = { socket, generation };
    // The library has merged what is new when these are called, being its own first listener.
    socket.ev.on("creds.update", this.#changed);
    socket.ev.on("connection.update", this.#updated);
    socket.ws.on("frame", this.#heard);
    for (const event of LAST_WORDS) socket.ws.on(event, this.#lastWord);
    this.#undo = hearings.map((hear) => hear(this.line));
  }

  get isOpen(): boolean {
    return this.#openedAt !== undefined && !this.#over;
  }

  /** Stops hearing at once; resolves when the connection is gone, which takes at most two deadlines. Never logs out. */
  async end(): Promise<void> {
    if (!this.#over) {
      this.#deafen();
      rawOf(this.line.socket)?.close();
      this.#lastWord();
    }
    await this.ended;
  }

  #updated = ({ connection, lastDisconnect }: Partial<Update>): void => {
    if (connection === "open") {
      this.#openedAt = this.#clock.now();
      this.#opened();
    }
    if (connection === "close") this.#finish(closeOf(lastDisconnect?.error));
  };

  #heard = (): void => {
    this.#answered = true;
  };

  /** The library tells of the end when the WebSocket is closed, one way or the other. */
  #lastWord = (): void => {
    this.#goodbye ??= this.#clock.after(GOODBYE_MS, () => {
      rawOf(this.line.socket)?.terminate();
      this.#goodbye = this.#clock.after(GOODBYE_MS, () => this.#finish(closeOf(undefined)));
    });
  };

  #finish(close: Close): void {
    if (this.#over) return;
    this.#over = true;
    const { socket } = this.line;
    const openMs = this.#openedAt === undefined ? 0 : this.#clock.now() - this.#openedAt;
    this.#deafen();
    this.#goodbye?.cancel();
    rawOf(socket)?.terminate();
    socket.ev.off("creds.update", this.#changed);
    socket.ev.off("connection.update", this.#updated);
    socket.ws.off("frame", this.#heard);
    for (const event of LAST_WORDS) socket.ws.off(event, this.#lastWord);
    // Questions that nobody will answer any more would wait for their deadline, and hold the account's keys until then.
    socket.ws.emit("error", new Error("the connection has ended"));
    this.#resolve({ close, openMs, answered: this.#answered });
  }

  #deafen(): void {
    for (const undo of this.#undo.splice(0).toReversed()) undo();
  }
}
