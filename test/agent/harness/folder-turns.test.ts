import { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { folderTurns } from "../../../src/agent/harness/folder-turns.ts";
import type { Calling } from "../../../src/agent/harness/stage.ts";
import { settle } from "../../support/clock.ts";

/** Calls that end when the test says so, and which of them have been begun. */
function setUp() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const call = async (name: string, label = name, more: Partial<Calling> = {}): Promise<void> => {
    const calling: Calling = {
      call: { id: label, name, args: {} },
      tool: undefined,
      state: { messages: [] },
      turn: { folder: "/chats/7" },
      signal: undefined,
      ...more,
    };
    await folderTurns(calling, async () => {
      begun.push(label);
      await new Promise<void>((resolve) => ends.set(label, resolve));
      return new ToolMessage({ content: "", tool_call_id: label });
    });
  };
  const end = async (label: string): Promise<void> => {
    ends.get(label)?.();
    await settle();
  };
  return { begun, call, end };
}

describe("the folder of a chat", () => {
  it("is used by file tools at once, and by a command alone", async () => {
    const { begun, call, end } = setUp();
    const all = [
      call("read_file", "a"),
      call("write_file", "b"),
      call("shell", "c"),
      call("ls", "d"),
      call("shell", "e"),
    ];
    await settle();
    expect(begun).toEqual(["a", "b"]);
    await end("a");
    expect(begun).toEqual(["a", "b"]);
    await end("b");
    expect(begun).toEqual(["a", "b", "c"]);
    await end("c");
    expect(begun).toEqual(["a", "b", "c", "d"]);
    await end("d");
    await end("e");
    await Promise.all(all);
    expect(begun).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("is a turn's before it is another task's, which waits for none that runs", async () => {
    const { begun, call, end } = setUp();
    const task = { turn: { folder: "/chats/7", behind: { thread: "7/helper/1" } } } as const;
    const all = [
      call("shell", "task 1", task),
      call("shell", "task 2", task),
      call("read_file", "turn reads"),
      call("shell", "turn runs"),
      call("read_file", "task reads", task),
    ];
    await settle();
    for (const label of ["task 1", "turn reads"]) await end(label);
    await end("turn runs");
    await end("task 2");
    await end("task reads");
    await Promise.all(all);
    expect(begun).toEqual(["task 1", "turn reads", "turn runs", "task 2", "task reads"]);
    const more = [call("read_file", "a", task), call("shell", "b", task), call("read_file", "c")];
    await settle();
    expect(begun.slice(5)).toEqual(["a", "c"]);
    for (const label of ["a", "c", "b"]) await end(label);
    await Promise.all(more);
  });

  it("is no matter to another chat's, to other tools, or outside of a turn", async () => {
    const { begun, call, end } = setUp();
    const all = [
      call("shell", "a"),
      call("shell", "b", { turn: { folder: "/chats/8" } }),
      call("task", "c"),
      call("shell", "d", { turn: undefined }),
    ];
    await settle();
    expect(begun.toSorted()).toEqual(["a", "b", "c", "d"]);
    for (const label of begun) await end(label);
    await Promise.all(all);
  });

  it("is not waited for by a turn that has ended, and is free for the next", async () => {
    const { begun, call, end } = setUp();
    const turn = new AbortController();
    const first = call("shell", "a");
    const gone = call("shell", "b", { signal: turn.signal });
    const reads = call("ls", "c");
    await settle();
    turn.abort(new Error("stopped"));
    await expect(gone).rejects.toThrow("stopped");
    expect(begun).toEqual(["a"]);
    await end("a");
    expect(begun).toEqual(["a", "c"]);
    await end("c");
    await Promise.all([first, reads]);
  });
});
