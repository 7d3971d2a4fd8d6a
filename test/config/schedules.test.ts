import { describe, expect, it } from "vitest";
import { configOf, faultsOf, loadYaml } from "./support.ts";

const CHAT = 'channel: web, chat: "c1", prompt: "Hello."';
const yaml = (...lines: readonly string[]): string =>
  ["channels: { web: { kind: web } }", "agents: { timeZone: Europe/Berlin }", ...lines].join("\n");

const told = async (...lines: readonly string[]): Promise<readonly string[]> =>
  faultsOf(await loadYaml(yaml(...lines))).map(
    ({ path, problem, remedy }) => `${path}: ${problem}. ${remedy}`,
  );

describe("schedules in perch.yaml", () => {
  it("are read with their times, in the time zone of their own, their chat, their channel or the agents", async () => {
    const { rules } = configOf(
      await loadYaml(
        [
          "channels:",
          "  web: { kind: web }",
          '  two: { kind: web, timeZone: Asia/Tokyo, chats: { "c2": { timeZone: America/New_York } } }',
          "agents: { timeZone: Europe/Berlin }",
          "schedules:",
          `  a: { ${CHAT}, cron: "0  8 * * 1-5" }`,
          `  b: { ${CHAT}, everyMinutes: 90, timeZone: UTC, agent: helper, topic: 7 }`,
          '  c: { channel: two, chat: "c1", prompt: "Hello.", at: "2026-12-24T18:00" }',
          '  d: { channel: two, chat: "c2", prompt: "Hello.", at: "2026-12-24T18:00" }',
        ].join("\n"),
      ),
    );
    const chat = { channel: "web", chat: "c1", prompt: "Hello." };
    expect(Object.fromEntries(rules.schedules ?? [])).toEqual({
      a: { ...chat, timeZone: "Europe/Berlin", when: { kind: "cron", cron: "0 8 * * 1-5" } },
      b: {
        ...chat,
        timeZone: "UTC",
        agent: "helper",
        topic: "7",
        when: { kind: "every", everyMs: 5_400_000 },
      },
      c: {
        ...chat,
        channel: "two",
        timeZone: "Asia/Tokyo",
        when: { kind: "at", at: Date.parse("2026-12-24T09:00:00Z") },
      },
      d: {
        ...chat,
        channel: "two",
        chat: "c2",
        timeZone: "America/New_York",
        when: { kind: "at", at: Date.parse("2026-12-24T23:00:00Z") },
      },
    });
  });

  it.each([
    [`a: { ${CHAT} }`, "schedules.a: must say when, once. Write one of cron, everyMinutes and at"],
    [
      `a: { ${CHAT}, cron: "0 8 * * *", everyMinutes: 5 }`,
      "schedules.a.cron: must say when, once. Write one of cron, everyMinutes and at",
    ],
    [
      `a: { ${CHAT}, cron: "61 * * * *" }`,
      'schedules.a.cron: cron cannot be read (Invalid value for minute: 61). Write such as "0 8 * * 1-5"',
    ],
    [
      `a: { ${CHAT}, at: "soon" }`,
      'schedules.a.at: at is a date and a time. Write such as "2026-12-24T18:00"',
    ],
    [`a: { ${CHAT}, everyMinutes: 0 }`, "schedules.a.everyMinutes: must be at least 1. Write at least 1"],
    [
      `a: { ${CHAT}, cron: "0 8 * * *", timeZone: Europe/Berln }`,
      'schedules.a.timeZone: there is no such time zone. Did you mean "Europe/Berlin"?',
    ],
    [
      'a: { channel: wbe, chat: "c1", prompt: "Hello.", cron: "0 8 * * *" }',
      'schedules.a.channel: there is no such channel. Did you mean "web"?',
    ],
    [
      `a: { ${CHAT}, cron: "0 8 * * *", agent: helpr }`,
      'schedules.a.agent: there is no such agent. Did you mean "helper"?',
    ],
    [`a: { ${CHAT}, crom: "0 8 * * *" }`, 'schedules.a.crom: unknown key. Did you mean "cron"?'],
    [
      'a: { channel: web, prompt: "Hello.", cron: "0 8 * * *" }',
      'schedules.a.chat: an id is text or a whole number. Write it in quotes: "123456789"',
    ],
  ])("%s is a fault", async (line, fault) => {
    expect(await told("schedules:", `  ${line}`)).toContain(fault);
  });

  it("are looked at though something else in the file is wrong", async () => {
    const faults = await told("https: {}", "schedules:", `  a: { ${CHAT}, cron: "61 * * * *" }`);
    expect(faults.map((fault) => fault.split(":")[0])).toEqual(["https", "schedules.a.cron"]);
  });
});

describe("what nobody has asked for, in perch.yaml", () => {
  it("has quiet hours, a cap and a time zone by channel and chat", async () => {
    const chats = 'chats: { "c1": { quietHours: none, unaskedPerDay: 0 } }';
    const keys = `quietHours: { from: "22:30", to: "07:00" }, unaskedPerDay: 5, timeZone: UTC, ${chats}`;
    const read = async (channel: string) =>
      configOf(await loadYaml(`channels: { web: { ${channel} } }`)).rules.channels.get("web");
    expect(await read(`kind: web, ${keys}`)).toMatchObject({
      quietHours: { fromMinute: 1_350, toMinute: 420 },
      unaskedPerDay: 5,
      timeZone: "UTC",
      chats: { c1: { quietHours: "none", unaskedPerDay: 0 } },
    });
    const usual = await read("kind: web");
    expect([usual?.quietHours, usual?.unaskedPerDay, usual?.timeZone]).toEqual([undefined, 20, undefined]);
  });

  it.each([
    [
      'quietHours: { from: "22", to: "07:00" }',
      'quietHours.from: a time of day is hours and minutes. Write such as "22:00", in quotes',
    ],
    [
      'quietHours: { from: "22:00", to: "22:00" }',
      "quietHours.to: is when they begin. Write a later or an earlier time",
    ],
    ['quietHours: { from: "22:00", until: "07:00" }', "quietHours.to: is missing."],
    ["unaskedPerDay: -1", "unaskedPerDay: must be at least 0. Write at least 0"],
    ['quiteHours: { from: "22:00", to: "07:00" }', 'quiteHours: unknown key. Did you mean "quietHours"?'],
  ])("%s is a fault", async (keys, fault) => {
    const faults = faultsOf(await loadYaml(`channels: { web: { kind: web, ${keys} } }`));
    const words = faults.map(({ path, problem, remedy }) => `${path}: ${problem}. ${remedy}`);
    expect(words.some((each) => each.startsWith(`channels.web.${fault}`))).toBe(true);
  });
});
