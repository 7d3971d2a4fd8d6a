import { expect, it, onTestFinished } from "vitest";
import { Contacts } from "../../../channels/whatsapp/baileys/people/contacts.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import { memoryState, testHost, type TestHost } from "../../support/channel-host.ts";

const PN = "15550000002@s.whatsapp.net";
const LID = "90000000000002@lid";
const PHONE = "+15550000002";
const KEY = "lid:90000000000002";

async function setUp(
  state = memoryState(),
): Promise<{ readonly contacts: Contacts; readonly host: TestHost; readonly state: typeof state }> {
  const host = await testHost({ state });
  onTestFinished(() => host.close());
  const contacts = new Contacts({ host: host.host, seal: await sealWith(undefined, "test") });
  await contacts.load();
  return { contacts, host, state };
}

it.each([
  [LID, KEY],
  ["90000000000002:17@lid", KEY],
  ["90000000000002:99@hosted.lid", KEY],
  [PN, PHONE],
  ["15550000002:2@s.whatsapp.net", PHONE],
  ["15550000002@c.us", PHONE],
  ["15550000002:99@hosted", PHONE],
  ["15550000002_1:2@s.whatsapp.net", PHONE],
  ["120363000000000001@g.us", "120363000000000001@g.us"],
  ["status@broadcast", undefined],
  ["120363000000000009@newsletter", undefined],
  ["", undefined],
  [undefined, undefined],
])("knows whose %s is", async (jid, key) => {
  const { contacts } = await setUp();
  expect(contacts.keyOf(jid)).toBe(key);
});

it("prefers the LID where both are known at first", async () => {
  const { contacts } = await setUp();
  expect(contacts.keyOf(PN, LID)).toBe(KEY);
  expect(contacts.keyOf(LID)).toBe(KEY);
  expect(contacts.keyOf(PN)).toBe(KEY);
  expect(contacts.formsOf(KEY)).toEqual([KEY, PHONE]);
});

it("keeps the number as the key of whoever was seen by number alone, and writes to their LID", async () => {
  const { contacts, host } = await setUp();
  expect(contacts.keyOf(PN)).toBe(PHONE);
  contacts.hasChat(PHONE);
  expect(contacts.jidOf(PHONE)).toBe(PN);
  expect(contacts.keyOf(LID, PN)).toBe(PHONE);
  expect(contacts.formsOf(PHONE)).toEqual([PHONE, KEY]);
  expect(contacts.jidOf(PHONE)).toBe(LID);
  await contacts.save();
  expect(host.accepted).toEqual([]);
});

it("joins two rows of one person under the LID, and moves the chat", async () => {
  const { contacts, host } = await setUp();
  contacts.keyOf(PN);
  contacts.hasChat(PHONE);
  contacts.keyOf(LID);
  contacts.hasChat(KEY);
  expect(contacts.keyOf(PN, LID)).toBe(KEY);
  await contacts.save();
  expect(host.accepted).toEqual([{ type: "chatMoved", id: `moved/${PHONE}/${KEY}`, from: PHONE, to: KEY }]);
  expect(contacts.jidOf(PHONE)).toBe(LID);
});

it("moves nothing where there was no chat under the other key", async () => {
  const { contacts, host } = await setUp();
  contacts.keyOf(PN);
  contacts.keyOf(LID);
  contacts.keyOf(LID, PN);
  await contacts.save();
  expect(host.accepted).toEqual([]);
});

it("does not take whoever has somebody's old number for them", async () => {
  const { contacts, host } = await setUp();
  const other = "90000000000008@lid";
  contacts.keyOf(PN);
  contacts.hasChat(PHONE);
  contacts.keyOf(PN, LID); // was known by number first
  expect(contacts.keyOf(PN, other)).toBe("lid:90000000000008");
  expect(contacts.keyOf(LID)).toBe(KEY);
  expect(contacts.formsOf(KEY)).toEqual([KEY]);
  expect(contacts.formsOf("lid:90000000000008")).toEqual(["lid:90000000000008", PHONE]);
  await contacts.save();
  expect(host.accepted).toEqual([{ type: "chatMoved", id: `moved/${PHONE}/${KEY}`, from: PHONE, to: KEY }]);
});

it("follows a person to a new number", async () => {
  const { contacts } = await setUp();
  contacts.keyOf(LID, PN);
  expect(contacts.keyOf(LID, "15550000077@s.whatsapp.net")).toBe(KEY);
  expect(contacts.formsOf(KEY)).toEqual([KEY, "+15550000077"]);
  expect(contacts.keyOf(PN)).toBe(PHONE);
});

it("knows people after a restart as before, by rows that say nothing twice", async () => {
  const { contacts, state } = await setUp();
  contacts.keyOf(PN);
  contacts.keyOf(LID);
  await contacts.save();
  contacts.keyOf(LID, PN);
  contacts.callThem(KEY, "Bob");
  await contacts.save();
  const { contacts: again } = await setUp(state);
  expect(again.keyOf(PN)).toBe(KEY);
  expect(again.nameOf(KEY)).toBe("Bob");
  expect((await state.list("contact/", { limit: 10 })).map(([key]) => key)).toEqual([`contact/${KEY}`]);
});

it("learns again, after a crash, what a moved chat was told of for", async () => {
  const { contacts, host, state } = await setUp();
  contacts.keyOf(PN);
  contacts.hasChat(PHONE);
  contacts.keyOf(LID);
  await contacts.save();
  contacts.keyOf(LID, PN);
  host.refuse(new Error("the store is down"));
  await expect(contacts.save()).rejects.toThrow("the store is down");

  const { contacts: again, host: next } = await setUp(state);
  again.keyOf(LID, PN);
  await again.save();
  expect(next.accepted).toHaveLength(1);
});

it("tells a move later where it could not be told at once", async () => {
  const { contacts, host } = await setUp();
  contacts.keyOf(PN);
  contacts.hasChat(PHONE);
  contacts.keyOf(LID);
  contacts.keyOf(LID, PN);
  host.refuse(new Error("the store is down"));
  await expect(contacts.save()).rejects.toThrow("the store is down");
  host.refuse(undefined);
  await contacts.save();
  expect(host.accepted).toHaveLength(1);
});

it("pairs nothing that is not one number and one LID", async () => {
  const { contacts } = await setUp();
  contacts.learn(PN, "15550000003@s.whatsapp.net");
  contacts.learn(LID, "90000000000003@lid");
  contacts.learn(LID, "120363000000000001@g.us");
  expect(contacts.keyOf(PN)).toBe(PHONE);
  expect(contacts.keyOf(LID)).toBe(KEY);
});
