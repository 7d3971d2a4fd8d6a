import { expect, it } from "vitest";
import type { MessageEvent, Place } from "../../src/core/events.ts";
import { random as seeded } from "../reply/documents.ts";
import { manualClock } from "../support/clock.ts";
import { testGateway, textOf } from "../support/gateway.ts";

const STEPS = 40;
const PEOPLE = ["ada", "bob"].map((id) => ({ from: { id, name: id } }));
const HERE: Place = { chat: "c1", kind: "private" };
const GROUP: Place = { chat: "g1", kind: "group" };

// Whatever people say and edit, and whenever turns begin, take a step and end.
it.each(Array.from({ length: 30 }, (_, seed) => seed))(
  "the agent is told once what each message says at last (%i)",
  async (seed) => {
    const random = seeded(seed);
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T; // none is empty
    const clock = manualClock();
    const told: string[] = [];
    const turns: (() => void)[] = [];
    const at = await testGateway({
      clock,
      rules: {
        context: 5,
        edits: { running: pick(["steer", "wait"]), answered: pick(["note", "rerun"]) },
      },
      runner: () => ({
        prepare: () => {},
        senses: async () => ({ images: true, pdf: true, audio: false }),
        run: (turn) =>
          new Promise((resolve) => {
            told.push(textOf(turn));
            turns.push(() => {
              const steers = random() < 0.5 ? (turn.corrections?.() ?? []) : [];
              told.push(...steers.map(({ text }) => text));
              const corrected = steers.map(({ id }) => id);
              resolve({ markdown: `answer ${told.length}`, replayed: false, refused: [], corrected });
            });
          }),
      }),
    });
    const place = pick([HERE, GROUP]);
    const said: { readonly message: MessageEvent; last: string }[] = [];
    const say = async (words: string): Promise<void> => {
      const message = await at.platform.say(place.chat, words, {
        ...pick(PEOPLE),
        ...(random() < 0.5 ? { whole: true } : {}),
        place,
      });
      said.push({ message, last: words });
    };
    await say("[first]");
    for (let step = 0; step < STEPS; step += 1) {
      const what = random();
      if (what < 0.2) await say(`[said ${step}]`);
      else if (what < 0.5) {
        const edited = pick(said);
        edited.last = `[edited ${step}]`;
        await at.platform.edit(edited.message, edited.last);
      } else if (what < 0.7) turns.shift()?.();
      else await clock.advance(pick([0, 100, 400, 2_000]));
    }
    await say("[the last]");
    for (let left = 0; left < 2 * STEPS; left += 1) {
      await clock.advance(10_000);
      turns.shift()?.();
    }
    await clock.advance(0);
    await say("[so that it is told of what is left]");
    await clock.advance(10_000);
    turns.shift()?.();
    await clock.advance(0);
    const all = told.join("\n");
    expect(said.map(({ last }) => [last, all.split(last).length - 1])).toEqual(
      said.map(({ last }) => [last, 1]),
    );
    await at.close();
  },
);
