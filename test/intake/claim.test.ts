import { afterEach, expect, it } from "vitest";
import { allGrants, claimCode } from "../../src/store/people.ts";
import { manualClock } from "../support/clock.ts";
import { testGateway, type TestGateway, type TestGatewayOptions } from "../support/gateway.ts";

const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

const CODE = "a-code-of-the-start-link";
const eve = { from: { id: "eve", name: "Eve" } };

async function setUp(rules: TestGatewayOptions["rules"] = {}) {
  const clock = manualClock();
  const gateway = await testGateway({ clock, rules });
  opened.push(gateway);
  await claimCode(gateway.database, "toy", CODE, 0);
  const owners = async (): Promise<readonly string[]> =>
    (await allGrants(gateway.database)).map(({ person, role }) => `${person} ${role}`);
  return { ...gateway, owners };
}

it("makes the first who presents the code the owner, and nobody after that", async () => {
  const { platform, owners } = await setUp();
  await platform.say("c1", `/start ${CODE}`, eve);
  await platform.say("c2", `/start ${CODE}`, { from: { id: "mallory", name: "Mallory" } });
  expect(await owners()).toEqual(["eve owner"]);
});

it("makes nobody an owner by a link that was printed before the operator named the owner", async () => {
  const { platform, owners } = await setUp({ owner: "ada" });
  await platform.say("c1", `/start ${CODE}`, eve);
  expect(await owners()).toEqual([]);
});

it.each([
  ["of a denied person", { deny: ["eve"] }, eve],
  ["in a forward", {}, { ...eve, forward: { from: "Ada" } }],
  ["in a group", {}, { ...eve, place: { chat: "c1", kind: "group" as const } }],
])("does not take the code %s", async (_name, rules, extra) => {
  const { platform, owners } = await setUp(rules);
  await platform.say("c1", `/start ${CODE}`, extra);
  expect(await owners()).toEqual([]);
});
