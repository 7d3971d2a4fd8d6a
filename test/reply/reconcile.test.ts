import { expect, it } from "vitest";
import { GatewayError } from "../../src/core/errors.ts";
import { eachDatabase } from "../support/database.ts";
import { delivery, photo, text, TO } from "./delivery.ts";

const HOUR_MS = 3_600_000;
const LOST = "shown, then lost";
const NEVER_CAME = new Error("the connection was reset, and nothing had arrived");
const AGAIN = "(sent again)\n";

eachDatabase("a send of unknown outcome, on a platform that can be searched", (open) => {
  const setUp = async () => delivery(await open());

  it("that stands there is sent, and nothing is shown twice, where somebody spoke since", async () => {
    const { platform, clock, plan, run, states } = await setUp();
    await plan(text("zero"));
    await run();
    await clock.advance(10_000);
    platform.outcome = (_piece, _attempt, send) => (send === 2 ? LOST : "shown");
    await plan(text("one"), text("two"));
    await run(0);
    await clock.advance(1);
    await platform.say(TO.chat, "are you there?");
    await run(2_998);
    expect(platform.searches).toBe(0); // what was on its way is given time to arrive
    await run();
    expect(platform.calls).toEqual(["sent zero", "sent one", "searched", "sent two"]);
    expect(await states()).toEqual(["sent", "sent", "sent"]);
  });

  it("is looked for by the next process as soon as it has heard what was said meanwhile", async () => {
    const { platform, clock, plan, run, runUntilKilled } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send === 1 ? LOST : "shown");
    await plan(text("one"));
    await runUntilKilled(7);
    await clock.advance(60_000);
    await run(0);
    await clock.advance(2_999);
    await platform.say(TO.chat, "are you there?");
    await run();
    expect(platform.calls).toEqual(["sent one", "searched"]);
  });

  it("goes once more, marked, where nobody spoke; the first is found before it, and the second taken back", async () => {
    const { platform, plan, run, states, database } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send === 1 ? LOST : "shown");
    await plan(text("one"), text("two"));
    await run();
    expect(platform.calls).toEqual([
      "sent one",
      `sent ${AGAIN}one`,
      "searched",
      `took back ${AGAIN}one`,
      "sent two",
    ]);
    expect(platform.textsIn("c1")).toEqual(["one", "two"]);
    expect(await states()).toEqual(["sent", "sent"]);
    const [{ platform_ids: ids } = { platform_ids: "" }] = await database.db
      .selectFrom("piece")
      .select("platform_ids")
      .orderBy("id")
      .execute();
    expect(ids).toBe('["p2"]'); // as it was shown first
  });

  it("stays marked where the first never came", async () => {
    const { platform, plan, run, states } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send === 1 ? NEVER_CAME : "shown");
    await plan(text("one"), text("two"));
    await run();
    expect(platform.calls).toEqual([`sent ${AGAIN}one`, "searched", "sent two"]);
    expect(await states()).toEqual(["sent", "sent"]);
  });

  it("is not taken for lost because a message that was sent before it reaches us after it", async () => {
    const { platform, clock, plan, run } = await setUp();
    let late: () => Promise<void> = async () => undefined;
    platform.outcome = (_piece, _attempt, send) => {
      // It stands before the text on the platform, and is still on its way to us.
      if (send === 1) late = platform.sayLate(TO.chat, "wait");
      return send === 1 ? LOST : "shown";
    };
    await plan(text("one"));
    await run(0);
    await clock.advance(1);
    await late();
    await run();
    expect(platform.textsIn("c1")).toEqual(["one"]);
  });

  it("is left as unknown where it is a file, found behind the next piece, and nothing is sent twice", async () => {
    const { platform, plan, run, states } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send === 1 ? LOST : "shown");
    await plan(photo("a"), text("two"));
    await run();
    expect(platform.calls).toEqual(["sent sha256:a", "sent two", "searched"]);
    expect(await states()).toEqual(["sent", "sent"]);
  });

  it("goes out late, and unmarked, where it is a file that never came", async () => {
    const { platform, plan, run, states } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send === 1 ? NEVER_CAME : "shown");
    await plan(photo("a"), text("two"), text("three"));
    await run();
    expect(platform.calls).toEqual(["sent two", "searched", "sent three", "sent sha256:a"]);
    expect(await states()).toEqual(["cancelled", "sent", "sent", "sent"]);
  });

  it("of a file that nothing was sent behind is found with the next answer, hours later", async () => {
    const { platform, clock, plan, run, states } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send === 1 ? NEVER_CAME : "shown");
    await plan(photo("a"));
    await run();
    expect(await states()).toEqual(["unknown"]);
    await clock.advance(23 * HOUR_MS);
    await platform.say(TO.chat, "where is the picture?");
    await plan(text("here"));
    await run();
    expect(platform.calls).toEqual(["sent here", "searched", "sent sha256:a"]);
  });

  it("of a file is let be after a day, and its body is forgotten", async () => {
    const { platform, clock, plan, run, database } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send === 1 ? NEVER_CAME : "shown");
    await plan(photo("a"));
    await run();
    await clock.advance(25 * HOUR_MS);
    await plan(text("here"));
    await run();
    expect(platform.calls).toEqual(["sent here"]);
    const left = await database.db.selectFrom("piece").select(["state", "body"]).orderBy("id").execute();
    expect(left[0]).toEqual({ state: "unknown", body: "" });
  });

  it("is let be where the platform cannot tell", async () => {
    const { platform, plan, run, states } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send <= 2 ? LOST : "shown");
    platform.search = () => "unknown";
    await plan(photo("a"), text("two"), text("three"));
    await run();
    expect(platform.calls).toEqual([
      "sent sha256:a",
      "sent two",
      `sent ${AGAIN}two`,
      "searched", // for the picture
      "searched", // for the text
      "sent three",
    ]);
    expect(await states()).toEqual(["unknown", "sent", "sent"]);
  });

  it("waits for a platform that cannot be asked now, as long as it says, and holds the chat", async () => {
    const { platform, clock, plan, run } = await setUp();
    const wait = new GatewayError("send.rate_limited", "wait", { retryAfterMs: 23_000 });
    platform.outcome = (_piece, _attempt, send) => (send === 1 ? LOST : "shown");
    platform.search = (search) => (search === 1 ? wait : "truth");
    await plan(text("one"), text("two"));
    await run(3_000);
    expect(platform.calls).toEqual(["sent one", `sent ${AGAIN}one`, "searched"]);
    await clock.advance(22_000);
    await run(0);
    expect(platform.calls).toHaveLength(3);
    await run(1_000);
    expect(platform.textsIn("c1")).toEqual(["one", "two"]);
  });

  it("is searched for again where the search itself is lost, and in the end no more", async () => {
    const { platform, plan, run, states } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send === 1 ? LOST : "shown");
    platform.search = () => new Error("the connection was reset");
    await plan(text("one"), text("two"));
    await run(5 * 60_000);
    expect(platform.searches).toBeLessThanOrEqual(10);
    expect(platform.textsIn("c1")).toEqual(["one", `${AGAIN}one`, "two"]);
    expect(await states()).toEqual(["sent", "sent"]);
  });

  it("is not searched for among messages of another topic, which the search could change", async () => {
    const { platform, chatIn, plan, run } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send <= 2 ? LOST : "shown");
    await plan(text("one"));
    await run(0);
    const topic = await chatIn("7");
    await plan({ ...topic, body: text("two") });
    await run(0, topic.chat);
    await run();
    expect(platform.searches).toBe(0);
    expect(platform.textsIn("c1")).toEqual(["one", "two", `${AGAIN}one`]);
  });

  it("that was to take the place of a message is simply made again", async () => {
    const { platform, plan, run } = await setUp();
    await plan(text("one"));
    await run();
    platform.outcome = (_piece, _attempt, send) => (send === 2 ? LOST : "shown");
    await plan({ body: text("one, corrected"), replaces: "p2" });
    await run();
    expect(platform.calls).toEqual(["sent one", "sent one, corrected", "sent one, corrected"]);
    expect(platform.textsIn("c1")).toEqual(["one, corrected"]);
  });

  it("after its place was refused is that of a message of its own, marked when it goes once more", async () => {
    const { platform, plan, run } = await setUp();
    platform.outcome = (_piece, _attempt, send) => (send === 2 ? LOST : "shown");
    await plan({ body: text("one"), replaces: "p99" });
    await run();
    expect(platform.calls).toEqual(["sent one", `sent ${AGAIN}one`, "searched", `took back ${AGAIN}one`]);
  });
});

eachDatabase("a chat", (open) => {
  it("waits for the pace of its platform, in order, without a word to the store", async () => {
    const { platform, clock, plan, run, database } = await delivery(await open());
    let readyAt = clock.now() + 1_500;
    platform.readyAt = () => readyAt;
    platform.outcome = () => {
      readyAt = clock.now() + 1_000;
      return "shown";
    };
    await plan(text("one"), text("two"));
    await run(1_499);
    expect(platform.sends).toBe(0);
    const rows = await database.db.selectFrom("piece").select(["state", "attempts", "not_before"]).execute();
    expect(rows).toEqual([
      { state: "planned", attempts: 0, not_before: 0 },
      { state: "planned", attempts: 0, not_before: 0 },
    ]);
    await clock.advance(1_499);
    await run(999);
    expect(platform.textsIn("c1")).toEqual(["one"]);
    await clock.advance(999);
    await run(1);
    expect(platform.textsIn("c1")).toEqual(["one", "two"]);
  });
});
