import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { armedPerch } from "../support/armed-perch.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Json, ModelRequest } from "../support/models/server.ts";
import { operatorFolder } from "../support/perch-process.ts";
import { NO_SANDBOX } from "../support/sandbox.ts";
import { startTelegram } from "../support/telegram/emulator.ts";

const ADA = 1_001;

type Point =
  | { readonly before: string }
  | { readonly after: string }
  /** As soon as the command has written its first line. */
  | { readonly during: true };

/** A command that has an effect: a line in a file, and another one after a while where that is what is cut off. */
const ONE_LINE = "echo done >> /chat/workspace/log; cat /chat/workspace/log | wc -l";
const TWO_LINES = "echo done >> /chat/workspace/log; sleep 20; echo late >> /chat/workspace/log";

/**
 * Ends Perch once, at this point of a turn that runs a command, or of a task in the background that does, and starts it
 * again; gives what has become of it.
 */
async function crash(
  point: Point,
  by: "turn" | "task" = "turn",
): Promise<{
  readonly lines: readonly string[];
  readonly answers: readonly string[];
  readonly commands: number;
  readonly told: string;
}> {
  let commands = 0;
  let told = "";
  const telegram = await startTelegram();
  const model = await startOpenAi({
    otherwise: (request: ModelRequest) => {
      const messages = request.body["messages"] as readonly Json[]; // the protocol's own shape
      const last = messages.at(-1);
      if (by === "task" && !JSON.stringify(messages[0]).includes("You are scout")) {
        if (last?.["role"] === "tool") return "It is begun.";
        if (!JSON.stringify(last?.["content"]).includes("go")) return "Still here.";
        return { toolCalls: [{ name: "start_task", args: { subagent: "scout", prompt: "go" } }] };
      }
      if (last?.["role"] === "tool") {
        told = String(last["content"]);
        return "It is done, as far as I know.";
      }
      if (!JSON.stringify(last?.["content"]).includes("go")) return "Still here.";
      commands += 1;
      const command = "during" in point ? TWO_LINES : ONE_LINE;
      return { toolCalls: [{ id: `call-${commands}`, name: "shell", args: { command } }] };
    },
  });
  const folder = await operatorFolder({
    "config/perch.yaml": [
      `channels: { tg: { kind: telegram, token: "\${TOKEN}", apiRoot: "${telegram.apiRoot}", agent: helper, allow: ["${ADA}"] } }`,
      "agents: { folder: ../agents }",
      "http: { port: 0 }",
    ].join("\n"),
    "agents/helper.md": `---\nmodel: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}\nshell: true\nsubagents: [scout]\nbackground: true\n---\nBe brief.\n`,
    "agents/scout.md": `---\nmodel: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}\nshell: true\n---\nYou are scout.\n`,
  });
  const { arm, disarm, start, seen, log } = armedPerch(folder, telegram, "during" in point ? {} : point);
  arm();
  const texts = (): readonly string[] => telegram.sentTo(ADA).map(({ text }) => text ?? "");
  const ada = telegram.privateChat({ id: ADA, firstName: "Ada" });
  let perch = start();
  try {
    ada.sendText("go");
    if ("during" in point) {
      while (log() === undefined && perch.child.exitCode === null)
        await new Promise((resolve) => setImmediate(resolve));
      perch.child.kill("SIGKILL");
    }
    const code = await perch.ended;
    if (code !== null) throw new Error(`perch ended by itself with ${code}:\n${perch.output()}`);
    disarm();
    perch = start();
    await Promise.race([
      seen(() => (by === "turn" ? texts().length > 0 : texts().some((text) => text.includes("t1 (scout)")))),
      perch.ended.then((end) => Promise.reject(new Error(`perch ended with ${end}:\n${perch.output()}`))),
    ]);
    ada.sendText("are you there?");
    await seen(() => texts().includes("Still here."));
    const file = log();
    const lines =
      file !== undefined && existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
    return { lines, answers: texts(), commands, told };
  } finally {
    perch.child.kill("SIGTERM");
    await perch.ended;
    await telegram.close();
    await model.close();
    await folder.remove();
  }
}

const ANSWERS = ["It is done, as far as I know.", "Still here."];
const UNKNOWN = "begun before, and was cut off before it was known whether it took effect";

describe.skipIf(NO_SANDBOX)("kill -9 in a turn whose tool has an effect", () => {
  it.each([
    ["before the call is written down: it is made once", { before: 'insert into "effect"' }, 1, 2, "1"],
    [
      "before the call is made: it is not made, and the model is told",
      { after: 'insert into "effect"' },
      0,
      1,
      UNKNOWN,
    ],
    [
      "while the call is made: it is cut off, not made again, and the model is told",
      { during: true },
      1,
      1,
      UNKNOWN,
    ],
    [
      "before the result is written down: it is not made again, and the model is told",
      { before: 'update "effect"' },
      1,
      1,
      UNKNOWN,
    ],
    ["after the result was written down: it is not made again", { after: 'update "effect"' }, 1, 1, "1"],
    [
      "after all of it is in the thread: it is not made again",
      { after: 'insert into "thread_checkpoint"' },
      1,
      1,
      "1",
    ],
  ] as const)("%s", { timeout: 90_000 }, async (_what, point, effects, commands, told) => {
    const seen = await crash(point);
    expect(seen.lines).toEqual(Array.from({ length: effects }, () => "done"));
    expect(seen.answers).toEqual(ANSWERS);
    expect(seen.commands).toBe(commands);
    expect(seen.told).toContain(told);
  });
});

it.skipIf(NO_SANDBOX)(
  "kill -9 in a background task whose tool has an effect: it is not made again, and the subagent is told",
  async () => {
    const seen = await crash({ during: true }, "task");
    expect(seen.lines).toEqual(["done"]);
    expect(seen.commands).toBe(1);
    expect(seen.told).toContain(UNKNOWN);
    expect(seen.answers.filter((text) => text.includes("t1 (scout) is done"))).toHaveLength(1);
  },
  90_000,
);
