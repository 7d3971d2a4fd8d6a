import { afterAll, beforeAll, expect, it } from "vitest";
import type { Group } from "../support/whatsapp/group.ts";
import type { Person } from "../support/whatsapp/person.ts";
import { KILL_POINTS, ReceiverRun, textOf } from "../support/whatsapp/receiver-run.ts";

const PEOPLE = process.env["PERCH_LONG"] ? 20 : 4;
const KILLS = process.env["PERCH_LONG"] ? 6 : 1;

let run: ReceiverRun;
let people: readonly Person[];
let group: Group;
const said: string[] = [];

beforeAll(async () => {
  run = await ReceiverRun.start();
  people = await Promise.all(
    Array.from({ length: PEOPLE }, (_, n) =>
      run.wa.addPerson({ phone: `1555000010${n}`, lid: `9000000000010${n}`, name: `Person ${n}` }),
    ),
  );
  group = run.wa.addGroup({ subject: "Friends", members: [run.owner, ...people] });
}, 60_000);
afterAll(() => run.close());

it.each(KILL_POINTS)("loses nothing and tells nothing twice when it is killed at “%s”", async (point) => {
  for (let kill = 1; kill <= KILLS; kill++) {
    await run.restart({ point, after: kill });
    for (const [n, person] of people.entries()) {
      const [alone, among] = [`${point} ${kill}: ${n} alone`, `${point} ${kill}: ${n} in the group`];
      said.push(alone, among);
      await person.say(run.device, alone, { addressing: n % 2 === 0 ? "lid" : "pn" });
      await person.say(run.device, among, { group });
    }
    await run.whenKilled();
  }
  await run.restart();
  await run.whenHeard(said);
  await run.device.whenDrained();

  const told = run.accepted.filter((event) => event.type === "message");
  expect(told.map(textOf).toSorted()).toEqual(said.toSorted());
  expect(new Set(told.map(({ id, place }) => `${place.chat} ${id}`)).size).toBe(said.length);
});
