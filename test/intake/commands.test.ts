import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/core/commands.ts";
import type { MessageEvent, Place } from "../../src/core/events.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { say } from "../../src/core/sentences.ts";
import { commandWords } from "../../src/intake/command-words.ts";
import { claimTurn, commitTurn } from "../../src/store/turns.ts";
import { onStore } from "../support/database.ts";
import { AGENT, OPEN_TO_ADA } from "../support/gateway.ts";
import { type Taking, takingIn } from "./set-up.ts";

const open = onStore();
const GROUP: Place = { chat: "g", kind: "group" };
const WEATHER = { commands: { weather: "Rain or sun", plan_b: "What else" } };

async function lastWords(taking: Taking): Promise<string> {
  return (await taking.planned()).at(-1)?.text ?? "";
}

describe("/help", () => {
  it("lists what can be asked for here, the operator's commands last", async () => {
    const taking = takingIn(await open(), WEATHER);
    await taking.say("ada", "/help");
    expect(await lastWords(taking)).toBe(
      "Send text, pictures, documents or voice notes.\n\n" +
        [
          "/new — Start afresh",
          "/stop — End what is running",
          `/queue — ${say("command.queue")}`,
          "/cancel — Take back a message that still waits",
          `/pause — ${say("command.pause")}`,
          `/resume — ${say("command.resume")}`,
          "/status — What is going on",
          `/pending — ${say("command.pending")}`,
          "/context — How full this thread is",
          `/budget — ${say("command.budget")}`,
          "/compact — Sum this thread up",
          "/memory — What I remember",
          `/forget — ${say("command.forget")}`,
          `/export — ${say("command.export")}`,
          "/help — What I can do",
          `/schedules — ${say("command.schedules")}`,
          "/why — What became of the last messages",
          "/model — Who answers, and what they can see",
          "",
        ].join("\n") +
        "/weather — Rain or sun\n/plan_b — What else",
    );
  });

  it.each([
    ["the owner in private", "olga", undefined, true],
    ["the owner in a group", "olga", GROUP, false],
    ["somebody else", "ada", undefined, false],
  ] as const)("names /pair to %s: %s", async (_who, person, place, named) => {
    const taking = takingIn(await open(), { owner: "olga", strangers: "pair" });
    await taking.say(person, "/start", place ? { place } : {});
    expect((await lastWords(taking)).includes("/pair")).toBe(named);
  });
});

describe("the list of commands", () => {
  it("has /pair only where codes are given out, for private chats", () => {
    const names = (rules: Partial<typeof OPEN_TO_ADA>): readonly string[] =>
      commandWords({ ...OPEN_TO_ADA, ...rules }, "de").map(({ name, where }) => `${name} ${where}`);
    const own = COMMANDS.filter((name) => name !== "pair").map((name) => `${name} everywhere`);
    expect(names({})).toEqual(own);
    expect(names({ strangers: "pair", ...WEATHER })).toEqual([
      ...own,
      "pair private",
      "weather everywhere",
      "plan_b everywhere",
    ]);
  });

  it("speaks the language that is asked for", () => {
    expect(commandWords(OPEN_TO_ADA, "de")[0]).toEqual({
      name: "new",
      about: "Neu anfangen",
      where: "everywhere",
    });
  });
});

describe("a command of the operator's", () => {
  it("reaches the agent as it was typed, and speaks to it in a group; others do neither", async () => {
    const taking = takingIn(await open(), WEATHER);
    const unaddressed = { place: GROUP, addressed: false };
    await taking.say("ada", "/weather in Fulda", unaddressed);
    await taking.say("ada", "/plan_b", unaddressed);
    await taking.say("ada", "/weathering", unaddressed);
    await taking.say("ada", "/toString", unaddressed);
    await taking.say("ada", "/unknown thing");
    expect(await taking.fates()).toEqual([
      "waiting",
      "waiting",
      "refused: not addressed",
      "refused: not addressed",
      "waiting",
    ]);
    const rows = await taking.database.db
      .selectFrom("inbox")
      .select("payload")
      .where("payload", "!=", "")
      .execute();
    expect(rows.map(({ payload }) => (JSON.parse(payload) as MessageEvent).content)).toEqual([
      [{ type: "text", text: "/weather in Fulda" }],
      [{ type: "text", text: "/plan_b" }],
      [{ type: "text", text: "/unknown thing" }],
    ]);
  });
});

describe("/why", () => {
  it("says that all was answered where it was", async () => {
    const taking = takingIn(await open());
    await taking.say("ada", "/why");
    expect(await lastWords(taking)).toBe("Every message of the last 24 h has been answered.\n\n");
  });

  it("tells of each reason once, the latest first, and how the last turn went; nothing that was said", async () => {
    const taking = takingIn(await open(), { allow: ["ada"], deny: ["ned"] });
    const { database, clock } = taking;
    await taking.say("ada", "marmalade", { place: GROUP, addressed: false });
    await taking.say("ada", "marmalade", { place: GROUP, addressed: false });
    await taking.press("ada", "no button's", { place: GROUP });
    await clock.advance(3 * 3_600_000);
    await taking.say("ned", "marmalade", { place: GROUP });
    await taking.say("ada", "marmalade", { place: GROUP });
    const claim = await claimTurn(database, 1 as ChatId, {
      owner: "test",
      now: clock.now(),
      until: clock.now() + 60_000,
      isOpen: () => true,
    });
    await clock.advance(75_000);
    if (claim.kind === "turn")
      await commitTurn(database, claim.turn, {
        state: "failed",
        messages: "consumed",
        error: "model.failed",
        pieces: [],
        now: clock.now(),
      });
    await taking.say("ada", "", {
      place: GROUP,
      content: [{ type: "unfetched", kind: "image", ref: "f", declared: {} }],
    });
    await taking.say("ada", "/why", { place: GROUP });
    expect(await lastWords(taking)).toBe(
      "1 × waiting for a file, last 0 s ago\n" +
        "1 × its turn failed (model.failed), last 1 min ago\n" +
        "1 × the sender is on the deny list, last 1 min ago\n" +
        "2 × not addressed, last 3 h ago\n\n" +
        "The last turn: helper (demo), begun 1 min ago, took 1 min 15 s: failed (model.failed)",
    );
    await clock.advance(24 * 3_600_000);
    await taking.say("ada", "/why", { place: GROUP });
    expect(await lastWords(taking)).toMatch(/^Every message of the last 24 h has been answered\./);
  });
});

describe("/model", () => {
  it.each([
    [
      "what is not known is left to the model",
      {},
      "demo",
      ["as far as the model can", "as far as the model can", "as far as the model can"],
    ],
    [
      "what the operator says",
      {
        model: { provider: "openai", name: "gpt-5" },
        senses: { images: true, pdf: false },
        transcriber: { use: "command", command: ["listen", "{file}"] },
      },
      "openai:gpt-5",
      ["yes", "no", "written down first"],
    ],
    [
      "a graph",
      { graph: "/graph.js", senses: { audio: true } },
      "a graph of its own",
      ["as far as the model can", "as far as the model can", "yes"],
    ],
  ] as const)("tells who answers and what they see: %s", async (_name, more, model, [images, pdf, audio]) => {
    const taking = takingIn(await open(), {}, { ...AGENT, ...more });
    await taking.say("ada", "/model");
    expect(await lastWords(taking)).toBe(
      `helper answers here, with ${model}.\nText: yes\nPictures: ${images}\nPDF: ${pdf}\nSound: ${audio}`,
    );
  });
});

describe("/status", () => {
  it("tells the owner how perch.yaml calls the chat, and nobody else", async () => {
    const taking = takingIn(await open(), { owner: "olga" });
    await taking.say("olga", "/status", { place: { ...GROUP, topic: "7" } });
    expect(await lastWords(taking)).toMatch(/\nWaiting: 0\nThis chat in perch\.yaml: "g", topic "7"$/);
    await taking.say("ada", "/status", { place: GROUP });
    expect(await lastWords(taking)).toMatch(/\nWaiting: 0$/);
  });

  it("tells the owner which connections are not open, and nobody else", async () => {
    const taking = takingIn(await open(), { owner: "olga" });
    const shown = { kind: "toy", pairs: false };
    taking.standings.push(
      { ...shown, id: "toy", is: "open", words: "open" },
      { ...shown, id: "phone", is: "unpaired", words: "not linked: nobody has scanned the code" },
      { ...shown, id: "later", is: "off", words: "off: set TELEGRAM_TOKEN" },
    );
    await taking.say("olga", "/status");
    expect(await lastWords(taking)).toMatch(
      /"olga"\nConnection phone: not linked: nobody has scanned the code$/,
    );
    await taking.say("ada", "/status");
    expect(await lastWords(taking)).toMatch(/\nWaiting: 0$/);
  });
});
