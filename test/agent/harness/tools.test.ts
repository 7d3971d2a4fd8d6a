import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { withoutMachinePaths } from "../../../src/agent/harness/machine-paths.ts";
import type { Called, Calling } from "../../../src/agent/harness/stage.ts";
import { knownTools, plainResults } from "../../../src/agent/harness/tools.ts";
import { Shelf } from "../../../src/agent/tools/shelf.ts";
import { manualClock } from "../../support/clock.ts";

const FOLDER = "/srv/perch/chats/7";

function calling(fields: Partial<Calling> = {}): Calling {
  return {
    call: { id: "c", name: "work", args: {} },
    tool: undefined,
    state: { messages: [] },
    turn: { folder: FOLDER },
    signal: undefined,
    ...fields,
  };
}

const named = (name: string, metadata = {}, timeout = {}) =>
  tool(() => "", { name, description: name, schema: z.object({}), metadata: { ...metadata, ...timeout } });

async function plain(
  work: () => Promise<Called>,
  fields: Partial<Calling> = {},
  clock = systemClock,
): Promise<ToolMessage> {
  const result = await plainResults({ clock })(calling(fields), work);
  if (!ToolMessage.isInstance(result)) throw new Error("a message was expected");
  return result;
}

function throwing(error: unknown): () => Promise<never> {
  return async () => {
    throw error;
  };
}

describe("a tool that throws", () => {
  it.each([
    ["says what it was", new Error("the server is closed"), "Error: the server is closed"],
    ["may throw what is no error", "just words", "Error: just words"],
    ["may have said nothing", new Error(""), "Error: it failed and said nothing"],
    [
      "names the chat's files as the agent does",
      new Error(`no ${FOLDER}/uploads/a.txt`),
      "Error: no /uploads/a.txt",
    ],
    [
      "names nothing of the machine",
      new Error("ENOENT: open '/srv/perch/perch.db'"),
      "Error: ENOENT: open '…/perch.db'",
    ],
    ["shows no stack", new Error("bad\n    at run (file:///usr/lib/x.js:3:7)\nthing"), "Error: bad\nthing"],
    ["shows no control characters", new Error("a\u0000b\u001B[31m"), "Error: a\u{FFFD}b\u{FFFD}[31m"],
  ])("%s", async (_what, error, content) => {
    expect(await plain(throwing(error))).toMatchObject({
      content,
      status: "error",
      tool_call_id: "c",
      name: "work",
    });
  });

  it("is cut after 500 characters, between two signs", async () => {
    const { text } = await plain(throwing(new Error("😀".repeat(1_000))));
    expect(text.length).toBeLessThanOrEqual(507);
    expect(text.isWellFormed()).toBe(true);
  });

  it("ends the run where the hold is lost, and where the turn is over", async () => {
    const lost = new GatewayError("store.hold_lost", "gone");
    await expect(plain(throwing(lost))).rejects.toBe(lost);
    const over = AbortSignal.abort(new Error("stopped"));
    await expect(plain(throwing(new Error("x")), { signal: over })).rejects.toThrow("stopped");
  });
});

describe("a tool that hangs", () => {
  it.each([
    ["two minutes", {}, 120_000],
    ["as long as it says itself", { timeoutSeconds: 7 }, 7_000],
    ["two minutes where it says nonsense", { timeoutSeconds: -1 }, 120_000],
  ])("is given up after %s", async (_what, metadata, ms) => {
    const clock = manualClock();
    const result = plain(() => new Promise<Called>(() => {}), { tool: named("work", metadata) }, clock);
    await clock.advance(ms - 1);
    await clock.advance(1);
    const { text, status } = await result;
    expect({ text, status }).toEqual({
      text: `Error: it took longer than ${ms / 1_000} s and was given up; what it has done is not known`,
      status: "error",
    });
  });

  it("may fail later, and nobody is told", async () => {
    const stray: unknown[] = [];
    const heard = (error: unknown): void => void stray.push(error);
    process.on("unhandledRejection", heard);
    onTestFinished(() => void process.off("unhandledRejection", heard));
    const clock = manualClock();
    let fail = (_error: Error): void => {};
    const result = plain(() => new Promise<Called>((_resolve, reject) => (fail = reject)), {}, clock);
    await clock.advance(120_000);
    expect((await result).status).toBe("error");
    fail(new Error("too late"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(stray).toEqual([]);
  });

  it("ends with its turn at once, and leaves no listener and no timer", async () => {
    const turn = new AbortController();
    const clock = manualClock();
    const result = plain(() => new Promise<Called>(() => {}), { signal: turn.signal }, clock);
    turn.abort(new Error("stopped"));
    await expect(result).rejects.toThrow("stopped");
    const removed: string[] = [];
    const kept = new AbortController();
    const { signal } = kept;
    signal.removeEventListener = (name: string) => void removed.push(name);
    await plain(async () => new ToolMessage({ content: "x", tool_call_id: "c" }), { signal }, clock);
    expect(removed).toContain("abort");
  });
});

describe("a result", () => {
  it("is text, without the paths of the machine and without what no text holds", async () => {
    const content = [
      { type: "text" as const, text: `in ${FOLDER}/workspace/a\u0000b` },
      { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } },
    ];
    const message = new ToolMessage({ content, tool_call_id: "c", id: "m", artifact: { bytes: "many" } });
    const result = await plain(async () => message);
    expect(result).toMatchObject({ content: "in /workspace/a\u{FFFD}b", id: "m", name: "work" });
    expect(result.artifact).toBeUndefined();
  });

  it("in a Command is text too, and the rest of that stays", async () => {
    const message = new ToolMessage({
      content: [{ type: "text", text: `${FOLDER}/outputs/a` }],
      tool_call_id: "c",
    });
    const command = new Command({ update: { artifacts: ["/outputs/a"], messages: [message] } });
    const result = (await plainResults({ clock: systemClock })(calling(), async () => command)) as Command;
    const { artifacts, messages } = result.update as { artifacts: unknown; messages: ToolMessage[] };
    expect([artifacts, messages[0]?.content]).toEqual([["/outputs/a"], "/outputs/a"]);
  });
});

describe("a tool that there is not", () => {
  const more = [
    named("more", { deferred: true, words: "x".repeat(100) }),
    named("other", { deferred: true }),
  ];
  const refusedOf = async (
    parts: Parameters<typeof knownTools>[0],
    fields: Partial<Calling> = {},
  ): Promise<string> => {
    const result = await knownTools(parts)(
      calling(fields),
      async () => new ToolMessage({ content: "ran", tool_call_id: "c" }),
    );
    return ToolMessage.isInstance(result) ? result.text : "";
  };

  it("is answered with those that there are, but not with hidden ones", async () => {
    const tools = [named("ls"), named("shell"), ...more];
    const shelf = new Shelf(tools, () => []);
    Object.defineProperty(shelf, "now", {
      value: () => ({ ...Shelf.prototype.now.call(shelf), hidden: true }),
    });
    expect(await refusedOf({ tools, shelf })).toBe(
      'Error: there is no tool "work". Your tools are: ls, shell.',
    );
    const promoted = { catalogue: shelf.now().catalogue, names: ["other"] };
    expect(await refusedOf({ tools, shelf }, { state: { messages: [], promoted } })).toBe(
      'Error: there is no tool "work". Your tools are: ls, shell, other.',
    );
    expect(await refusedOf({ tools, shelf: new Shelf(tools, () => []) })).toContain(
      "ls, shell, more, other.",
    );
  });

  it("may be called anything", async () => {
    const call = { id: "c", name: `"<b>${"x".repeat(500)}`, args: {} };
    const words = await refusedOf({ tools: [] }, { call });
    expect(words).toMatch(/^Error: there is no tool "\\"\\u003cb\\u003ex+"\. You have no tools\.$/);
    expect(words.length).toBeLessThan(200);
  });

  it("is no matter where there is one", async () => {
    expect(await refusedOf({ tools: [] }, { tool: named("work") })).toBe("ran");
  });
});

describe("paths of the machine", () => {
  it.each([
    ["open '/home/op/perch/data/x.db' failed", "open '…/x.db' failed"],
    ["/srv/perch/chats/8/uploads/a.txt", "…/a.txt"],
    ["in file:///usr/lib/node/x.js now", "in …/x.js now"],
    ["C:\\Users\\op\\perch.yaml is missing", "…/perch.yaml is missing"],
    ["see https://host/usr/share/x and /uploads/a.txt", "see https://host/usr/share/x and /uploads/a.txt"],
    ["GET /api/v1/users: 404", "GET /api/v1/users: 404"],
    ["/workspace/var/log.txt has no line 3", "/workspace/var/log.txt has no line 3"],
    ["and/or, 1/2, a /etc", "and/or, 1/2, a …/etc"],
  ])("%s", (words, shown) => {
    expect(withoutMachinePaths(words, FOLDER)).toBe(shown);
  });
});
