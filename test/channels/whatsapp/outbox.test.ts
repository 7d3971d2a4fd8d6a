import { expect, it } from "vitest";
import { MessageIds } from "../../../channels/whatsapp/baileys/sending/message-ids.ts";
import { Outbox } from "../../../channels/whatsapp/baileys/sending/outbox.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import { plainText } from "../../../src/core/rendered.ts";
import { memoryState } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";

const PIECE = {
  id: 7,
  to: { channel: "wa", chat: "lid:1" },
  body: { kind: "text", rendered: plainText("a secret") },
} as const;

async function setUp() {
  const state = memoryState();
  const seal = await sealWith("a key for tests only, of 32 characters", "test");
  return { state, seal, outbox: new Outbox({ state, seal, clock: manualClock() }) };
}

it("keeps a message whole, sealed, and knows nothing of others", async () => {
  const { state, outbox } = await setUp();
  const posted = {
    chat: "lid:90000000000002",
    jid: "90000000000002@lid",
    message: {
      extendedTextMessage: { text: "a secret" },
      messageContextInfo: { messageSecret: Buffer.alloc(32, 1) },
    },
    at: 1,
    silences: 1,
    accepted: false,
  };
  await outbox.keep("3EB0A", posted);
  const found = await outbox.find("3EB0A");
  expect({ ...found, message: undefined }).toEqual({ ...posted, message: undefined });
  expect(found?.message.extendedTextMessage?.text).toBe("a secret");
  expect(Buffer.from(found?.message.messageContextInfo?.messageSecret ?? [])).toEqual(Buffer.alloc(32, 1));
  expect(await outbox.find("3EB0B")).toBeUndefined();
  const rows = JSON.stringify(await state.list("", { limit: 10 }));
  expect(rows).toContain("sent/3EB0A");
  expect(rows).not.toMatch(/secret|90000000000002/);
});

it("knows nothing of a message whose row is damaged", async () => {
  const { state, outbox } = await setUp();
  await state.set({ "sent/3EB0A": "s1.x.x" });
  expect(await outbox.find("3EB0A")).toBeUndefined();
});

it("names a message the same in the next process, and otherwise for another account, piece, part or form", async () => {
  const one = await setUp();
  const ids = await MessageIds.load(one.state, one.seal);
  const again = await MessageIds.load(one.state, one.seal);
  const other = await setUp();
  const elsewhere = await MessageIds.load(other.state, other.seal);
  expect(again.idOf(PIECE)).toBe(ids.idOf(PIECE));
  const names = [
    ids.idOf(PIECE),
    elsewhere.idOf(PIECE),
    ids.idOf({ ...PIECE, id: 8 }),
    ids.idOf({ ...PIECE, to: { ...PIECE.to, chat: "lid:2" } }),
    ids.idOf({ ...PIECE, body: { kind: "text", rendered: plainText("another") } }),
    ids.idOf(PIECE, { part: "0" }),
    ids.idOf(PIECE, { form: "alone" }),
    ids.revokeOf(ids.idOf(PIECE)),
  ];
  expect(new Set(names).size).toBe(names.length);
});
