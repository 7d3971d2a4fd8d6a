import { expect, it, onTestFinished } from "vitest";
import { CAROL, GROUP, hearing, type Hearing, type HearingOptions } from "./hearing.ts";

const PEOPLE = [
  { id: "90000000000001@lid", phoneNumber: "15550000001@s.whatsapp.net", admin: null },
  { id: "90000000000003@lid", phoneNumber: "15550000003@s.whatsapp.net", admin: "admin" as const },
];

async function setUp(options: HearingOptions = {}): Promise<Hearing> {
  const test = await hearing({ metadata: { participants: PEOPLE }, ...options });
  onTestFinished(() => test.close());
  return test;
}

it("asks once for a group, however many want to know at once", async () => {
  const test = await setUp();
  const [one, other] = await Promise.all([test.groups.metadata(GROUP), test.groups.metadata(GROUP)]);
  expect(one).toBe(other);
  expect(await test.groups.metadata(GROUP)).toBe(one);
  expect(test.asked).toEqual([GROUP]);
});

it("learns from a group who is who, and who may take back what others said", async () => {
  const test = await setUp();
  await test.groups.metadata(GROUP);
  expect(test.contacts.keyOf("15550000003@s.whatsapp.net")).toBe(CAROL.id);
  expect(test.groups.isAdmin(GROUP, CAROL.id)).toBe(true);
  expect(test.groups.isAdmin(GROUP, "lid:90000000000001")).toBe(false);
  expect(test.groups.isAdmin("120363000000000002@g.us", CAROL.id)).toBe(false);
});

it("follows what the server tells of a group without asking again", async () => {
  const test = await setUp();
  await test.groups.metadata(GROUP);
  test.emit("groups.update", [{ id: GROUP, subject: "New name", announce: true }]);
  const change = (action: string, id: string) =>
    test.emit("group-participants.update", {
      id: GROUP,
      author: "x",
      participants: [{ id, admin: null }],
      action,
    });
  change("add", "90000000000008@lid");
  change("promote", "90000000000008@lid");
  change("demote", "90000000000003@lid");
  change("remove", "90000000000001@lid");
  const group = await test.groups.metadata(GROUP);
  expect(group).toMatchObject({ subject: "New name", announce: true });
  expect(group?.participants.map(({ id, admin }) => [id, admin])).toEqual([
    ["90000000000008@lid", "admin"],
    ["90000000000003@lid", null],
  ]);
  expect(test.asked).toHaveLength(1);
});

it("asks again after a reconnect, and when what it knew was refused", async () => {
  const test = await setUp();
  await test.groups.metadata(GROUP);
  test.reconnect();
  await test.groups.metadata(GROUP);
  await test.groups.refresh(GROUP);
  expect(test.asked).toHaveLength(3);
});

it("leaves a group alone for a minute after a refusal, and goes by the title of before", async () => {
  const test = await setUp();
  await test.groups.metadata(GROUP);
  const refusing = await setUp({ state: test.state, refuses: true });
  await refusing.groups.findTitle(GROUP);
  expect(refusing.groups.titleOf(GROUP)).toBe("Friends");
  expect(await refusing.groups.metadata(GROUP)).toBeUndefined();
  expect(await refusing.groups.metadata(GROUP)).toBeUndefined();
  expect(refusing.asked).toHaveLength(1);
  await refusing.clock.advance(60_000);
  await refusing.groups.metadata(GROUP);
  expect(refusing.asked).toHaveLength(2);
});

it("waits no more than five seconds for a title", async () => {
  const test = await setUp({ hangs: true });
  const found = test.groups.findTitle(GROUP);
  await test.clock.whenTimer(5_000);
  await test.clock.advance(5_000);
  await found;
  expect(test.groups.titleOf(GROUP)).toBeUndefined();
});
