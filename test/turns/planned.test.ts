import { expect, it } from "vitest";
import type { ChatId } from "../../src/core/identity.ts";
import type { ClaimedTurn } from "../../src/store/turns.ts";
import { piecesOf } from "../../src/turns/planned.ts";

const ASKED = { kind: "text", rendered: { text: "Tea?", marks: [] } } as const;

/** The turn of one message. */
function turnOf(kind: "private" | "group", chat: string, sender: string): ClaimedTurn {
  const from = { id: sender, name: "Ada" };
  const place = { chat, kind };
  return {
    id: 1,
    hold: { chat: 1 as ChatId, owner: "", epoch: 1 },
    channel: "tg",
    to: { channel: "tg", chat },
    agent: "helper",
    thread: "1/helper/1",
    intent: 1,
    receivedAt: 0,
    startedAt: 0,
    messages: [
      {
        id: 1,
        event: { type: "message", id: "e", ref: "m", place, from, sentAt: "", content: [], addressed: true },
        taken: new Map(),
      },
    ],
    again: false,
    asides: [],
  };
}

it.each([
  ["the person of a private chat", turnOf("private", "70", "70"), "70"],
  ["one of a group", turnOf("group", "-100", "70"), "70"],
  ["everybody, where the group itself or a channel has spoken", turnOf("group", "-100", "-100"), ""],
])("what is offered is for %s", (_whom, turn, person) => {
  const [piece] = piecesOf(turn, [ASKED], { labels: ["Tea", "Coffee"], waits: undefined });
  expect(piece?.choices).toEqual({ labels: ["Tea", "Coffee"], person });
});
