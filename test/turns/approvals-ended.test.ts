import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentTurn } from "../../src/core/agent.ts";
import { atDesk, closeAll, HOUR_MS, SECRETARY, setUp as scheduled, wish } from "../schedules/secretary.ts";
import { textOf } from "../support/gateway.ts";
import { ADA, approvalPerch as setUp } from "./approval-perch.ts";

const ALLOWED = "is made now";

describe("an allowed call whose turn comes to nothing", () => {
  it("was not made where its agent is gone, or is a graph by now, and the agent is told so when it is back", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.placed();
    perch.uses((agent) => ({ ...agent, graph: "none.js" }));
    await perch.press("Allow");
    await perch.until("something went wrong");
    perch.uses((agent) => agent);
    await perch.says("so?");
    expect((await perch.until("heard:")).text).toContain("the turn that was to make it was cut off");
    await perch.says("sure?");
    expect((await perch.until("heard: sure?")).text).toBe("heard: sure?");
    expect(perch.file("a")).toBeUndefined();
  });

  it("was made where the model fails behind it, and its result stands in the thread", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.placed();
    perch.model.reply({ fault: "status", status: 401 });
    await perch.press("Allow");
    await perch.until("the model does not accept");
    expect(perch.file("a")).toContain("a\n");
    await perch.says("so?");
    await perch.until("heard:");
    const thread = JSON.stringify(perch.model.requests.at(-1)?.body["messages"]);
    expect(thread).toContain("where no result of it stands above");
    expect(thread).toContain("Success");
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
    await perch.until("Everything of this chat");
    expect(await perch.press("Allow", ADA, undefined, 0, key.key)).toBe("That has expired.");
    expect(
      await perch.db().selectFrom("inbox").select("id").where("task", "=", "approved").execute(),
    ).toEqual([]);
  });
});

it("a time that was due and has nothing to say but a question is one that was told of, and counted", async () => {
  const asks = async (turn: AgentTurn): Promise<string> => {
    const call = {
      call: `${turn.messageId}/a`,
      step: "{}",
      result: "{}",
      tool: "send",
      args: { at: turn.messageId },
    };
    await turn.approvals?.ask({ ...call, who: "anyone", minutes: 60 });
    return "[SILENT]";
  };
  const answer = async (turn: AgentTurn): Promise<string> =>
    textOf(turn).startsWith("[scheduled:") ? await asks(turn) : await atDesk(turn);
  const agents = [{ ...SECRETARY, approve: { tools: ["send"], minutes: 60 } }];
  const perch = await scheduled({ answer, agents, rules: { unaskedPerDay: 1 } });
  onTestFinished(closeAll);
  await perch.say(wish({ everyMinutes: 30 }));
  await perch.clock.advance(3 * HOUR_MS);
  expect(perch.platform.textsIn("c1").join("\n")).toContain("May answer: everybody here");
  expect(perch.given()).toHaveLength(1);
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
  await perch.until("heard:");
  expect(perch.file("a")).toContain("a\n");
  const thread = JSON.stringify(perch.model.requests.at(-1)?.body["messages"]);
  expect(thread).toContain(
    "was cut off; where no result of it stands above, find out whether it took effect",
  );
});
