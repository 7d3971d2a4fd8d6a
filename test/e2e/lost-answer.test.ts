import { afterEach, expect, it } from "vitest";
import { type World, world } from "../support/telegram-perch.ts";

const MIRA = { id: 700_100_001, firstName: "Mira" } as const;

let at: World | undefined;
afterEach(() => at?.close());

it(
  "complaint 1: a send that Telegram took, and whose answer broke off, is one message to its reader",
  { timeout: 60_000 },
  async () => {
    at = await world({ channel: `allow: ["${MIRA.id}"], live: off` });
    const { telegram } = at;
    await at.start();
    const mira = telegram.privateChat(MIRA);
    mira.sendText("first");
    await telegram.untilSent(MIRA.id, 1);
    telegram.fault({ method: "sendMessage" }, { kind: "drop", when: "after" });
    mira.sendText("kettle");
    const answers = (): readonly string[] =>
      telegram.shown(MIRA.id).flatMap(({ text = "", from }) => (from?.is_bot ? [text] : []));
    await telegram.until(() => telegram.deletions.length > 0 && answers().length === 2, "one answer to each");
    expect(answers()).toEqual(["first", "kettle"]);
    expect(telegram.outcomes("sendMessage")).toMatchObject({ "drop after": 1 });
  },
);
