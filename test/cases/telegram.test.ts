import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { pause } from "../../src/core/clock.ts";
import { lastAsked, type World, world } from "../support/telegram-perch.ts";

type Case = { readonly id: string; readonly symptom: string };

const CASES = JSON.parse(
  readFileSync(join(import.meta.dirname, "../fixtures/cases/telegram.json"), "utf8"),
) as readonly Case[]; // copied from the collection of public reports

const MIRA = { id: 700_100_001, firstName: "Mira" } as const;

let at: World | undefined;
afterEach(() => at?.close());

/** Mira has said "book 2 seats", was answered, and makes it three ten seconds later. */
async function editedLater(channel: string): Promise<{ readonly at: World; readonly first: number }> {
  at = await world({ channel: `allow: ["${MIRA.id}"], live: off${channel}` });
  await at.start();
  const mira = at.telegram.privateChat(MIRA);
  const { message_id: said } = mira.sendText("book 2 seats");
  const [answer] = await at.telegram.untilSent(MIRA.id, 1);
  await pause(at.clock, 10_000);
  mira.edit(said, "book 3 seats");
  return { at, first: answer?.messageId ?? 0 };
}

const drivers: Readonly<Record<string, () => Promise<void>>> = {
  async "QUE-15"() {
    const noted = await editedLater("");
    noted.at.telegram.privateChat(MIRA).sendText("thanks");
    await noted.at.telegram.untilSent(MIRA.id, 2);
    expect(noted.at.model.requests).toHaveLength(2);
    const [, second] = noted.at.model.requests;
    expect(second && lastAsked(second).text).toMatch(/edited[^]*> book 3 seats[^]*thanks/);
    await noted.at.close();

    const rerun = await editedLater(", edits: { answered: rerun }");
    await rerun.at.telegram.nextEdit(({ messageId }) => messageId === rerun.first);
    expect(rerun.at.model.requests).toHaveLength(2);
    const [, again] = rerun.at.model.requests;
    expect(again && lastAsked(again).text).toMatch(/edited[^]*book 3 seats/);
    expect(rerun.at.telegram.sentTo(MIRA.id)).toHaveLength(1);
  },
};

describe("public reports that Telegram must not repeat", () => {
  it.each(CASES.map((each) => [each.id, each.symptom] as const))(
    "%s: %s",
    { timeout: 60_000 },
    async (id) => {
      const drive = drivers[id];
      expect(drive, `nothing drives ${id}`).toBeDefined();
      await drive?.();
    },
  );
});
