import { expect, it } from "vitest";
import type { EditEvent, MessageEvent, Place, Sender } from "../../src/core/events.ts";
import { admit, agentFor, standingOf } from "../../src/intake/admit.ts";
import { rulesByEachId } from "../../src/intake/moves.ts";
import { choiceKey, insertQuestion } from "../../src/store/choices.ts";
import { pairingCode } from "../../src/store/pairing.ts";
import { grant } from "../../src/store/people.ts";
import { claimTurn } from "../../src/store/turns.ts";
import { eachDatabase } from "../support/database.ts";
import { OPEN_TO_ADA } from "../support/gateway.ts";
import { takingIn } from "./set-up.ts";

const PHONE = "+15550101";
/** Somebody whose rows stand under one id, and whom the operator may know by another. */
const mira: Sender = { id: "lid:1", name: "Mira", also: [PHONE] };
/** The same before anybody knows a phone of theirs. */
const unknown: Sender = { id: "lid:1", name: "Mira" };
const HOME: Place = { chat: "lid:1", kind: "private", also: [PHONE] };
const by = { from: mira, place: HOME };

const message = (from: Sender, place: Place = HOME): MessageEvent => ({
  type: "message",
  id: "1",
  ref: "1",
  place,
  from,
  sentAt: "",
  content: [{ type: "text", text: "hello" }],
  addressed: true,
});

const nobody = { ...OPEN_TO_ADA, allow: [] };

it.each([
  ["the owner", { owner: PHONE }, "owner"],
  ["allowed", { allow: [PHONE] }, "allowed"],
  ["allowed by the id that stays", { allow: ["lid:1"] }, "allowed"],
  ["allowed in the chat", { chats: { "lid:1": { allow: [PHONE] } } }, "allowed"],
  ["denied, whatever else is said", { owner: "lid:1", deny: [PHONE], open: true }, "denied"],
  ["denied by the id that stays", { allow: [PHONE], deny: ["lid:1"] }, "denied"],
  ["a stranger", { allow: ["+15550102"] }, "stranger"],
] as const)("somebody is %s under any of their ids", (_who, rules, standing) => {
  expect(standingOf(message(mira), { ...nobody, ...rules }, undefined)).toBe(standing);
});

it("nobody is let in by an id that is not known of them", () => {
  const rules = { ...nobody, allow: [PHONE], owner: PHONE };
  expect(admit(message(unknown), rules, undefined)).toMatchObject({ kind: "refused", stranger: true });
});

it("a rule for a sender holds under any of their ids", () => {
  const chats = { "lid:1": { senders: { [PHONE]: { agent: "editor" } } } };
  expect(agentFor(message(mira), { ...nobody, chats }).agent).toBe("editor");
  expect(agentFor(message(unknown), { ...nobody, chats }).agent).toBe("helper");
});

eachDatabase("somebody who is known by several ids", (open) => {
  it("finds the rules of their chat, also later by its id alone", async () => {
    const at = takingIn(await open(), {
      allow: [],
      chats: { [PHONE]: { allow: "everyone", agent: "editor" } },
    });
    const rulesOfHome = async (): Promise<unknown> => {
      const rules = {
        channels: new Map([["toy", { ...nobody, chats: { [PHONE]: { agent: "editor" } } }]]),
        agents: new Map(),
      };
      const found = await rulesByEachId({ trx: at.database.db, rules, channel: "toy" }, { chat: "lid:1" });
      return found.channels.get("toy")?.chats["lid:1"];
    };
    expect(await rulesOfHome()).toBeUndefined();
    await at.say("lid:1", "hello", by);
    const rows = await at.database.db.selectFrom("inbox").select(["agent", "state"]).execute();
    expect(rows).toEqual([{ agent: "editor", state: "waiting" }]);
    expect(await rulesOfHome()).toEqual({ agent: "editor" });
  });

  it("is the owner who is asked about strangers", async () => {
    const at = takingIn(await open(), { owner: PHONE, allow: [], strangers: "pair" });
    await at.say("lid:1", "hello", by);
    await at.say("eve", "let me in");
    expect((await at.planned()).map(({ to }) => to)).toEqual(["eve", "lid:1"]);
  });

  it("has what was granted under any of them, and a refusal comes first", async () => {
    const at = takingIn(await open(), { allow: [] });
    const { db } = at.database;
    const granted = { channel: "toy", grantedBy: "test", at: 1 } as const;
    await at.say("lid:1", "one", by);
    await grant(db, { ...granted, person: PHONE, role: "allowed" });
    await at.say("lid:1", "two", by);
    await at.say("lid:1", "three", { ...by, from: unknown });
    await grant(db, { ...granted, person: "lid:1", role: "refused" });
    await at.say("lid:1", "four", by);
    const stranger = "refused: the sender is not allowed here";
    expect(await at.fates()).toEqual([stranger, "waiting", stranger, stranger]);
  });

  it("lets in and decides as the owner of another connection", async () => {
    const at = takingIn(await open());
    at.rules({ toy: { owner: PHONE, strangers: "pair" }, other: { owner: PHONE, strangers: "pair" } });
    const code = await pairingCode(at.database.db, { channel: "other", person: "eve", now: at.clock.now() });
    await at.say("lid:1", `/pair ${code ?? ""}`, by);
    expect((await at.planned()).map(({ text }) => text)).toEqual(["They are let in, in other."]);
  });

  it("presses what was asked of them, and edits what they said", async () => {
    const at = takingIn(await open(), { allow: [PHONE] });
    await at.say("lid:1", "hello", { ...by, part: true });
    const { id: chat } = await at.database.db.selectFrom("chat").select("id").executeTakeFirstOrThrow();
    const key = choiceKey();
    const question = { rendered: { text: "Sure?", marks: [] }, choices: [{ key, label: "Yes" }] };
    await insertQuestion(at.database.db, { chat, person: PHONE, ...question, expiresAt: at.clock.now() + 1 });
    const press = { type: "choice", id: "p", place: HOME, from: mira, sentAt: "", key } as const;
    expect(await at.accept(press)).toBeUndefined();
    const edit = (id: string, from: Sender): EditEvent => {
      const { addressed, sentAt, place } = message(mira);
      const content = [{ type: "text" as const, text: `${from.id} says` }];
      return { type: "edited", id, ref: "e1", place, from, sentAt, content, addressed };
    };
    await at.accept(edit("x1", { id: PHONE, name: "Mira", also: ["lid:1"] }));
    await at.accept(edit("x2", { id: PHONE, name: "Mira" }));
    const [said] = await at.database.db.selectFrom("inbox").select("payload").orderBy("id").execute();
    expect(said?.payload).toContain(`${PHONE} says`);
    expect((await at.fates()).slice(-2)).toEqual(["consumed", "refused: its message is another's"]);
  });

  it("has one number in a group, and one measure as a guest", async () => {
    const at = takingIn(await open(), { allow: [], open: true, turnsPerHour: 1 });
    const place: Place = { chat: "g@g.us", kind: "group" };
    const later: Sender = { id: PHONE, name: "Mira", also: ["lid:1"] };
    await at.say("", "one", { from: mira, place });
    await at.say("", "two", { from: later, place });
    expect(await at.fates()).toEqual(["waiting", "refused: the sender has had the turns of an hour (1)"]);
    const { id: chat } = await at.database.db.selectFrom("chat").select("id").executeTakeFirstOrThrow();
    const claim = async (): Promise<unknown> => {
      const now = at.clock.now();
      const turn = await claimTurn(at.database, chat, {
        owner: "test",
        now,
        until: now + 1,
        isOpen: () => true,
      });
      return turn.kind === "turn" ? turn.turn.messages.map(({ speaker }) => speaker) : turn;
    };
    expect(await claim()).toEqual([1]);
    await at.clock.advance(3_600_001);
    await at.say("", "three", { from: later, place });
    await at.database.db.updateTable("inbox").set({ state: "consumed" }).where("id", "=", 1).execute();
    expect(await claim()).toEqual([1]);
  });
});
