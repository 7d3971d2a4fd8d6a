import { join } from "node:path";
import { pause } from "../../../src/core/clock.ts";
import type { Running } from "../perch-process.ts";
import { whatsappWorld, type WhatsAppWorld } from "../whatsapp-perch.ts";
import type { LinkedDevice } from "./linked-device.ts";
import type { Person } from "./person.ts";
import type { Shown } from "./world.ts";

/** What the process holds once everything was answered. */
export type Held = {
  /** Bytes. */
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  /** That the process has used so far. */
  readonly cpuMs: number;
  /** On the process, on the library's socket and on its events. */
  readonly listeners: { readonly process: number; readonly socket: number; readonly events: number };
  /** What keeps the process up, by Node's name for it. */
  readonly handles: Readonly<Record<string, number>>;
  /** At the server. */
  readonly connections: number;
};

export type SoakSize = {
  /** Before the process is looked at: caches fill, that of threads with 6,000 messages. */
  readonly warmUp: number;
  /** In all that follow, and between two looks. */
  readonly messages: number;
  readonly batch: number;
  /** By Perch's clock. Who is cut off ten times in ten minutes is left alone for ten more. */
  readonly betweenBreaksMs: number;
};

export type SoakCounts = {
  /** Messages of people that were answered, each with one of Perch's. */
  readonly answered: number;
  readonly reconnects: number;
  readonly seconds: number;
  readonly held: readonly Held[];
};

const PROBE = join(import.meta.dirname, "soak-probe.mjs");
const PEOPLE = 50;
const WORDS = "some words";

/**
 * People talk with Perch in batches; in the middle of each the connection breaks, and after it is looked what the process
 * holds.
 */
export async function soak(size: SoakSize): Promise<SoakCounts> {
  const world = await whatsappWorld({
    people: PEOPLE,
    groups: 0,
    preload: [PROBE],
    node: ["--expose-gc"],
  });
  try {
    const perch = await world.start({ PERCH_LOG: "error" });
    const device = await world.link(perch);
    await talk(world, device, size.warmUp, 0);
    const [logins, from, begun] = [world.wa.logins.length, world.wa.outbound.length, performance.now()];
    const held: Held[] = [];
    let brokeAt = 0;
    for (let said = 0; said < size.messages; said += size.batch) {
      await pause(world.clock, brokeAt + size.betweenBreaksMs - world.clock.now());
      await talk(world, device, size.batch, 1 + said / size.batch, () => {
        brokeAt = world.clock.now();
        world.wa.cut();
      });
      held.push({ ...(await heldBy(perch)), connections: world.wa.connections });
    }
    return {
      answered: world.wa.outbound.slice(from).filter(isAnswer).length,
      reconnects: world.wa.logins.length - logins,
      seconds: Math.round((performance.now() - begun) / 1_000),
      held,
    };
  } finally {
    await world.close();
  }
}

/** Each begins anew, and says the next thing once the last was answered; `halfway` something happens. */
async function talk(
  { people, wa }: WhatsAppWorld,
  device: LinkedDevice,
  messages: number,
  batch: number,
  halfway: () => void = () => {},
): Promise<void> {
  let answered = 0;
  const converse = async (person: Person): Promise<void> => {
    // A thread that only grows would be most of what is looked at.
    const before = person.inbox.length;
    await person.say(device, "/new");
    await wa.waitForMessages(before + 1, ({ person: reader }) => reader === person);
    for (let n = 0; n < messages / PEOPLE; n += 1) {
      const text = `${WORDS} ${batch}-${n}`;
      await person.say(device, text);
      await wa.waitForMessage(
        ({ person: reader, message }) => reader === person && message.extendedTextMessage?.text === text,
      );
      answered += 1;
      if (answered === Math.floor(messages / 2)) halfway();
    }
  };
  await Promise.all(people.map(converse));
  await device.whenDrained();
}

function isAnswer({ fromMe, message }: Shown): boolean {
  return !fromMe && (message.extendedTextMessage?.text?.startsWith(WORDS) ?? false);
}

async function heldBy(perch: Running): Promise<Omit<Held, "connections">> {
  const from = perch.output().length;
  perch.signal("SIGUSR2");
  const [, json = ""] = await perch.said(/HELD (.*)\n/, from);
  return JSON.parse(json) as Omit<Held, "connections">; // as the probe prints it
}
