import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LocalFacts } from "../../src/core/agent.ts";
import { onSqlite } from "../support/database.ts";
import type { Answer, Json } from "../support/models/server.ts";
import { WIRES, type WireName } from "./model-servers.ts";
import { definition } from "./set-up.ts";
import { wholeBench } from "./whole-bench.ts";

const open = onSqlite();

const EACH = Object.keys(WIRES) as WireName[];

const LOCAL: LocalFacts = { kind: "toy", chat: "private", people: ["Ada"], timeZone: "UTC", now: 1e12 };

describe.each(EACH)("an agent with all its stages and tools, over %s", (wire) => {
  it("goes on from one message with many calls, whatever becomes of each", async () => {
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.name);
    process.on("warning", listen);
    onTestFinished(() => void process.off("warning", listen));
    const bench = await wholeBench(await open(), {
      wire,
      fields: (agent) => ({
        files: true,
        todos: true,
        choices: true,
        subagents: {
          agents: [{ ...agent, name: "scout" }],
          atOnce: 1,
          mostPerTurn: 6,
          seconds: 60,
        },
      }),
    });
    const guard = join(bench.folder, "guard.mjs");
    await writeFile(
      guard,
      `export default ({ tool }) => tool !== "glob" || { allow: false, why: "no $& here" };`,
    );
    await mkdir(join(bench.folder, "outputs"));
    await writeFile(join(bench.folder, "outputs", "a.csv"), "1,2");
    const made: readonly (readonly [
      name: string,
      args: Readonly<Record<string, unknown>>,
      result: string,
    ])[] = [
      ["glob", { pattern: "*" }, "not allowed here: no $& here"],
      ["task", { subagent: "scout", prompt: "Look around." }, "Nothing in sight."],
      ["task", { subagent: "scout", prompt: "Look again." }, "at most 1 subagents work at once"],
      ["ls", { path: "/" }, "/outputs/ (directory)"],
      ["__proto__", {}, 'there is no tool "__proto__"'],
      ["a.b c", { deep: { x: null } }, 'there is no tool "a.b c"'],
      ["extract-text", {}, 'there is no tool "extract_text"'],
      ["write_todos", { todos: [{ content: "Book", status: "completed" }] }, "- completed: Book"],
      ["present_files", { paths: ["/outputs/a.csv"] }, "Sent with your answer"],
      ["read_file", { file_path: "/outputs/a.csv" }, "@@ lines 1-1 of 1 @@\n1,2"],
      ["write_file", { file_path: "/outputs/b", content: "$& \u0000" }, "Successfully wrote"],
      ["grep", { pattern: "1,2" }, "/outputs/a.csv"],
      ["grep", { pattern: 7 }, "the arguments do not fit"],
      ["offer_choices", { choices: ["Yes", "No"] }, "as buttons below"],
    ];
    const toolCalls = made.map(([name, args]) => ({ name, args }));
    bench.server.reply({ text: "I begin.", toolCalls }, "Nothing in sight.", "Shall I?");
    const corrections = [[], [{ id: "edit", text: "[it now says:]\n> tomorrow" }]];
    const turn = { local: LOCAL, recalled: "They like tea.", corrections: () => corrections.shift() ?? [] };
    const answer = await bench.run("1", "Book it", { ...turn, agent: { ...bench.agent, guard } });

    expect(answer).toMatchObject({ choices: ["Yes", "No"], corrected: ["edit"] });
    expect(answer.markdown).toBe("Shall I?\n\n![a\\.csv](</outputs/a.csv>)");
    const kept = await bench.messages();
    expect(kept.map(({ type }) => type)).toEqual(["human", "ai", ...made.map(() => "tool"), "human", "ai"]);
    for (const [at, [name, , result]] of made.entries()) {
      expect(kept[at + 2]).toMatchObject({ name: name.replace("extract-", "extract_") });
      expect(kept[at + 2]?.text).toContain(result);
    }
    bench.restart();
    expect(await bench.say("2", "Thank you")).toBe("Done.");
    expect(warnings).toEqual([]);
  });

  it("sends what it presented and offered early in a turn that was summed up behind that, and sees its circles", async () => {
    const bench = await wholeBench(await open(), {
      wire,
      fields: ({ limits }) => ({
        files: true,
        choices: true,
        limits: { ...limits, messages: 6 },
        subagents: { agents: [definition({ name: "scout" })], atOnce: 3, mostPerTurn: 1, seconds: 60 },
      }),
    });
    await mkdir(join(bench.folder, "outputs"));
    await writeFile(join(bench.folder, "outputs", "a.csv"), "1,2");
    const calls = (name: string, args: Json) => ({ toolCalls: [{ name, args }] });
    let step = 0;
    const say = ({ body }: { readonly body: Json }): Answer => {
      if (JSON.stringify(body).includes("You keep the record of a conversation"))
        return { text: "## Goal\nx" };
      step += 1;
      if (step === 1) return calls("present_files", { paths: ["/outputs/a.csv"] });
      if (step === 2) return calls("offer_choices", { choices: ["Yes", "No"] });
      if (step === 3 || step === 10) return calls("task", { subagent: "scout", prompt: "Look." });
      if (step < 20) return calls(step % 2 === 0 ? "ls" : "glob", { path: "/", pattern: "*" });
      return { text: "It goes on." };
    };
    bench.server.reply(...Array<typeof say>(60).fill(say));
    const answer = await bench.run("1", "Do it");
    expect(answer.markdown).toMatch(/\n\n!\[a\\\.csv\]\(<\/outputs\/a\.csv>\)$/);
    expect(answer.choices).toEqual(["Yes", "No"]);
    expect(bench.logged.map(({ sentence }) => sentence)).toContain(
      "a turn goes in circles; the model is asked for its last word",
    );
    const asked = bench.server.requests.map(({ body }) => JSON.stringify(body));
    expect(asked.some((body) => body.includes("at most 1 subagents work in one turn"))).toBe(true);
    bench.restart();
    expect(await bench.run("1", "Do it")).toMatchObject({ ...answer, replayed: true });
  });

  it("keeps all that was said, also where a server counts its answers anew", async () => {
    const bench = await wholeBench(await open(), { wire, fields: () => ({ todos: true }) });
    const other = await WIRES[wire].start();
    onTestFinished(() => other.close());
    const agent = { ...bench.agent, model: { ...bench.agent.model, baseUrl: other.url } };
    const step = { text: "Let me see.", toolCalls: [{ name: "write_todos", args: { todos: [] } }] };
    bench.server.reply(step, "One.");
    other.reply(step, { text: " " }, "Two.");
    const shown: string[] = [];
    await bench.say("1", "first");
    await bench.run("2", "second", { agent, onText: (text) => void shown.push(text) });
    const spoken = (await bench.messages()).filter((message) => AIMessage.isInstance(message));
    expect(spoken.map(({ text }) => text)).toEqual(["Let me see.", "One.", "Let me see.", "Two."]);
    expect(new Set(spoken.map(({ id }) => id)).size).toBe(4);
    expect(shown.at(-1)).toBe("Two.");
    expect(shown).not.toContain("Let me see.Two.");
  });
});

it("says in the log that a model refuses tools, once", async () => {
  const bench = await wholeBench(await open(), { fields: () => ({ todos: true }) });
  bench.server.reply({ fault: "status", status: 400, message: "this model does not support tools" });
  expect(await bench.say("1", "hello")).toBe("Done.");
  expect(await bench.say("2", "hello")).toBe("Done.");
  const said = "a model refuses tools, and is asked without any from now on";
  expect(bench.logged.filter(({ sentence }) => sentence === said)).toHaveLength(1);
});
