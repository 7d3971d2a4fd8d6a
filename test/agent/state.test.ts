import { Command, END, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { AIMessage, createAgent, createMiddleware, fakeModel } from "langchain";
import { describe, expect, it } from "vitest";
import { STATE, type State } from "../../src/agent/state.ts";

/** A thread whose every turn has two steps side by side that write these fields, as two tools of one message do. */
function thread(one: State, other: State) {
  const graph = new StateGraph(STATE)
    .addNode("one", () => one as never) // of the fields that STATE declares
    .addNode("other", () => other as never)
    .addEdge(START, "one")
    .addEdge(START, "other")
    .addEdge("one", END)
    .addEdge("other", END)
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "1" } };
  return {
    turn: async (input: State = {}) => void (await graph.invoke(input, config)),
    kept: async () => (await graph.getState(config)).values as State,
  };
}

const task = (id: string, status: "running" | "success") =>
  ({ id, agent: "a", description: "", status, createdAt: 0 }) as unknown as NonNullable<
    State["asyncTasks"]
  >[string]; // what the reducer looks at
const file = (path: string) => ({ path, mimeType: "text/plain", bytes: 1 });
const picture = (blob: string) =>
  [{ type: "image", blob }] as unknown as NonNullable<State["viewedImages"]>[string]; // as above

describe("what a thread keeps, written by two tools at once, in two turns", () => {
  it.each<readonly [string, State, State, State]>([
    ["one sandbox", { sandbox: { id: "s" } }, { sandbox: { id: "s" } }, { sandbox: { id: "s" } }],
    ["the first title", { title: "A" }, { title: "B" }, { title: "A" }],
    [
      "artifacts in their order, each once",
      { artifacts: ["a", "b"] },
      { artifacts: ["b", "c"] },
      { artifacts: ["a", "b", "c"] },
    ],
    [
      "the newest list of what is to be done",
      { todos: [{ content: "a", status: "pending" }] },
      { todos: [] },
      { todos: [] },
    ],
    [
      "this message's files",
      { uploadedFiles: [file("a")] },
      { uploadedFiles: [file("b")] },
      { uploadedFiles: [file("b")] },
    ],
    [
      "what was looked at, of both",
      { viewedImages: { "/a": picture("1") } },
      { viewedImages: { "/b": picture("2") } },
      { viewedImages: { "/a": picture("1"), "/b": picture("2") } },
    ],
    [
      "tools that were searched for, of one catalogue",
      { promoted: { catalogue: "x", names: ["a"] } },
      { promoted: { catalogue: "x", names: ["b", "a"] } },
      { promoted: { catalogue: "x", names: ["a", "b"] } },
    ],
    [
      "tasks of both; what is over stays so",
      { asyncTasks: { t1: task("t1", "success") } },
      { asyncTasks: { t1: task("t1", "running"), t2: task("t2", "running") } },
      { asyncTasks: { t1: task("t1", "success"), t2: task("t2", "running") } },
    ],
  ])("is %s", async (_what, one, other, expected) => {
    const { turn, kept } = thread(one, other);
    await turn();
    expect(await kept()).toMatchObject(expected);
    await turn();
    expect(await kept()).toMatchObject(expected);
  });

  it("is what it was where nothing is said of it", async () => {
    const { turn, kept } = thread({}, {});
    const before: State = { title: "A", todos: [{ content: "a", status: "pending" }], artifacts: ["a"] };
    await turn(before);
    await turn({});
    expect(await kept()).toMatchObject(before);
  });

  it("has tools of another catalogue in the place of those that were searched for", async () => {
    const { turn, kept } = thread({}, {});
    await turn({ promoted: { catalogue: "x", names: ["a"] } });
    await turn({ promoted: { catalogue: "y", names: ["b", "b"] } });
    expect((await kept()).promoted).toEqual({ catalogue: "y", names: ["b"] });
    await turn({ promoted: { catalogue: "z", names: [] } });
    expect((await kept()).promoted).toEqual({ catalogue: "y", names: ["b"] });
  });

  it("has nothing to show once what was looked at was shown", async () => {
    const { turn, kept } = thread({}, {});
    await turn({ viewedImages: { "/a": picture("1") } });
    await turn({ viewedImages: {} });
    expect((await kept()).viewedImages).toEqual({});
  });

  it("fails where two sandboxes are named", async () => {
    const { turn } = thread({ sandbox: { id: "s" } }, { sandbox: { id: "other" } });
    await expect(turn()).rejects.toThrow('two sandboxes were named for one thread, "s" and "other"');
  });
});

/* oxlint-disable no-underscore-dangle -- LangChain takes such names for private */
it("is private by its name: no input sets it and no result shows it, and it stays from turn to turn", async () => {
  const seen: (string | undefined)[] = [];
  const agent = createAgent({
    model: fakeModel(),
    tools: [],
    checkpointer: new MemorySaver(),
    middleware: [
      createMiddleware({
        name: "Keeps",
        stateSchema: STATE,
        wrapModelCall({ state }) {
          seen.push((state as unknown as State)._summary?.text); // as STATE declares it
          const _summary = { text: `turn ${seen.length}`, path: "", times: 1 };
          return new Command({ update: { _summary, title: "A", messages: [new AIMessage("ok")] } });
        },
      }),
    ],
  });
  const config = { configurable: { thread_id: "1" } };
  const input = {
    messages: [{ role: "user", content: "hello" }],
    _summary: { text: "not mine", path: "", times: 9 },
  };
  const first = await agent.graph.invoke(input as never, config); // what nobody may set
  await agent.graph.invoke(input as never, config);
  expect(seen).toEqual([undefined, "turn 1"]);
  expect(Object.keys(first)).toContain("title");
  expect(Object.keys(first).filter((name) => name.startsWith("_"))).toEqual([]);
});
/* oxlint-enable no-underscore-dangle */
