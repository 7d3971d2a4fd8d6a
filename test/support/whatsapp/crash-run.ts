import { rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Running } from "../perch-process.ts";
import { type WhatsAppWorld, whatsappWorld } from "../whatsapp-perch.ts";
import { answerTo, type Conversation, conversationsIn, tokensIn } from "./crash-talk.ts";
import { CrashRound, type RoundSize } from "./crash-round.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { Seen } from "./seen.ts";
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
  /** What people were told that answers nothing, such as that something could not be read. */
  readonly strays: readonly string[];
  /** Conversations whose answers are not in the order of what was said. */
  readonly disordered: readonly string[];
  /** Ids of what was sent, and how many of them went to the server more than once. */
  readonly ids: number;
  readonly resent: number;
  /** Of these, what had reached the phone before, which shows it once. */
  readonly arrivedAgain: number;
};

export type CrashSize = RoundSize & { readonly people: number; readonly groups: number };

const PRELOAD = join(import.meta.dirname, "crash-preload.mjs");
const PHOTO = join(import.meta.dirname, "../../fixtures/media/photo.jpg");

/** A linked Perch that is killed and started again, and people who talk with it meanwhile. */
export class CrashRun {
  readonly #world: WhatsAppWorld;
  readonly #size: CrashSize;
  readonly #device: LinkedDevice;
  readonly #conversations: readonly Conversation[];
  /** Whether answers are pictures with words below. */
  readonly #answers: { drawn: boolean };
  /** What was answered, and each end of the process. */
  readonly #happened = new Seen<string>();
  readonly #keepsRunning: Promise<void>;
  #perch: Running;
  #rounds = 0;
  #round: CrashRound | undefined;
  #disarm: () => void = () => {};
  #over = false;

  private constructor(parts: {
    readonly world: WhatsAppWorld;
    readonly size: CrashSize;
    readonly device: LinkedDevice;
    readonly conversations: readonly Conversation[];
    readonly answers: { drawn: boolean };
    readonly perch: Running;
  }) {
    this.#world = parts.world;
    this.#size = parts.size;
    this.#device = parts.device;
    this.#conversations = parts.conversations;
    this.#answers = parts.answers;
    this.#perch = parts.perch;
    this.#keepsRunning = this.#keepRunning();
  }

  static async start(size: CrashSize): Promise<CrashRun> {
    const answers = { drawn: false };
    const world = await whatsappWorld({
      ...size,
      says: ({ body }) => answerTo(body, answers.drawn),
      preload: [PRELOAD],
      assets: { "chart.jpg": await readFile(PHOTO) },
    });
    const perch = await world.start(environment(world));
    const device = await world.link(perch);
    const conversations = await conversationsIn(world, device);
    return new CrashRun({ world, size, device, conversations, answers, perch });
  }

  /** All talk, and the process ends at `point` as often as the size says; what people have seen at the end. */
  async at(point: CrashPoint): Promise<CrashCounts> {
    this.#rounds += 1;
    const from = this.#world.wa.sends.length;
    const round = new CrashRound(point, this.#size);
    this.#answers.drawn = point === "uploading";
    this.#round = round;
    this.#arm();
    this.#armServer();
    const tokens = await this.#talk(round);
    this.#round = undefined;
    this.#arm();
    this.#disarm();
    await this.#device.whenDrained();
    return { kills: round.kills, ...this.#counts(tokens, this.#world.wa.sends.slice(from)) };
  }

  async close(): Promise<void> {
    this.#over = true;
    await this.#perch.kill();
    await this.#keepsRunning;
    await this.#world.close();
  }

  async #keepRunning(): Promise<void> {
    for (;;) {
      const code = await this.#perch.ended;
      if (this.#over) return;
      if (code !== null) throw new Error(`perch ended by itself with ${code}:\n${this.#perch.output()}`);
      this.#round?.ended();
      this.#happened.add("end");
      this.#arm();
      this.#perch = this.#world.spawn(environment(this.#world));
      this.#armServer();
    }
  }

  /** Each says the next thing once the last was answered. Gives all that was said, by conversation. */
  async #talk(round: CrashRound): Promise<readonly (readonly string[])[]> {
    const { messages } = this.#size;
    const count = this.#conversations.length;
    const talks = this.#conversations.map(async (conversation, at) => {
      const each = Math.floor(messages / count) + (at < messages % count ? 1 : 0);
      const tokens: string[] = [];
      // One more at the end, whose answer comes after all that belongs to the others.
      for (let n = 1; n <= each + 1; n += 1) {
        const token = `m${this.#rounds * 100 + at}-${n}`;
        await this.#until(() => !round.holdsBack);
        tokens.push(token);
        round.said.add(token);
        this.#arm();
        await conversation.say(token, n);
        await conversation.answered(token);
        round.answered.add(token);
        this.#happened.add(token);
        this.#arm();
      }
      return tokens;
    });
    await Promise.race([Promise.all(talks), this.#keepsRunning]);
    return await Promise.all(talks);
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#happened.whenCount(this.#happened.items.length + 1);
  }

  /** Where the process itself knows the moment. */
  #arm(): void {
    const armed = armedIn(this.#world);
    if (this.#round?.mayEnd) writeFileSync(armed, this.#round.point);
    else rmSync(armed, { force: true });
  }

  /** Where the server knows it, once for each process. */
  #armServer(): void {
    this.#disarm();
    const round = this.#round;
    const perch = this.#perch;
    const { messages, uploads } = this.#world.wa.faults;
    const now = (): boolean => {
      if (!round?.mayEnd) return false;
      perch.signal("SIGKILL");
      return true;
    };
    const when = ({ attrs }: Sent["stanza"]): boolean => attrs["category"] !== "peer" && now();
    const until = (async () => void (await perch.ended))();
    if (round?.point === "uploading") this.#disarm = uploads.add({ kind: "stall" }, { when: now });
    if (round?.point === "sent") this.#disarm = messages.add({ kind: "cut", when: "before" }, { when });
    if (round?.point === "taken") this.#disarm = messages.add({ kind: "late", until }, { when });
  }

  #counts(said: readonly (readonly string[])[], sends: readonly Sent[]): Omit<CrashCounts, "kills"> {
    const lost: string[] = [];
    const twice: string[] = [];
    const strays: string[] = [];
    const disordered: string[] = [];
    let arrivedAgain = 0;
    for (const [at, tokens] of said.entries()) {
      const { viewer } = this.#conversations[at] ?? { viewer: undefined };
      const answers = (viewer?.inbox ?? []).map(({ id, message }) => ({ id, of: tokensIn(message) }));
      const others = (viewer?.inbox ?? []).filter(({ message }) => tokensIn(message).length === 0);
      strays.push(...others.map(({ message }) => JSON.stringify(message)));
      for (const token of tokens) {
        const ids = answers.filter(({ of }) => of.includes(token)).map(({ id }) => id);
        if (ids.length === 0) lost.push(token);
        if (ids.length > 1) twice.push(token);
        for (const id of ids) arrivedAgain += (viewer?.arrivals(id) ?? 0) - 1;
      }
      const order = answers.flatMap(({ of }) => of).filter((token) => tokens.includes(token));
      if (order.some((token, place) => tokens.indexOf(token) < tokens.indexOf(order[place - 1] ?? token)))
        disordered.push(order.join(" "));
    }
    const written = new Map<string, number>();
    for (const { id, stanza } of sends)
      if (stanza.attrs["category"] !== "peer") written.set(id, (written.get(id) ?? 0) + 1);
    return {
      messages: said.flat().length,
      lost,
      twice,
      strays,
      disordered,
      ids: written.size,
      resent: [...written.values()].filter((times) => times > 1).length,
      arrivedAgain,
    };
  }
}

function environment(world: WhatsAppWorld): Readonly<Record<string, string>> {
  return { PERCH_LOG: "warn", PERCH_CRASH_AT: armedIn(world) };
}

function armedIn({ folder }: WhatsAppWorld): string {
  return join(folder.path, "armed");
}
