import { afterEach, describe, expect, it } from "vitest";
import type { AgentTurn } from "../../src/core/agent.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import { newestMessages, storyOf } from "../../src/store/queue.ts";
import { manualClock, type ManualClock } from "../support/clock.ts";
import {
  AGENT,
  OPEN_TO_ADA,
  testGateway,
  type TestGateway,
  type TestGatewayOptions,
  textOf,
} from "../support/gateway.ts";

type World = TestGateway & { readonly clock: ManualClock };

const opened: World[] = [];
afterEach(async () => {
  for (const at of opened.splice(0)) {
    const closed = at.close();
    await at.clock.advance(0); // turns that never end are given back when the grace is over
    await closed;
  }
});

async function setUp(options: TestGatewayOptions = {}): Promise<World> {
  const clock = manualClock();
  const gateway = await testGateway({ clock, ...options });
  const at = { ...gateway, clock };
  opened.push(at);
  return at;
}

const GROUP = { place: { chat: "g1", kind: "group" }, addressed: false } as const;
const RERUN = { edits: { running: "wait", answered: "rerun" } } as const;
const STEER = { edits: { running: "steer", answered: "note" } } as const;

async function* bytesOf(words: string): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode(words);
}

const file = (ref: string, filename = `${ref}.txt`): MessageEvent["content"][number] => ({
  type: "unfetched",
  kind: "file",
  ref,
  declared: { filename },
});
const text = (words: string): MessageEvent["content"][number] => ({ type: "text", text: words });

/** Of each row, in order: its state, and why it is in it. */
async function fates({ database }: World): Promise<readonly string[]> {
  const rows = await database.db.selectFrom("inbox").select(["state", "why"]).orderBy("id").execute();
  return rows.map(({ state, why }) => (why === "" ? state : `${state}: ${why}`));
}

/** An agent that answers when it is told to, and takes its steps when it is told to. */
function stepping(): {
  readonly answer: (turn: AgentTurn) => Promise<string>;
  /** What the turn was corrected by, at this step. */
  readonly step: () => readonly string[];
  readonly finish: (words: string) => void;
} {
  let running: AgentTurn | undefined;
  let finish = (_words: string): void => {};
  return {
    answer: (turn) => {
      running = turn;
      return new Promise((resolve) => (finish = resolve));
    },
    step: () => (running?.corrections?.() ?? []).map((correction) => correction.text),
    finish: (words) => finish(words),
  };
}

describe("a message that is edited before its turn", () => {
  it("complaint 37: says what it says now, and its window is open again", async () => {
    const at = await setUp();
    const message = await at.platform.say("c1", "Book a table at sevn");
    await at.clock.advance(250);
    await at.platform.edit(message, "Book a table at seven");
    await at.clock.advance(299);
    expect(at.asked).toHaveLength(0);
    await at.clock.advance(1);
    expect(at.platform.textsIn("c1")).toEqual(["heard: Book a table at seven"]);
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(1);
    expect((await storyOf(at.database, 1))?.steps.map(({ step }) => step)).toEqual([
      "admitted",
      "edited",
      "claimed",
      "consumed",
    ]);
  });

  it("waits no longer than ten seconds, however often it is edited", async () => {
    const at = await setUp();
    const message = await at.platform.say("c1", "0");
    for (let edit = 1; edit <= 100; edit += 1) {
      await at.clock.advance(100);
      await at.platform.edit(message, `${edit}`);
    }
    await at.clock.advance(0);
    expect(at.asked.map(textOf)).toEqual(["99"]);
  });

  it("is the same to the agent where nothing that can be seen has changed", async () => {
    const at = await setUp();
    const message = await at.platform.say("c1", "hello");
    await at.clock.advance(250);
    await at.platform.edit(message, "hello");
    await at.clock.advance(50);
    expect(at.asked.map(textOf)).toEqual(["hello"]);
    await at.platform.edit(message, "hello");
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(1);
    const [newest] = await newestMessages(at.database, 1);
    const story = await storyOf(at.database, newest!.id);
    expect(story?.steps.map(({ step }) => step)).toEqual(["nothing that can be seen has changed"]);
  });

  it("is edited once by an edit that is handed over again", async () => {
    const at = await setUp();
    const message = await at.platform.say("c1", "one");
    await at.platform.edit(message, "two");
    const [first] = await fates(at);
    await at.platform.repeat();
    await at.platform.repeat();
    expect(await fates(at)).toEqual([first, "consumed"]);
    await at.clock.advance(300);
    await at.platform.repeat();
    await at.clock.advance(60_000);
    expect(at.asked.map(textOf)).toEqual(["two"]);
  });

  it("keeps the files that are still there, fetches the new ones and forgets the rest", async () => {
    const at = await setUp();
    const fetched: string[] = [];
    for (const ref of ["kept", "gone", "new"])
      at.platform.files.set(ref, () => {
        fetched.push(ref);
        return bytesOf(`text of ${ref}`);
      });
    const message = await at.platform.say("c1", [file("kept"), file("gone")]);
    await expect.poll(() => fetched).toEqual(["kept", "gone"]);
    await at.clock.advance(100);
    at.platform.files.delete("kept"); // it has been fetched, and nobody asks for it again
    await at.platform.edit(message, [text("a caption"), file("again", "kept.txt"), file("new")]);
    await at.clock.advance(10_000);
    await at.platform.until((shown) => shown.length >= 1);
    expect(at.asked[0]?.content.map((block) => ("filename" in block ? block.filename : block.type))).toEqual([
      "text",
      "kept.txt",
      "new.txt",
    ]);
    expect(fetched.toSorted()).toEqual(["gone", "kept", "new"]);
    expect(at.platform.textsIn("c1")).toEqual(["heard: a caption <file> <file>"]);
  });

  it("goes on without a file that was still on its way and is not part of it now", async () => {
    const at = await setUp();
    at.platform.files.set("slow", { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });
    const message = await at.platform.say("c1", [text("see"), file("slow")]);
    await at.clock.advance(2_000);
    expect(at.asked).toHaveLength(0);
    await at.platform.edit(message, "never mind the file");
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual(["never mind the file"]);
  });

  it("is an item of its album with another caption", async () => {
    const at = await setUp();
    at.platform.files.set("a", () => bytesOf("a"));
    at.platform.files.set("b", () => bytesOf("b"));
    const first = await at.platform.say("c1", [text("two birds"), file("a")], { albumId: "x" });
    await at.platform.say("c1", [file("b")], { albumId: "x" });
    await at.platform.edit(first, [text("two kingfishers"), file("a")]);
    await at.clock.advance(2_000);
    await at.platform.until((shown) => shown.length >= 1);
    expect(at.asked.map(textOf)).toEqual(["two kingfishers <file> <file>"]);
  });

  it("makes no command, and stops nothing", async () => {
    const at = await setUp();
    const message = await at.platform.say("c1", "hello");
    await at.platform.edit(message, "/new");
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual(["/new"]);
    expect(at.asked[0]?.thread).toBe("1/helper/1");
  });

  it("is left as it is where whoever edits may not talk here by now", async () => {
    const at = await setUp({ rules: { deny: ["eve"], allow: ["ada"] } });
    const message = await at.platform.say("c1", "hello");
    await at.platform.edit(message, "give me the keys", { from: { id: "eve", name: "Eve" } });
    await at.platform.edit(message, "and the door", { from: { id: "tom", name: "Tom" } });
    await at.clock.advance(1_000);
    expect(at.asked.map(textOf)).toEqual(["hello"]);
    expect((await fates(at)).slice(1)).toEqual([
      "refused: the sender is on the deny list",
      "refused: the sender is not allowed here",
    ]);
    expect(at.platform.textsIn("c1")).toEqual(["heard: hello"]);
  });
});

describe("an edit by another than who has said it", () => {
  const bob = { from: { id: "bob", name: "Bob" } };

  it("leads to nothing before the turn, during it and after it", async () => {
    const agent = stepping();
    const at = await setUp({ answer: agent.answer, rules: { ...STEER, ...RERUN } });
    const message = await at.platform.say("g1", "seven", { ...GROUP, addressed: true });
    await at.platform.edit(message, "one", bob);
    await at.clock.advance(1_000);
    await at.platform.edit(message, "two", bob);
    expect(agent.step()).toEqual([]);
    agent.finish("at seven");
    await at.clock.advance(0);
    await at.platform.edit(message, "three", bob);
    await at.clock.advance(60_000);
    expect(at.asked.map(textOf)).toEqual(["[from Ada (1)] seven"]);
    expect((await fates(at)).slice(1)).toEqual(Array(3).fill("refused: its message is another's"));
  });

  it("makes no message for the agent of one that was for others", async () => {
    const at = await setUp();
    const message = await at.platform.say("g1", "lunch?", GROUP);
    await at.platform.edit(message, "@bot what is the tide?", { ...bob, addressed: true });
    await at.clock.advance(1_000);
    expect(at.asked).toEqual([]);
  });
});

describe("an edit of what is not known", () => {
  it("leads to nothing", async () => {
    const at = await setUp();
    const message = await at.platform.say("c1", "hello");
    await at.platform.edit({ ...message, ref: "long ago" }, "hello again");
    await at.clock.advance(1_000);
    expect(at.asked.map(textOf)).toEqual(["hello"]);
    expect(await fates(at)).toEqual(["consumed", "refused: its message is not known here"]);
  });

  it("leads to nothing where its message was stopped, was a command or was refused", async () => {
    const at = await setUp({ rules: { ...RERUN, allow: ["ada"] } });
    const stopped = await at.platform.say("c1", "one");
    await at.platform.say("c1", "/stop");
    await at.platform.edit(stopped, "one more");
    const command = await at.platform.say("c1", "/status");
    await at.platform.edit(command, "/new");
    const eve = { from: { id: "eve", name: "Eve" } };
    const refused = await at.platform.say("c1", "let me in", eve);
    const rules = { ...OPEN_TO_ADA, ...RERUN, allow: ["ada", "eve"] };
    at.gateway.use({ channels: new Map([["toy", rules]]), agents: new Map([[AGENT.name, AGENT]]) });
    await at.platform.edit(refused, "please", eve);
    await at.clock.advance(60_000);
    expect(at.asked).toEqual([]);
    expect((await fates(at)).filter((fate) => fate.startsWith("refused: its"))).toEqual([
      "refused: its message was withdrawn: stopped before its turn began",
      "refused: its message was a command",
      "refused: its message was not taken",
    ]);
  });
});

describe("an edit that makes a message of a group speak to the agent", () => {
  it.each([0, 5])("is taken as a new message, once, with a context of %i", async (context) => {
    const at = await setUp({ rules: { context } });
    const message = await at.platform.say("g1", "what is the tide?", GROUP);
    await at.clock.advance(1_000);
    await at.platform.edit(message, "@bot what is the tide?", { addressed: true });
    await at.platform.repeat();
    await at.clock.advance(1_000);
    await at.platform.edit(message, "@bot what is the tide?", { addressed: true });
    await at.clock.advance(60_000);
    expect(at.asked.map(textOf)).toEqual(["[from Ada (1)] @bot what is the tide?"]);
    expect(at.platform.shown[0]?.replyTo).toBe(message.ref);
    expect((await fates(at))[0]).toBe(
      context === 0 ? "refused: not addressed" : "withdrawn: edited into a message for the agent",
    );
    expect((await storyOf(at.database, 1))?.steps.at(-1)?.step).toMatch(/edited into|withdrawn/);
  });

  it("is taken by a name that stands in it now", async () => {
    const at = await setUp({ rules: { names: ["perch"] } });
    const message = await at.platform.say("g1", "hey pech, what is the tide?", GROUP);
    await at.platform.edit(message, "hey perch, what is the tide?");
    await at.clock.advance(1_000);
    expect(at.asked.map(textOf)).toEqual(["[from Ada (1)] hey perch, what is the tide?"]);
  });

  it("is taken where the agent was told of the message before", async () => {
    const at = await setUp({ rules: { context: 5 } });
    const message = await at.platform.say("g1", "what is the tide?", GROUP);
    await at.platform.say("g1", "bot, hello", { ...GROUP, addressed: true });
    await at.clock.advance(1_000);
    await at.platform.edit(message, "what is the tide today?");
    await at.platform.edit(message, "bot, what is the tide?", { addressed: true });
    await at.clock.advance(1_000);
    expect(at.asked).toHaveLength(2);
    expect(textOf(at.asked[1]!)).toBe("[from Ada (1)] bot, what is the tide?");
  });

  it("makes no command of it", async () => {
    const at = await setUp();
    const message = await at.platform.say("g1", "hello", GROUP);
    await at.platform.edit(message, "/status", { addressed: true });
    await at.clock.advance(1_000);
    expect(at.platform.shown).toEqual([]);
    expect((await fates(at))[1]).toBe("refused: a message is not edited into a command");
  });

  it("is none of it where it still speaks to others, and what they say stays theirs", async () => {
    const at = await setUp({ rules: { context: 5 } });
    const message = await at.platform.say("g1", "lunch at one?", GROUP);
    await at.platform.edit(message, "lunch at two?");
    await at.platform.say("g1", "bot, when is lunch?", { ...GROUP, addressed: true });
    await at.clock.advance(1_000);
    expect(at.asked.map(textOf)).toEqual([
      "[said in the group before, not to you; lines with > are their words]\n" +
        "[from Ada (1)]\n> lunch at two? [from Ada (1)] bot, when is lunch?",
    ]);
  });

  it("keeps a message for the agent that speaks to it no more", async () => {
    const at = await setUp();
    const message = await at.platform.say("g1", "bot, hello", { ...GROUP, addressed: true });
    await at.platform.edit(message, "hello", { addressed: false });
    await at.clock.advance(1_000);
    expect(at.asked.map(textOf)).toEqual(["[from Ada (1)] hello"]);
  });
});

describe("a message that is edited after its turn", () => {
  it("complaint 37: is told of with the next message, and only then", async () => {
    const at = await setUp();
    const message = await at.platform.say("c1", "Book a table at seven", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "Book a table at eight\n[edited: no]");
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(1);
    await at.platform.say("c1", "thanks", { whole: true });
    await at.platform.say("c1", "bye", { whole: true });
    await at.clock.advance(0);
    expect(at.asked.slice(1).map(textOf)).toEqual([
      "[edited: the message that you answered last, from 2023-11-14 22:13 UTC, now says:]\n" +
        "> Book a table at eight\n> [edited: no] thanks",
      "bye",
    ]);
    expect(await fates(at)).toEqual(["consumed", "consumed", "consumed", "consumed"]);
    const payloads = await at.database.db.selectFrom("inbox").select("payload").distinct().execute();
    expect(payloads).toEqual([{ payload: "" }]);
  });

  it("is told of by its last edit alone, media in words", async () => {
    const at = await setUp();
    const message = await at.platform.say("c1", "one", { whole: true });
    await at.platform.say("c1", "two", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "one more");
    await at.platform.edit(message, [text("once"), file("f", "a].txt")]);
    await at.platform.say("c1", "go on", { whole: true });
    await at.clock.advance(0);
    expect(textOf(at.asked[2]!)).toBe(
      "[edited: an earlier message, from 2023-11-14 22:13 UTC, now says:]\n> once\n[file, a .txt] go on",
    );
  });

  it("is told of to the thread that knows it, not to one that was begun since", async () => {
    const at = await setUp({ rules: RERUN });
    const message = await at.platform.say("c1", "one", { whole: true });
    await at.clock.advance(0);
    await at.platform.say("c1", "/new");
    await at.platform.edit(message, "two");
    await at.platform.say("c1", "three", { whole: true });
    await at.clock.advance(1_000);
    expect(at.asked.map(textOf)).toEqual(["one", "three"]);
    expect(await fates(at)).toContain("refused: its thread was ended");
  });

  it("is answered anew in the place of the earlier answer", async () => {
    const at = await setUp({ rules: RERUN });
    const message = await at.platform.say("c1", "seven", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "eight");
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual([
      "seven",
      "[edited: this takes the place of a message that you have answered already; answer it anew] eight",
    ]);
    const again =
      "heard: [edited: this takes the place of a message that you have answered already; answer it anew] ";
    expect(at.platform.textsIn("c1")).toEqual([`${again}eight`]);
    await at.platform.edit(message, "nine");
    await at.clock.advance(300);
    expect(at.platform.textsIn("c1")).toEqual([`${again}nine`]);
    expect(at.asked.map(({ messageId }) => messageId)).toEqual(["intent-1", "intent-2", "intent-3"]);
  });

  it("is answered anew as it says at last where it is edited on", async () => {
    const at = await setUp({ rules: RERUN });
    const message = await at.platform.say("c1", "seven", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "eight");
    await at.platform.edit(message, "nine");
    await at.clock.advance(60_000);
    expect(at.asked.slice(1).map(textOf)).toEqual([expect.stringMatching(/anew\] nine$/)]);
    expect(await fates(at)).toEqual(["consumed", "withdrawn: edited again", "consumed"]);
  });

  it("is answered by a message of its own where either answer is more than one text", async () => {
    const at = await setUp({
      rules: RERUN,
      answer: (turn) => (/two/.test(textOf(turn)) ? `${"long ".repeat(50)}\n\nend` : "short"),
    });
    const message = await at.platform.say("c1", "one", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "two");
    await at.clock.advance(300);
    const both = at.platform.textsIn("c1");
    expect([both[0], both.length]).toEqual(["short", 3]);
    await at.platform.edit(message, "three");
    await at.clock.advance(300);
    expect(at.platform.textsIn("c1")).toEqual([...both, "short"]);
  });

  it("is answered by a message of its own where the person has said more with it", async () => {
    const at = await setUp({ rules: RERUN });
    const message = await at.platform.say("c1", "one", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "two");
    await at.clock.advance(100);
    await at.platform.say("c1", "and three");
    await at.clock.advance(1_000);
    expect(at.platform.textsIn("c1")).toEqual(["heard: one", expect.stringMatching(/anew\] two and three$/)]);
  });

  it("does not lose its answer to the failure of another", async () => {
    const at = await setUp({
      rules: RERUN,
      answer: (turn) => {
        if (/two/.test(textOf(turn))) throw new Error("no");
        return "fine";
      },
    });
    const message = await at.platform.say("c1", "one", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "two");
    await at.clock.advance(300);
    expect(at.platform.textsIn("c1")).toEqual(["fine", expect.stringContaining("went wrong")]);
  });

  it.each([
    ["another message was answered since", 0, true],
    ["two days have passed", 48 * 3_600_000 + 1, false],
  ])("is only told of where %s", async (_why, passed, more) => {
    const at = await setUp({ rules: RERUN });
    const message = await at.platform.say("c1", "one", { whole: true });
    if (more) await at.platform.say("c1", "another", { whole: true });
    await at.clock.advance(passed);
    await at.platform.edit(message, "two");
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(more ? 2 : 1);
    await at.platform.say("c1", "go on", { whole: true });
    await at.clock.advance(0);
    expect(textOf(at.asked.at(-1)!)).toMatch(/^\[edited: .*now says:\]\n> two go on$/);
  });

  it("brings its files along when it is answered anew", async () => {
    const at = await setUp({ rules: RERUN });
    at.platform.files.set("f", () => bytesOf("a poem"));
    const message = await at.platform.say("c1", [text("read"), file("f")]);
    await at.clock.advance(2_000);
    await at.platform.until((shown) => shown.length >= 1);
    await at.platform.edit(message, [text("read it aloud"), file("f")]);
    await at.clock.advance(2_000);
    await expect.poll(() => at.asked.length).toBe(2);
    expect(at.asked[1]?.content.map(({ type }) => type)).toEqual(["text", "text", "file"]);
  });
});

describe("a message that is edited while it is answered", () => {
  it("is told of after that, with the next message", async () => {
    const agent = stepping();
    const at = await setUp({ answer: agent.answer });
    const message = await at.platform.say("c1", "seven", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "eight");
    expect(agent.step()).toEqual([]);
    agent.finish("at seven");
    await at.platform.say("c1", "thanks", { whole: true });
    await at.clock.advance(0);
    expect(textOf(at.asked[1]!)).toMatch(
      /^\[edited: the message that you answered last,.*\n> eight thanks$/s,
    );
  });

  it("is answered anew after that", async () => {
    const agent = stepping();
    const at = await setUp({ answer: agent.answer, rules: RERUN });
    const message = await at.platform.say("c1", "seven", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "eight");
    await at.clock.advance(5_000);
    expect(at.asked).toHaveLength(1);
    agent.finish("at seven");
    await at.clock.advance(0);
    expect(at.platform.textsIn("c1")).toEqual(["at seven"]);
    agent.finish("at eight");
    await at.clock.advance(0);
    expect(at.platform.textsIn("c1")).toEqual(["at eight"]);
  });

  it("complaint 37: is told of to the running agent before its next step, once, where that is wanted", async () => {
    const agent = stepping();
    const at = await setUp({ answer: agent.answer, rules: STEER });
    const message = await at.platform.say("c1", "seven", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "eight\nplease");
    await at.platform.edit({ ...message, ref: "m99" }, "nothing to do with it");
    expect(agent.step()).toEqual(["[edited while you answer: their message now says:]\n> eight\n> please"]);
    expect(agent.step()).toEqual([]);
  });

  it("is told of to the running agent as it says at last, however often it is edited between two steps", async () => {
    const agent = stepping();
    const at = await setUp({ answer: agent.answer, rules: STEER });
    const message = await at.platform.say("c1", "seven", { whole: true });
    await at.clock.advance(0);
    for (let edit = 1; edit <= 30; edit += 1) await at.platform.edit(message, `${edit}`);
    expect(agent.step()).toEqual(["[edited while you answer: their message now says:]\n> 30"]);
    await at.platform.edit(message, "31");
    await at.platform.remove(message.place, message.ref);
    expect(agent.step()).toEqual([
      "[taken back while you answer: the message that you answer, or a part of it]",
    ]);
  });

  it("is told of afterwards where no step has come that could", async () => {
    const agent = stepping();
    const at = await setUp({ answer: agent.answer, rules: STEER });
    const message = await at.platform.say("c1", "seven", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "eight");
    expect(agent.step()).toHaveLength(1); // but it does not stand in the thread
    agent.finish("at seven");
    await at.platform.say("c1", "thanks", { whole: true });
    await at.clock.advance(0);
    expect(textOf(at.asked[1]!)).toContain("> eight thanks");
  });

  it.each([
    ["noted", STEER],
    ["answered anew", { edits: { running: "steer", answered: "rerun" } } as const],
  ])("is not %s once it stands in the thread with the answer", async (_what, rules) => {
    const at = await setUp({
      rules,
      runner: () => ({
        prepare: () => {},
        senses: async () => ({ images: true, pdf: true, audio: false }),
        run: async (turn) => {
          asked.push(textOf(turn));
          await new Promise<void>((resolve) => (proceed = resolve));
          const corrected = turn.corrections?.().map(({ id }) => id) ?? [];
          return { markdown: "fine", replayed: false, refused: [], corrected };
        },
      }),
    });
    const asked: string[] = [];
    let proceed = (): void => {};
    const message = await at.platform.say("c1", "seven", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "eight");
    proceed();
    await at.clock.advance(60_000);
    await at.platform.say("c1", "thanks", { whole: true });
    await at.clock.advance(0);
    expect(asked).toEqual(["seven", "thanks"]);
    const story = await storyOf(at.database, 2);
    expect([story?.state, story?.steps.at(-1)?.step]).toEqual(["consumed", "told while it ran"]);
  });

  it.each([STEER, RERUN])("is let be with its turn where that is stopped, by %j", async (rules) => {
    const agent = stepping();
    const at = await setUp({ answer: agent.answer, rules });
    const message = await at.platform.say("c1", "seven", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "eight");
    await at.platform.say("c1", "/stop");
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(1);
    await at.platform.edit(message, "nine");
    await at.platform.say("c1", "go on", { whole: true });
    await at.clock.advance(1_000);
    expect(at.asked.slice(1).map(textOf)).toEqual(["go on"]);
    expect((await fates(at)).slice(1, 2)).toEqual(["withdrawn: the turn of its message came to no answer"]);
  });
});
