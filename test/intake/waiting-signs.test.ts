import { describe, expect, it } from "vitest";
import type { ChoiceEvent, MessageEvent, Place } from "../../src/core/events.ts";
import { storyOf } from "../../src/store/queue.ts";
import { testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";
import { ToyPlatform } from "../support/toy-channel.ts";
import { type Held, heldTurns } from "./held-turns.ts";

/** Perch with an agent that answers when the test lets it, in the middle of a turn of Ada's. */
async function withTurn(options: TestGatewayOptions = {}): Promise<Held> {
  const running = await heldTurns({
    ...options,
    rules: { during: "queue", owner: "olga", ...options.rules },
  });
  await running.platform.say("c1", "one");
  await running.clock.advance(2_000);
  expect([running.heard(), running.platform.signed]).toEqual([["one"], 0]);
  return running;
}

/** What is said while the turn runs, a second and its window ago. */
async function waits(
  { platform, clock }: Held,
  text: string,
  extra: Partial<MessageEvent> = {},
): Promise<MessageEvent> {
  const said = await platform.say("c1", text, extra);
  await clock.advance(1_300);
  return said;
}

const signsIn = ({ platform }: Held): readonly string[] => [...platform.signs.keys()];
const BOB = { id: "bob", name: "Bob" };
const OLGA = { id: "olga", name: "Olga" };
const GROUP: Place = { chat: "c1", kind: "group" };
const quoting = (ref: string): Partial<MessageEvent> => ({ quote: { text: "", ref } });

describe("the sign of waiting", () => {
  it("is a reaction to each message that waits, until its turn takes it up", async () => {
    const running = await withTurn();
    const two = await waits(running, "two");
    const three = await waits(running, "three");
    expect([...running.platform.signs]).toEqual([
      [two.ref, "👀"],
      [three.ref, "👀"],
    ]);
    await running.answer();
    expect(signsIn(running)).toEqual([three.ref]);
    await running.answer();
    expect([signsIn(running), running.platform.signed]).toEqual([[], 2]);
  });

  it("is none for what is taken up at once, and none for the rest of an album", async () => {
    const running = await withTurn();
    await running.platform.say("c1", "two");
    await running.clock.advance(300);
    await running.answer();
    expect(running.platform.signed).toBe(0);
    const item = (): MessageEvent["content"] => [
      { type: "unfetched", kind: "file", ref: "none", declared: {} },
    ];
    await running.platform.say("c1", item(), { albumId: "g" });
    await running.platform.say("c1", item(), { albumId: "g" });
    await running.clock.advance(5_000);
    expect(running.platform.signed).toBe(1);
  });

  it("is shown once, also where the message is handed over again or the process ends meanwhile", async () => {
    const running = await withTurn();
    await waits(running, "two");
    await running.platform.repeat();
    await running.clock.advance(5_000);
    expect(running.platform.signed).toBe(1);
    await running.kill();
    const { folder, platform } = running;
    const again = await testGateway({ folder, platform, clock: running.clock, rules: { during: "queue" } });
    await running.clock.advance(60_000);
    expect(again.asked.map(textOf)).toEqual(["one", "two"]);
    expect([platform.signed, [...platform.signs]]).toEqual([1, []]);
    await again.close();
  });

  it("is not left behind where another process takes the message up before it is shown", async () => {
    const running = await withTurn();
    const { platform, database } = running;
    const sign = platform.sign.bind(platform);
    platform.signing = async (ref, shown) => {
      if (shown !== undefined) {
        await database.db.updateTable("inbox").set({ state: "claimed" }).where("ref", "=", ref).execute();
        sign(ref, undefined);
      }
      sign(ref, shown);
    };
    await waits(running, "two");
    expect([platform.signed, signsIn(running)]).toEqual([1, []]);
  });

  it("is nothing where the operator wants none, in the chat or everywhere", async () => {
    const running = await withTurn({ rules: { chats: { c1: { waitingSign: "off" } } } });
    await waits(running, "two");
    expect([running.platform.signed, running.platform.shown]).toEqual([0, []]);
  });

  it("is taken back with what /stop takes back, where nothing runs yet", async () => {
    const running = await withTurn();
    await running.answer();
    running.platform.files.set("never", async function* () {
      await new Promise(() => {});
      yield new Uint8Array();
    });
    await running.platform.say("c1", [{ type: "unfetched", kind: "file", ref: "never", declared: {} }]);
    await running.clock.advance(2_000);
    const next = await waits(running, "behind it");
    expect(signsIn(running)).toEqual([next.ref]);
    await waits(running, "/stop");
    expect(signsIn(running)).toEqual([]);
    expect(running.platform.textsIn("c1")).toEqual(["heard: one", "Stopped."]);
  });

  it("is taken back with all that is forgotten", async () => {
    const running = await withTurn();
    await waits(running, "two");
    await waits(running, "/forget all");
    expect(signsIn(running)).toEqual([]);
  });

  it("is taken back with a message that is cancelled", async () => {
    const running = await withTurn();
    await waits(running, "two");
    await waits(running, "three");
    await waits(running, "/cancel");
    expect(signsIn(running)).toEqual(["m2"]);
    expect(running.platform.textsIn("c1")).toEqual(["Taken back."]);
  });

  it("is a line with a button where the operator wants that, one for all that is answered together", async () => {
    const platform = new ToyPlatform({ choices: 3 });
    const running = await withTurn({ platform, rules: { waitingSign: "line" } });
    const two = await running.platform.say("c1", "two");
    await running.platform.say("c1", "and more");
    await running.clock.advance(1_300);
    expect(platform.shown.map(({ text, replyTo, choices }) => ({ text, replyTo, choices }))).toEqual([
      {
        text: "Noted; I will come to this after what I am doing. /cancel takes it back.",
        replyTo: two.ref,
        choices: ["Cancel"],
      },
    ]);
  });
});

describe("/cancel", () => {
  it("takes the newest back that waits of whoever asks, and leaves the rest of its intent", async () => {
    const running = await withTurn();
    await running.platform.say("c1", "two");
    await waits(running, "and three");
    await waits(running, "from Bob", { from: BOB });
    await running.platform.say("c1", "/cancel");
    await running.answer();
    await running.answer();
    await running.answer();
    expect(running.heard()).toEqual(["one", "two", "from Bob"]);
    expect((await storyOf(running.database, 3))?.steps.at(-1)).toMatchObject({
      step: "withdrawn",
      why: "cancelled",
    });
  });

  it("takes back what it answers, and the media of it are waited for no longer", async () => {
    const running = await withTurn();
    running.platform.files.set("never", async function* () {
      await new Promise(() => {});
      yield new Uint8Array();
    });
    const never: MessageEvent["content"] = [
      { type: "unfetched", kind: "file", ref: "never", declared: { filename: "a.txt" } },
    ];
    await running.platform.say("c1", "two");
    const photo = await running.platform.say("c1", never);
    await running.clock.advance(2_000);
    await running.platform.say("c1", "three");
    await running.platform.say("c1", "/cancel", quoting(photo.ref));
    await running.answer();
    await running.answer();
    await running.answer();
    expect(running.heard()).toEqual(["one", "two", "three"]);
  });

  it("does nothing for others, but for the owner", async () => {
    const running = await withTurn();
    const two = await waits(running, "two");
    await waits(running, "/cancel", { ...quoting(two.ref), from: BOB, place: GROUP });
    await waits(running, "/cancel", { from: BOB });
    await waits(running, "/cancel", { ...quoting(two.ref), from: OLGA });
    expect(running.platform.textsIn("c1")).toEqual([
      "Only whoever sent it can take it back, or the owner.",
      "Nothing of yours waits.",
      "Taken back.",
    ]);
  });

  it("names /stop for what is being answered already, and says what does not wait any more", async () => {
    const running = await withTurn();
    await waits(running, "/cancel");
    await waits(running, "/cancel", quoting("m1"));
    await waits(running, "/cancel", quoting("unknown"));
    await running.answer();
    await waits(running, "/cancel", quoting("m1"));
    const answering = "I am answering that already; /stop ends it.";
    const gone = "That does not wait any more.";
    expect(running.platform.textsIn("c1")).toEqual([answering, answering, gone, "heard: one", gone]);
  });

  it("as an answer to our line means the message that the line is about", async () => {
    const running = await withTurn({ rules: { waitingSign: "line" } });
    await waits(running, "two");
    await waits(running, "three");
    const [first] = running.platform.shown;
    const line = await lineOf(running, first!.piece);
    await waits(running, "/cancel", quoting(line));
    await running.answer();
    await running.answer();
    expect(running.heard()).toEqual(["one", "three"]);
  });
});

describe("the button of the line", () => {
  async function withLine(): Promise<Held & { press(from: MessageEvent["from"]): Promise<unknown> }> {
    const platform = new ToyPlatform({ choices: 3 });
    const running = await withTurn({ platform, rules: { waitingSign: "line" } });
    await waits(running, "two");
    const { key } = await running.database.db.selectFrom("choice").select("key").executeTakeFirstOrThrow();
    const ref = await lineOf(running, platform.shown[0]!.piece);
    let presses = 0;
    return {
      ...running,
      async press(from) {
        presses += 1;
        const event: ChoiceEvent = {
          type: "choice",
          id: `press${presses}`,
          place: { chat: "c1", kind: "private" },
          from,
          sentAt: new Date(running.clock.now()).toISOString(),
          key,
          ref,
        };
        const shown = await running.gateway.accept("toy", [event]);
        await running.clock.advance(0);
        return shown.get(event.id);
      },
    };
  }

  it("takes the message back, for its sender and once, and the line says so", async () => {
    const running = await withLine();
    const ada = { id: "ada", name: "Ada" };
    expect(await running.press(BOB)).toBe("Only whoever sent it can take it back, or the owner.");
    expect(await running.press(ada)).toBeUndefined();
    expect(await running.press(ada)).toBe("That was answered already.");
    expect(running.platform.textsIn("c1")).toEqual([
      "Noted; I will come to this after what I am doing. /cancel takes it back. — Taken back.",
    ]);
    await running.answer();
    expect(running.heard()).toEqual(["one"]);
  });

  it("says that the message is being answered where it is", async () => {
    const running = await withLine();
    await running.answer();
    expect(running.heard()).toEqual(["one", "two"]);
    await running.press(OLGA);
    expect(running.platform.textsIn("c1")[0]).toMatch(/— I am answering that already; \/stop ends it\.$/);
  });
});

/** What the platform calls a piece that was sent. */
async function lineOf({ database }: TestGateway, piece: number): Promise<string> {
  const { ref } = await database.db
    .selectFrom("sent")
    .select("ref")
    .where("piece_id", "=", piece)
    .executeTakeFirstOrThrow();
  return ref;
}
