import { afterEach, describe, expect, it } from "vitest";
import type { CommandWords } from "../../../src/core/host.ts";
import { memoryState } from "../../support/channel-host.ts";
import { manualClock, settle } from "../../support/clock.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { type Bot, type BotOptions, openBot, until } from "./set-up.ts";

const open: Bot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

async function setUp(options: BotOptions = {}): Promise<Bot> {
  const bot = await openBot({ commands, ...options });
  open.push(bot);
  return bot;
}

function commands(language: "en" | "de"): readonly CommandWords[] {
  const about = language === "de" ? ["neu anfangen", "beenden"] : ["start afresh", "end it"];
  return [
    { name: "new", about: about[0] ?? "", where: "everywhere" },
    { name: "stop", about: about[1] ?? "", where: "everywhere" },
    { name: "pair", about: "let somebody in", where: "private" },
  ];
}

const asked = (bot: Bot) => bot.emulator.calls.filter(({ method }) => method === "setMyCommands");
const LISTS = 6; // three scopes in two languages

describe("the commands", () => {
  it("are listed where they make sense, in the person's language", async () => {
    const bot = await setUp();
    await until(() => bot.emulator.outcomes("setMyCommands")["ok"] === LISTS);
    const person = (languageCode: string) =>
      bot.emulator.privateChat({ id: languageCode === "de" ? 1 : 2, firstName: "Ada", languageCode });
    const names = (list: readonly { command: string; description: string }[]) =>
      list.map(({ command, description }) => `${command}: ${description}`);
    expect(names(person("de").commands())).toEqual([
      "new: neu anfangen",
      "stop: beenden",
      "pair: let somebody in",
    ]);
    expect(names(person("fr").commands())).toEqual([
      "new: start afresh",
      "stop: end it",
      "pair: let somebody in",
    ]);
    const group = bot.emulator.supergroup({ id: -1_002_000_000_007, title: "Crew" });
    const inGroup = group.as({ id: 3, firstName: "Ben", languageCode: "en" }).commands();
    expect(names(inGroup)).toEqual(["new: start afresh", "stop: end it"]);
  });

  it("are listed again after a restart only where they have changed", async () => {
    const state = memoryState();
    const first = await setUp({ state });
    await expect.poll(() => state.list("commands/", { limit: 9 })).toHaveLength(LISTS);
    await first.channel.close();
    const same = await setUp({ state, emulator: first.emulator });
    await same.host.host.state.get([]);
    await until(() => same.emulator.calls.at(-1)?.method === "getUpdates");
    await settle();
    expect(asked(first)).toHaveLength(LISTS);
    await same.channel.close();
    await setUp({
      state,
      emulator: first.emulator,
      commands: (language) => (language === "de" ? [] : commands(language)),
    });
    await until(() => asked(first).length === LISTS + 3);
    expect(
      asked(first)
        .slice(LISTS)
        .map(({ parameters }) => [parameters["language_code"], parameters["commands"]]),
    ).toEqual([
      ["de", []],
      ["de", []],
      ["de", []],
    ]);
  });

  it("that Telegram has no name for are left out, and told of", async () => {
    const bot = await setUp({
      commands: () => [
        { name: "Weather-Report", about: "no", where: "everywhere" },
        { name: "w".repeat(33), about: "no", where: "everywhere" },
        { name: "weather_2", about: "x".repeat(300), where: "everywhere" },
      ],
    });
    await until(() => asked(bot).length === LISTS);
    expect(asked(bot)[0]?.parameters["commands"]).toEqual([
      { command: "weather_2", description: "x".repeat(256) },
    ]);
    expect(bot.host.logged[0]?.fields["names"]).toEqual(["Weather-Report", "w".repeat(33)]);
  });

  it("that are too much are fewer, until Telegram takes them", async () => {
    const bot = await setUp({
      commands: () =>
        Array.from({ length: 120 }, (_, n) => ({ name: `c${n}`, about: "do", where: "everywhere" as const })),
      before: (emulator) =>
        void emulator.fault(
          { method: "setMyCommands", times: 2 },
          { kind: "refuse", code: 400, description: "Bad Request: BOT_COMMANDS_TOO_MUCH" },
        ),
    });
    await until(() => asked(bot).length === LISTS + 2);
    const lengths = asked(bot).map(({ parameters }) => (parameters["commands"] as unknown[]).length); // a list
    expect(lengths.slice(0, 4)).toEqual([100, 80, 64, 100]);
    expect(bot.host.logged.filter(({ fields }) => fields["kept"] !== undefined)).toHaveLength(2);
  });

  it.each<[Fault, number]>([
    [{ kind: "rateLimit", seconds: 20 }, 20_000],
    [{ kind: "drop", when: "before" }, 1_000],
    [{ kind: "html", status: 502, when: "before" }, 1_000],
  ])("are tried again after %j", async (fault, waitMs) => {
    const clock = manualClock();
    const bot = await setUp({
      clock,
      before: (emulator) => void emulator.fault({ method: "setMyCommands" }, fault),
    });
    await clock.whenTimer(waitMs);
    await clock.advance(waitMs);
    await until(() => asked(bot).length === LISTS + 1);
    expect(bot.host.failures).toEqual([]);
  });

  it("that Telegram refuses are no trouble to the connection", async () => {
    const bot = await setUp({
      before: (emulator) =>
        void emulator.fault(
          { method: "setMyCommands", times: 9 },
          { kind: "refuse", code: 400, description: "Bad Request: BOT_COMMAND_INVALID" },
        ),
    });
    await until(() => asked(bot).length === LISTS);
    bot.mira.sendText("hello");
    await bot.host.whenAccepted(1);
    expect(bot.host.failures).toEqual([]);
  });

  it("hold nobody up who closes the connection", async () => {
    const bot = await setUp({
      before: (emulator) =>
        void emulator.fault({ method: "setMyCommands" }, { kind: "silence", when: "before" }),
    });
    await until(() => asked(bot).length === 1);
    await bot.channel.close();
    expect(bot.timers()).toBe(0);
  });
});
