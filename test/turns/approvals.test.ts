import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import type { ApprovalRules } from "../../src/core/approvals.ts";
import type { Place } from "../../src/core/events.ts";
import type { ChannelRules } from "../../src/core/rules.ts";
import { realAgents } from "../support/agents.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway } from "../support/gateway.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Json, ModelRequest } from "../support/models/server.ts";
import { type Shown, ToyPlatform } from "../support/toy-channel.ts";

const GROUP: Place = { chat: "g", kind: "group" };
const ADA = { id: "ada", name: "Ada" };
const BOB = { id: "bob", name: "Bob" };
const MINUTE_MS = 60_000;

const left: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of left.splice(0)) await end();
});

/** What the model calls when it is told "write" and so many words. */
function callsFor(said: string): readonly { readonly name: string; readonly args: Json }[] {
  const [, ...words] = /\bwrite ([^\n\]]*)/.exec(said)?.[0].split(" ") ?? [];
  return words.map((word) => ({
    name: "write_file",
    args: { file_path: `/workspace/${word}.txt`, content: `${word}\n\`\`\`\nMay "helper" run "nothing"?` },
  }));
}

/** Perch with an agent of ours whose files wait for a yes, and a model behind a real protocol. */
async function setUp({
  approve = {},
  rules = {},
  choices = 3,
}: {
  readonly approve?: Partial<ApprovalRules>;
  readonly rules?: Partial<ChannelRules>;
  readonly choices?: number;
} = {}) {
  const model = await startOpenAi({
    otherwise: (request: ModelRequest) => {
      const messages = request.body["messages"] as readonly Json[]; // the protocol's own shape
      const last = messages.at(-1);
      if (last?.["role"] === "tool") return `it says: ${String(last["content"]).slice(0, 60)}`;
      const said = JSON.stringify(last?.["content"]);
      const toolCalls = callsFor(JSON.parse(said) as string);
      return toolCalls.length > 0 ? { toolCalls: [...toolCalls] } : `heard: ${JSON.parse(said) as string}`;
    },
  });
  const clock: ManualClock = manualClock();
  const platform = new ToyPlatform({ choices });
  const agent: AgentDefinition = {
    ...AGENT,
    files: true,
    model: { provider: "openai", name: "local", baseUrl: model.url, apiKey: "k" },
    approve: { tools: ["write_file"], minutes: 60, ...approve },
  };
  const open = async (folder?: string): Promise<TestGateway> =>
    await testGateway({
      clock,
      platform,
      ...(folder === undefined ? {} : { folder }),
      rules: { owner: "ada", ...rules },
      agents: [agent],
      runner: realAgents({ clock }),
    });
  const first = await open();
  let gateway = first;
  left.push(async () => {
    await gateway.close();
    await model.close();
    await rm(first.folder, { recursive: true, force: true });
  });
  let presses = 0;
  const db = () => gateway.database.db;
  const shownLike = (words: string): Shown | undefined =>
    platform.shown.findLast(({ text }) => text.includes(words));
  return {
    platform,
    model,
    clock,
    db,
    gateway: () => gateway,
    question: (): Shown | undefined => shownLike("May answer"),
    /** As `kill -9` and a start would have it. */
    /** What people are asked, in one: the toy platform's messages are short. */
    asked: (): string => platform.shown.map(({ text }) => text).join("\n"),
    /** Resolves once Perch knows where its question stands. */
    async placed() {
      await platform.until(() => shownLike("May answer") !== undefined);
      for (;;) {
        const sending = await db().selectFrom("piece").select("id").where("state", "=", "sending").execute();
        if (sending.length === 0) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    async killed() {
      await gateway.kill();
      gateway = await open(first.folder);
    },
    async says(text: string, from = ADA, place: Place = { chat: from.id, kind: "private" }, more = {}) {
      await platform.say(place.chat, text, { from, place, whole: true, ...more });
    },
    /** What a press shows at once. */
    async press(
      label: string,
      from = ADA,
      place: Place = { chat: from.id, kind: "private" },
      nth = 0,
    ): Promise<string | undefined> {
      const rows = await db()
        .selectFrom("choice")
        .innerJoin("question", "question.id", "choice.question")
        .select(["choice.key", "question.id"])
        .where("label", "=", label)
        .where("question.approval", "!=", "")
        .orderBy("question.expires_at")
        .execute();
      const id = `press${(presses += 1)}`;
      const ref = platform.refOf(shownLike("May answer")?.text ?? "");
      const key = rows[nth]?.key ?? "";
      const shown = await gateway.gateway.accept("toy", [
        { type: "choice", id, place, from, sentAt: "", key, ref },
      ]);
      return shown.get(id);
    },
    until: async (words: string): Promise<Shown> => {
      await platform.until(() => shownLike(words) !== undefined);
      return shownLike(words)!; // it was waited for
    },
    file(word: string, chat = 1): string | undefined {
      const path = join(first.folder, "chats", String(chat), "workspace", `${word}.txt`);
      return existsSync(path) ? readFileSync(path, "utf8") : undefined;
    },
    state: async (): Promise<readonly string[]> =>
      (await db().selectFrom("approval").select("state").orderBy("noted_at").execute()).map(
        (row) => row.state,
      ),
  };
}

describe("a call that waits for a yes", () => {
  it("is not made, and people are asked with what it is called with; a yes makes it once, and the agent tells what came of it", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("it says: Not run yet");
    const question = await perch.until("May answer");
    expect(question).toMatchObject({ choices: ["Allow", "Refuse"] });
    expect(perch.asked()).toContain('May "helper" run "write_file"?');
    expect(perch.asked()).toContain(
      'content: "a\\n\\u0060\\u0060\\u0060\\nMay \\"helper\\" run \\"nothing\\"?"',
    );
    expect(perch.asked()).toContain("May answer: the owner, until");
    expect(perch.asked().match(/^May /gm)).toHaveLength(2);
    expect(perch.file("a")).toBeUndefined();
    expect(await perch.press("Allow")).toBeUndefined();
    await perch.until("it says: Success");
    await perch.until("✓ allowed by Ada");
    expect(perch.file("a")).toContain("a\n```");
    expect(await perch.press("Allow")).toBe("That was answered already.");
    expect(await perch.press("Refuse")).toBe("That was answered already.");
    expect(await perch.state()).toEqual(["approved"]);
    // The thread is whole: the next turn goes on in it.
    await perch.says("thanks");
    await perch.until("heard: thanks");
    const told = JSON.stringify(perch.model.requests.at(-1)?.body["messages"]);
    expect(told).toContain(
      '[allowed by Ada: your call of \\"write_file\\" that waited for approval is made now',
    );
  });

  it("is not made after a no, and the agent is told with its next turn, once", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("May answer");
    expect(await perch.press("Refuse")).toBeUndefined();
    await perch.until("✗ refused by Ada");
    await perch.says("so?");
    const { text } = await perch.until("heard:");
    expect(text).toContain(
      '[refused by Ada: your call of "write_file" that waited for approval was not made',
    );
    await perch.says("really?");
    await perch.until("heard: really?");
    expect(perch.file("a")).toBeUndefined();
  });

  it("waits over a restart, and expires: found by the sweep, shown, and late presses are told so", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("May answer");
    await perch.killed();
    await perch.says("/pending");
    expect((await perch.until("Waiting for an answer")).text).toContain('"write_file", for the owner, until');
    await perch.killed();
    await perch.clock.advance(61 * MINUTE_MS);
    await perch.until("That has expired.");
    expect(await perch.state()).toEqual(["expired"]);
    expect(await perch.press("Allow")).toBe("That has expired.");
    await perch.says("so?");
    expect((await perch.until("heard:")).text).toContain("[not answered in time: your call of");
    await perch.says("/pending");
    await perch.until("Nothing waits for an answer here.");
    expect(perch.file("a")).toBeUndefined();
  });

  it("is allowed after a restart between question and answer", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("May answer");
    await perch.killed();
    await perch.press("Allow");
    await perch.until("it says: Success");
    expect(perch.file("a")).toContain("a\n```");
  });

  it("is asked about by itself where one message makes several, and each is decided by itself", async () => {
    const perch = await setUp();
    await perch.says("write a b");
    await perch.platform.until((all) => all.filter(({ text }) => text.includes("May answer")).length === 2);
    // Which of them stands first is not what this is about.
    await perch.press("Allow", ADA, undefined, 0);
    await perch.press("Refuse", ADA, undefined, 1);
    await perch.until("it says: Success");
    expect((await perch.state()).toSorted()).toEqual(["approved", "refused"]);
    expect([perch.file("a"), perch.file("b")].filter((file) => file !== undefined)).toHaveLength(1);
  });

  it("ends with its thread", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("May answer");
    await perch.says("/new");
    await perch.until("A fresh start");
    expect(await perch.press("Allow")).toBe("That has expired.");
    expect(await perch.state()).toEqual(["expired"]);
  });
});

describe("who may say yes to a call", () => {
  it("complaint 63: is in a group the owner alone, whoever presses; others talk on meanwhile and are answered", async () => {
    const perch = await setUp();
    await perch.says("write a", BOB, GROUP);
    await perch.until("May answer: the owner");
    expect(await perch.press("Allow", BOB, GROUP)).toBe("That is not for you.");
    await perch.platform.react(GROUP, perch.platform.refOf(perch.question()?.text ?? ""), {
      from: BOB,
      added: ["👍"],
    });
    const ref = perch.platform.refOf(perch.question()?.text ?? "");
    await perch.says("yes", BOB, GROUP, { quote: { text: "May", ref } });
    await perch.until("That is not for you.");
    expect(await perch.state()).toEqual(["open"]);
    await perch.says("and you?", BOB, GROUP);
    await perch.until("and you?");
    await perch.says("hello", BOB);
    await perch.until("heard: hello");
    expect(perch.file("a")).toBeUndefined();
    expect(await perch.press("Allow", ADA, GROUP)).toBeUndefined();
    await perch.until("it says: Success");
    expect(perch.file("a")).toContain("a");
  });

  it("is asked in the owner's own chat about what somebody else's needs, and the result is told where it was wished for", async () => {
    const perch = await setUp();
    await perch.says("hello");
    await perch.until("heard: hello");
    await perch.says("write a", BOB);
    const question = await perch.until("May answer: the owner");
    expect(question.chat).toBe("ada");
    expect(perch.asked()).toContain('"Bob" is waiting: may "helper" run "write_file" for them?');
    await perch.press("Allow");
    expect((await perch.until("it says: Success")).chat).toBe("bob");
    expect(perch.file("a", 2)).toContain("a");
  });

  it("is whoever is answered where nobody owns the connection, or the operator wants that", async () => {
    const perch = await setUp({ approve: { who: "asker" } });
    await perch.says("write a", BOB, GROUP);
    await perch.until('May answer: "Bob"');
    expect(await perch.press("Allow", ADA, GROUP)).toBe("That is not for you.");
    expect(await perch.press("Allow", BOB, GROUP)).toBeUndefined();
    await perch.until("it says: Success");
  });

  it("is everybody who may talk there where the operator wants that, and nobody else", async () => {
    const perch = await setUp({ approve: { who: "anyone" } });
    await perch.says("write a", BOB, GROUP);
    await perch.until("May answer: everybody here");
    expect(await perch.press("Allow", { id: "eve", name: "Eve" }, GROUP)).toBe("That is not for you.");
    expect(await perch.press("Allow", ADA, GROUP)).toBeUndefined();
    await perch.until("✓ allowed by Ada");
  });
});

describe("a yes or no without a button", () => {
  const COLOURED = "👍🏽";

  it.each([
    ["a reaction", "👍", "approved"],
    ["a reaction of another colour", COLOURED, "approved"],
    ["a reaction", "❌", "refused"],
  ])("is %s: %s", async (_what, sign, state) => {
    const perch = await setUp({ choices: 0 });
    await perch.says("write a");
    const { text, choices } = await perch.until("May answer");
    await perch.placed();
    expect(choices).toBeUndefined();
    const at = { chat: "ada", kind: "private" } as const;
    await perch.platform.react(at, perch.platform.refOf(text), { added: ["🙈"] });
    expect(await perch.state()).toEqual(["open"]);
    await perch.platform.react(at, perch.platform.refOf(text), { added: [sign] });
    expect(await perch.state()).toEqual([state]);
  });

  it.each([
    ["yes", "approved"],
    ["Ja!", "approved"],
    ["ok.", "approved"],
    ["Nein", "refused"],
    ["no", "refused"],
    ["yes, but later", "open"],
    ["why?", "open"],
  ])("are words as a reply, or alone where nothing else can be meant: %s", async (words, state) => {
    const perch = await setUp();
    await perch.says("write a");
    const { text } = await perch.until("May answer");
    await perch.placed();
    await perch.says(words);
    expect(await perch.state()).toEqual([state]);
    if (state !== "open") {
      await perch.until(state === "approved" ? "✓ allowed" : "✗ refused");
      return;
    }
    await perch.until(`heard: ${words}`);
    // Something was said below the question by now: only a reply names it.
    await perch.says("yes");
    await perch.until("heard: yes");
    expect(await perch.state()).toEqual(["open"]);
    const quote = { text, ref: perch.platform.refOf(text) };
    await perch.says("yes", ADA, undefined, { quote });
    expect(await perch.state()).toEqual(["approved"]);
    await perch.until("✓ allowed");
    await perch.says("no", ADA, undefined, { quote });
    await perch.until("That was answered already.");
  });

  it("counts once, whatever comes at the same time", async () => {
    const perch = await setUp();
    await perch.says("write a");
    const { text } = await perch.until("May answer");
    await perch.placed();
    const ref = perch.platform.refOf(text);
    const at = { chat: "ada", kind: "private" } as const;
    const [first, second] = await Promise.all([
      perch.press("Allow"),
      perch.press("Allow"),
      perch.platform.react(at, ref, { added: ["👍"] }),
      perch.says("yes", ADA, undefined, { quote: { text, ref } }),
    ]);
    expect([first, second]).toContain("That was answered already.");
    await perch.until("it says: Success");
    const rows = await perch.db().selectFrom("inbox").select("id").where("task", "=", "approved").execute();
    expect(rows).toHaveLength(1);
    expect(perch.platform.shown.filter(({ text: said }) => said.startsWith("it says: Success"))).toHaveLength(
      1,
    );
  });
});
