import { describe, expect, it } from "vitest";
import { ADA, approvalPerch as setUp } from "./approval-perch.ts";

const ALLOWED = "is made now";

describe("an allowed call whose turn comes to nothing", () => {
  it("was not made where its agent is gone, or is a graph by now, and the agent is told so when it is back", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.placed();
    perch.uses((agent) => ({ ...agent, graph: "none.js" }));
    await perch.press("Allow");
    await perch.until("Something went wrong");
    perch.uses((agent) => agent);
    await perch.says("so?");
    expect((await perch.until("heard:")).text).toContain("[stopped: your call of");
    await perch.says("sure?");
    expect((await perch.until("heard: sure?")).text).not.toContain("stopped");
    expect(perch.file("a")).toBeUndefined();
  });

  it("was made where the model fails behind it, and the agent is not told otherwise", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.placed();
    perch.model.reply({ fault: "status", status: 401 });
    await perch.press("Allow");
    await perch.until("The model");
    expect(perch.file("a")).toContain("a\n");
    await perch.says("so?");
    await perch.until("heard: so?");
    const thread = JSON.stringify(perch.model.requests.at(-1)?.body["messages"]);
    expect(thread).toContain("Success");
    expect(thread).not.toContain("[stopped:");
  });
});

describe("a call that a turn has put off which a pause cuts off", () => {
  it("is asked about with the turn that answers after it, and blocks nothing", async () => {
    const perch = await setUp();
    let paused = false;
    perch.model.on("request", async ({ body }) => {
      if (paused || !JSON.stringify(body["messages"]).includes("Not run yet")) return;
      paused = true;
      await perch.says("/pause");
    });
    await perch.says("write a");
    await perch.until("/resume");
    await perch.says("please", ADA);
    await perch.says("/resume");
    await perch.until("May answer");
    expect((await perch.state()).toSorted()).toEqual(["noted", "open"]);
    await perch.press("Allow");
    await perch.until("it says: Success");
    expect(perch.file("a")).toContain("a\n");
  });
});

describe("a press", () => {
  it("is one of a question that has just expired where it comes in that millisecond, and not a moment before", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.placed();
    const { expires_at: at } = await perch
      .db()
      .selectFrom("question")
      .select("expires_at")
      .executeTakeFirstOrThrow();
    await perch.clock.advance(at - perch.clock.now() - 1);
    expect(await perch.state()).toEqual(["open"]);
    expect(await perch.press("Allow")).toBeUndefined();
    await perch.until("it says: Success");
  });

  it("leads to nothing once all of the chat is forgotten, and leaves nothing that waits", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.placed();
    const key = await perch.db().selectFrom("choice").select("key").limit(1).executeTakeFirstOrThrow();
    await perch.says("/forget all");
    await perch.until("forgotten");
    expect(await perch.press("Allow", ADA, undefined, 0, key.key)).toBe("That has expired.");
    expect(
      await perch.db().selectFrom("inbox").select("id").where("task", "=", "approved").execute(),
    ).toEqual([]);
  });
});

it("an allowed call that is stopped while the agent tells of it is known as made", async () => {
  const perch = await setUp();
  await perch.says("write a");
  await perch.placed();
  let stopped = false;
  perch.model.on("request", async ({ body }) => {
    if (stopped || !JSON.stringify(body["messages"]).includes(ALLOWED)) return;
    stopped = true;
    await perch.says("/stop");
  });
  await perch.press("Allow");
  await perch.until("topped");
  await perch.says("so?");
  await perch.until("heard: so?");
  expect(perch.file("a")).toContain("a\n");
  const thread = JSON.stringify(perch.model.requests.at(-1)?.body["messages"]);
  expect(thread).toContain("Success");
  expect(thread).not.toContain("[stopped:");
});
