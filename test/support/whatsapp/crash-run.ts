import { rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Running } from "../perch-process.ts";
import { type WhatsAppWorld, whatsappWorld } from "../whatsapp-perch.ts";
import { type Conversation, conversationsIn, tokensIn } from "./crash-talk.ts";
import type { LinkedDevice } from "./linked-device.ts";

/**
 * Where the process ends. Of what people send: it is decrypted, and nothing of that is on the disk; its ratchet has turned,
 * and no receipt is out; the receipt is out, and nobody has heard of it; the inbox is committed, and it stands in the
 * journal still. Of what they are sent: the file is half way up; the server has got the message, and does not take it; has
 * taken it, and the acknowledgement is not out; that has come; that is kept, and the piece is still being sent.
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
  /** Answers that reached a phone once more under the id that it had shown already. */
  readonly arrivedAgain: number;
  /** Of the ids of what was sent: how many there are, and which went to the server more than once, how often. */
  readonly ids: number;
  readonly resent: Readonly<Record<string, number>>;
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

/** A linked Perch that is killed and started again, and people who talk with it meanwhile. */
export class CrashRun {
  readonly #world: WhatsAppWorld;
  readonly #device: LinkedDevice;
  readonly #conversations: readonly Conversation[];
  readonly #size: CrashSize;
  readonly #armed: string;
  readonly #lookers = new Set<() => void>();
  readonly #answered = new Set<string>();
  readonly #keepsRunning: Promise<void>;
  #perch: Running;
  #point: CrashPoint | undefined;
  #kills = 0;
  /** What must be answered before the next kill. */
  #first: readonly string[] = [];
  #said: string[] = [];
  #round = 0;
  #over = false;

  static async start(size: CrashSize): Promise<CrashRun> {
    let drawn = false;
    const world = await whatsappWorld({
      ...size,
      says: ({ body }) => answerTo(body, drawn),
      preload: [PRELOAD],
      assets: { "chart.jpg": await readFile(PHOTO) },
    });
    const armed = join(world.folder.path, "armed");
    const perch = await world.start(environment(armed));
    const device = await world.link(perch);
    const run = new CrashRun(world, device, perch, size, armed);
    run.#onPoint = (point) => (drawn = point === "uploading");
    return run;
  }

  #onPoint: (point: CrashPoint) => void = () => {};

  private constructor(
    world: WhatsAppWorld,
    device: LinkedDevice,
    perch: Running,
    size: CrashSize,
    armed: string,
  ) {
    this.#world = world;
    this.#device = device;
    this.#perch = perch;
    this.#size = size;
    this.#armed = armed;
    this.#conversations = conversationsIn(world, device);
    this.#keepsRunning = this.#keepRunning();
  }

  async at(point: CrashPoint): Promise<CrashCounts> {
    const { wa } = this.#world;
    const { messages } = this.#size;
    const before = wa.sends.length;
    const seen = wa.outbound.length;
    this.#round += 1;
    [this.#point, this.#kills, this.#first, this.#said] = [point, 0, [], []];
    this.#onPoint(point);
    this.#arm();
    const each = Math.floor(messages / this.#conversations.length);
    const more = messages % this.#conversations.length;
    const talks = this.#conversations.map((conversation, n) =>
      this.#converse(conversation, each + (n < more ? 1 : 0)),
    );
    await Promise.race([Promise.all(talks), this.#keepsRunning]);
    this.#point = undefined;
    this.#arm();
    await this.#device.whenDrained();
    return this.#counts(before, seen);
  }

  async close(): Promise<void> {
    this.#over = true;
    await this.#perch.kill();
    await this.#keepsRunning;
    await this.#world.close();
  }
}
