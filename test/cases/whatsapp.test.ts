import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { MessageEvent } from "../../src/core/events.ts";
import { manualClock } from "../support/clock.ts";
import { testGateway, type TestGateway, textOf } from "../support/gateway.ts";

type Case = { readonly id: string; readonly symptom: string };

const CASES = JSON.parse(
  readFileSync(join(import.meta.dirname, "../fixtures/cases/whatsapp.json"), "utf8"),
) as readonly Case[]; // copied from the collection of public reports

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Messages by the keys that WhatsApp's have: an id is one of its chat, and in a group of its sender. */
const message = (chat: string, id: string, text: string, sender = chat): MessageEvent => {
  const isGroup = chat.endsWith("@g.us");
  return {
    type: "message",
    id: isGroup ? `${sender}/${id}` : id,
    ref: isGroup ? `${id}/${sender}` : id,
    place: { chat, kind: isGroup ? "group" : "private" },
    from: { id: sender, name: "Mira" },
    sentAt: new Date(1_700_000_000_000).toISOString(),
    content: [
      { type: "text", text },
      { type: "unfetched", kind: "image", ref: "sealed", declared: { label: "photo" } },
    ],
    addressed: true,
  };
};

const drivers: Readonly<Record<string, () => Promise<void>>> = {
  async "QUE-03"() {
    const clock = manualClock();
    const rules = { allow: ["lid:1", "lid:2"] };
    const first = await testGateway({ clock, rules });
    cleanups.push(first.close);
    const { platform, folder } = first;
    cleanups.unshift(() => rm(folder, { recursive: true, force: true }));
    const said = [
      message("lid:1", "M1", "one"),
      message("lid:2", "M1", "the same id in another chat"),
      message("1@g.us", "M1", "in a group", "lid:1"),
      message("1@g.us", "M1", "of another sender there", "lid:2"),
    ];
    await platform.deliver(said);
    await clock.advance(10_000);
    expect(first.asked).toHaveLength(4);
    // After a reconnect; by now a phone number of theirs is known, and the keys of the file are sealed anew.
    const also = ["+15550101"];
    await platform.deliver(
      said.map((event) => ({
        ...event,
        from: { ...event.from, also },
        place: { ...event.place, also },
        content: event.content.map((part) => (part.type === "text" ? part : { ...part, ref: "anew" })),
      })),
    );
    await clock.advance(10_000);
    expect(first.asked).toHaveLength(4);
    cleanups.pop();
    await first.kill();

    const second: TestGateway = await testGateway({ clock, rules, folder, platform });
    cleanups.push(second.close);
    await platform.deliver([...said, message("lid:1", "M2", "two")]);
    await clock.advance(10_000);
    expect(second.asked.map((turn) => textOf(turn).split(" ")[0])).toEqual(["two"]);
    expect(platform.textsIn("lid:2").filter((text) => text.startsWith("heard:"))).toHaveLength(1);
  },
};

describe("public reports that WhatsApp must not repeat", () => {
  it.each(CASES.map((each) => [each.id, each.symptom] as const))("%s: %s", async (id) => {
    const drive = drivers[id];
    expect(drive, `nothing drives ${id}`).toBeDefined();
    await drive?.();
  });
});
