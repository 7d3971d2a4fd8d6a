import { rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Running } from "../perch-process.ts";
import { type WhatsAppWorld, whatsappWorld } from "../whatsapp-perch.ts";
import { answerTo, type Conversation, conversationsIn, tokensIn } from "./crash-talk.ts";
import type { LinkedDevice } from "./linked-device.ts";
import type { Sent } from "./world.ts";

/**
 * Where the process ends. Of what people send: it is decrypted, and nothing of that is on the disk; its ratchet has turned,
 * and no receipt is out; the receipt is out, and nobody has heard of it; the inbox is committed, and it stands in the
 * journal still. Of what they are sent: a file is on its way up; the server has got the message, and does not take it; has
 * taken it, and the acknowledgement is not out; that has come; that is kept, and the piece is not known as sent.
 */
export const CRASH_POINTS = [
  "decrypted",
  "turned",
  "told",
  "committed",
  "uploading",
  "sent",
  "taken",
  "acknowledged",
  "kept",
] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

export type CrashCounts = {
  readonly messages: number;
  readonly kills: number;
  /** Messages that no answer speaks of. */
  readonly lost: readonly string[];
  /** Messages that people see two answers to. */
  readonly twice: readonly string[];
  /** Conversations whose answers are not in the order of what was said. */
  readonly disordered: readonly string[];
  /** Ids of what was sent, and how many of them went to the server more than once. */
  readonly ids: number;
  readonly resent: number;
  /** Of these, what had reached the phone before, which shows it once. */
  readonly arrivedAgain: number;
};

export type CrashSize = {
  readonly people: number;
  readonly groups: number;
  /** In all conversations together, for each point. */
  readonly messages: number;
  readonly kills: number;
};

const PRELOAD = join(import.meta.dirname, "crash-preload.mjs");
const PHOTO = join(import.meta.dirname, "../../fixtures/media/photo.jpg");

/** One stretch of talk with kills at one point in it. */
class Round {
  readonly number: number;
  readonly point: CrashPoint;
  readonly said: string[] = [];
  readonly answered = new Set<string>();
  kills = 0;
  /** What must be answered before the next kill. */
  first: readonly string[] = [];
  readonly #size: CrashSize;

  constructor(number: number, point: CrashPoint, size: CrashSize) {
    this.number = number;
    this.point = point;
    this.#size = size;
  }

  /**
   * What was in flight at two crashes is run alone and would rightly be set aside at a third. So the process ends twice in a
   * row, and then again only when everything that was said before has been answered; which is spread over the round.
   */
  get mayEnd(): boolean {
    const { kills, messages } = this.#size;
    const pairs = Math.floor(this.kills / 2) / Math.ceil(kills / 2);
    return this.kills < kills && this.#isThrough && this.said.length >= pairs * messages;
  }

  /** Something must be left to say for the kills that are still to come. */
  get holdsBack(): boolean {
    return this.kills < this.#size.kills && !this.#isThrough;
  }

  ended(): void {
    this.kills += 1;
    if (this.kills % 2 === 0) this.first = [...this.said];
  }

  get #isThrough(): boolean {
    return this.first.every((token) => this.answered.has(token));
  }
}

/** A linked Perch that is killed and started again, and people who talk with it meanwhile. */
export class CrashRun {
  readonly #world: WhatsAppWorld;
  readonly #size: CrashSize;
  readonly #armed: string;
  readonly #running: { perch: Running; drawn: boolean; over: boolean };
  #rounds = 0;
  #round: Round | undefined;
  #disarm: () => void = () => {};
  #changed = new Set<() => void>();

  private constructor(
    world: WhatsAppWorld,
    size: CrashSize,
    armed: string,
  ) {
    this.#world = world;
    this.#size = size;
    this.#armed = armed;
  }
}
