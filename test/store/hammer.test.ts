import { expect, it } from "vitest";
import type { ChatId } from "../../src/core/identity.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import { plainText } from "../../src/core/rendered.ts";
import { deliver } from "../../src/reply/deliver.ts";
import type { Database } from "../../src/store/database.ts";
import { HOLD_MS } from "../../src/store/renew.ts";
import { claimTurn, commitTurn } from "../../src/store/turns.ts";
import { openWork } from "../../src/store/upkeep.ts";
import { takingIn } from "../intake/set-up.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";
import { besides, eachDatabase } from "../support/database.ts";
import { ToyPlatform, toyKind } from "../support/toy-channel.ts";

const CHATS = Array.from({ length: 10 }, (_, n) => `chat${n}`);
const MESSAGES = 50;
const PROCESSES = 8;

/** A process that answers what it finds, and sends what it finds, until nothing is left anywhere. */
async function work(
  database: Database,
  owner: string,
  over: () => boolean,
  platform: ToyPlatform,
): Promise<number> {
  const clock = manualClock();
  const log = memoryLog([]);
  const toy = await toyKind(platform).open({}, { clock } as unknown as ChannelHost); // as much of it as the toy uses
  const cutOff = new AbortController().signal;
  const sending = deliver({ database, channel: () => toy, clock, log, owner, cutOff });
  let turns = 0;
  for (;;) {
    const { turns: waiting, deliveries } = await openWork(database, clock.now());
    if (waiting.length + deliveries.length === 0 && over()) return turns;
    const answered = waiting.map(({ chat }) => answer(database, chat, owner, clock.now()));
    await Promise.all(deliveries.map(({ chat }) => sending.run(chat)));
    for (const one of await Promise.all(answered)) turns += one;
  }
}

async function answer(database: Database, chat: ChatId, owner: string, now: number): Promise<number> {
  const claim = await claimTurn(database, chat, { owner, now, until: now + HOLD_MS, isOpen: () => true });
  if (claim.kind !== "turn") return 0;
  const { turn } = claim;
  const said = turn.messages.map(({ event }) =>
    "content" in event ? event.content.map((part) => (part.type === "text" ? part.text : "")).join() : "",
  );
  const body = { kind: "text", rendered: plainText(said.join(" ")) } as const;
  await commitTurn(database, turn, {
    state: "done",
    messages: "consumed",
    error: "",
    pieces: [{ chat, to: turn.to, turn: turn.id, seq: 0, body }],
    now,
  });
  return 1;
}

eachDatabase("many processes that work on the same chats at once", (open) => {
  it("lose nothing, do nothing twice and keep the order", { timeout: 300_000 }, async () => {
    const database = await open();
    const platform = new ToyPlatform();
    const processes = await Promise.all(Array.from({ length: PROCESSES }, () => besides(database, open)));
    let saying = CHATS.length;
    // Each message is handed over twice at once, to two processes.
    const takings = processes.map((process) =>
      takingIn(process, { allow: CHATS, during: "queue", queueLimit: 1_000 }),
    );
    const said = CHATS.map(async (chat, at) => {
      for (let n = 0; n < MESSAGES; n += 1) {
        const message = {
          type: "message",
          id: `m${n}`,
          ref: `m${n}`,
          place: { chat, kind: "private" },
          from: { id: chat, name: chat },
          sentAt: "2026-01-01T00:00:00.000Z",
          content: [{ type: "text", text: `${n}` }],
          addressed: true,
          whole: true,
        } as const;
        await Promise.all([0, 1].map((other) => takings[(at + other) % PROCESSES]!.accept(message)));
      }
      saying -= 1;
    });
    const turns = await Promise.all([
      ...processes.map((process, n) => work(process, `p${n}`, () => saying === 0, platform)),
      Promise.all(said).then(() => 0),
    ]);
    const wanted = Array.from({ length: MESSAGES }, (_, n) => `${n}`);
    expect(Object.fromEntries(CHATS.map((chat) => [chat, platform.textsIn(chat)]))).toEqual(
      Object.fromEntries(CHATS.map((chat) => [chat, wanted])),
    );
    expect(turns.reduce((sum, n) => sum + n, 0)).toBe(CHATS.length * MESSAGES);
    expect(platform.sends).toBe(CHATS.length * MESSAGES);
  });
});
