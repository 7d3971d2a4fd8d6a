import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { whatsappWorld } from "../support/whatsapp-perch.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

it("an account is backed up while Perch runs, and answers from another data folder without a phone", async () => {
  const world = await whatsappWorld({ people: 1, groups: 0 });
  cleanups.push(() => world.close());
  const { path } = world.folder;
  const before = await world.start();
  const device = await world.link(before);
  expect(await world.perch("backup", "wa", "wa.backup")).toMatch(/^The account of wa is in .*wa\.backup\.\n/);
  expect((await stat(join(path, "wa.backup"))).mode & 0o777).toBe(0o600);
  expect(await world.perch("restore", "wa", "wa.backup")).toMatch(/data is in use by process \d+ since /);
  expect(await before.stop()).toBe(0);

  await rm(join(path, "data"), { recursive: true });
  expect(await world.perch("restore", "wa", "wa.backup")).toMatch(/^wa has the account of that backup\./);
  const after = await world.start();
  await world.people[0]?.say(device, "are you there?");
  const { message } = await world.wa.waitForMessage(({ person }) => person === world.people[0]);
  expect(message.extendedTextMessage?.text).toMatch(/are you there\?/);
  expect(await after.stop()).toBe(0);
  for (const { output } of [before, after]) expect(output()).not.toMatch(/1555000\d{4}|are you there/);
}, 120_000);
