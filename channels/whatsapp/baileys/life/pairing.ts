import type { BinaryNode, ConnectionState as Update } from "@whiskeysockets/baileys";
import type { PairingStep, PairingWish } from "../../../../src/core/channel.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import { type Close, meaningOf } from "./closes.ts";
import type { Hearing } from "../line.ts";

const FIRST_QR_MS = 60_000;
const NEXT_QR_MS = 20_000;
/** Six codes are shown one after another, and one that is typed holds for as long. */
const ALL_QR_MS = FIRST_QR_MS + 5 * NEXT_QR_MS;
const PHONE = /^\+[1-9]\d{6,14}$/;

/** One attempt to link an account, as the person who looks on is shown it. It ends linked, failed or called off. */
export class Pairing implements AsyncIterable<PairingStep> {
  readonly #clock: Clock;
  readonly #phone: string | undefined;
  readonly #ended = new AbortController();
  readonly #steps: PairingStep[] = [];
  #wake: (() => void) | undefined;
  #agreed = false;
  #shown = 0;
  #refusal: string | undefined;
  #code: string | undefined;
  #codeUntil = 0;
  #codeNeeds = 2;
  /** Told until when what is shown holds. */
  onShown: (until: number) => void = () => {};

  constructor({ phone }: PairingWish, signal: AbortSignal, clock: Clock) {
    this.#clock = clock;
    this.#phone = phone;
    const callOff = (): void => this.#end();
    signal.addEventListener("abort", callOff, { once: true });
    this.ended.addEventListener("abort", () => signal.removeEventListener("abort", callOff), { once: true });
    if (signal.aborted) callOff();
    if (phone !== undefined && !PHONE.test(phone))
      this.failed("that is no phone number with its country; write it as +15551234567");
  }

  /** Aborts when nobody waits for it any more. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** The phone has agreed: from here on the account is linked, whether anybody looks on or not. */
  get agreed(): boolean {
    return this.#agreed;
  }

  /** Shows what the phone is to be shown, of one connection. */
  hear: Hearing = ({ socket }) => {
    const updated = ({ qr, isNewLogin }: Partial<Update>): void => {
      if (qr !== undefined) this.#offer(qr, (digits) => socket.requestPairingCode(digits));
      if (isNewLogin === true) this.#agree();
    };
    // Before an account is linked nothing else is asked for that could be refused.
    const refused = ({ content }: BinaryNode): void => {
      const [error] = Array.isArray(content) ? content.filter(({ tag }) => tag === "error") : [];
      if (this.#phone !== undefined && !this.#agreed) this.#refuse(Number(error?.attrs["code"]));
    };
    const taken = (): void => this.#showCode();
    socket.ev.on("connection.update", updated);
    socket.ws.on("CB:iq,type:error", refused);
    socket.ws.on("CB:iq,type:result,link_code_companion_reg", taken);
    return () => {
      socket.ev.off("connection.update", updated);
      socket.ws.off("CB:iq,type:error", refused);
      socket.ws.off("CB:iq,type:result,link_code_companion_reg", taken);
    };
  };

  linked(): void {
    this.#step({ kind: "linked" });
    this.#end();
  }

  /** The connection ended before the phone agreed. */
  closed(close: Close): void {
    this.failed(this.#refusal ?? (close.refsUsedUp ? this.#notTaken() : meaningOf(close).why));
  }

  failed(why: string): void {
    this.#step({ kind: "failed", why });
    this.#end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PairingStep> {
    try {
      for (;;) {
        const step = this.#steps.shift();
        if (step !== undefined) yield step;
        else if (this.ended.aborted) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#end();
    }
  }

  #offer(text: string, requestCode: (digits: string) => Promise<string>): void {
    const first = this.#shown === 0;
    this.#shown += 1;
    if (this.#phone === undefined) {
      const until = this.#clock.now() + (first ? FIRST_QR_MS : NEXT_QR_MS);
      this.#step({ kind: "qr", text, until });
      this.onShown(until);
    } else if (first) {
      this.#codeUntil = this.#clock.now() + ALL_QR_MS;
      void this.#ask(requestCode(this.#phone.slice(1)));
    }
  }

  async #ask(asking: Promise<string>): Promise<void> {
    try {
      this.#code = await asking;
      this.#showCode();
    } catch {
      this.#refuse(undefined);
    }
  }

  /** Once for the code, once for WhatsApp's word that it takes it for this number, in either order. */
  #showCode(): void {
    this.#codeNeeds -= 1;
    if (this.#codeNeeds > 0 || this.#code === undefined) return;
    this.#step({ kind: "code", code: this.#code, until: this.#codeUntil });
    this.onShown(this.#codeUntil);
  }

  #agree(): void {
    this.#agreed = true;
    this.#step({ kind: "agreed" });
  }

  #refuse(code: number | undefined): void {
    this.#refusal =
      code === 429
        ? "WhatsApp gives no more codes for now (429); wait an hour, or scan a QR code"
        : `WhatsApp gives no code for this phone number${code ? ` (${code})` : ""}; see that it is the account's own, or scan a QR code`;
    this.failed(this.#refusal);
  }

  #notTaken(): string {
    return this.#phone === undefined
      ? "nobody scanned a code while they held; begin again when the phone is at hand"
      : "the code was not typed while it held, or the number is not that phone's; begin again";
  }

  #step(step: PairingStep): void {
    if (this.ended.aborted) return;
    this.#steps.push(step);
    this.#wake?.();
  }

  #end(): void {
    this.#ended.abort();
    this.#wake?.();
  }
}
