import { existsSync, readFileSync } from "node:fs";
import type { InlineKeyboardMarkup } from "grammy/types";
import { describe, expect, it } from "vitest";
import { armedPerch } from "../support/armed-perch.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Json, ModelRequest } from "../support/models/server.ts";
import { operatorFolder } from "../support/perch-process.ts";
import { NO_SANDBOX } from "../support/sandbox.ts";
import { startTelegram } from "../support/telegram/emulator.ts";

const ADA = 1_001;
const ONE_LINE = "echo done >> /chat/workspace/log; cat /chat/workspace/log | wc -l";
const TWO_LINES = "echo done >> /chat/workspace/log; sleep 20; echo late >> /chat/workspace/log";

type Point =
  | { readonly before: string }
  | { readonly after: string }
  /** As soon as the command has written its first line. */
  | { readonly during: true };

/**
 * Ends Perch once, at this point, while a command waits for a yes or is made after it, and starts it again; gives what has
 * become of it. From when on it may be ended: from the start, or from when Ada is asked.
 */
async function crash(
  from: "start" | "asked",
  point: Point,
): Promise<{
  readonly lines: readonly string[];
  readonly questions: number;
  readonly answers: readonly string[];
  readonly told: string;
}> {
  let told = "";
  const telegram = await startTelegram();
  const model = await startOpenAi({
    otherwise: (request: ModelRequest) => {
      const last = (request.body["messages"] as readonly Json[]).at(-1); // the protocol's own shape
      if (last?.["role"] === "tool") {
        told = String(last["content"]);
        return told.startsWith("Not run yet") ? "I have asked." : "It is done, as far as I know.";
      }
      if (!JSON.stringify(last?.["content"]).includes("go")) return "Still here.";
      const command = "during" in point ? TWO_LINES : ONE_LINE;
      return { toolCalls: [{ id: "call-1", name: "shell", args: { command } }] };
    },
  });
  const folder = await operatorFolder({
    "config/perch.yaml": [
      `channels: { tg: { kind: telegram, token: "\${TOKEN}", apiRoot: "${telegram.apiRoot}", agent: helper, owner: "${ADA}" } }`,
      "agents: { folder: ../agents }",
      "http: { port: 0 }",
    ].join("\n"),
    "agents/helper.md": `---\nmodel: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}\nshell: true\napprove: { tools: [shell] }\n---\nBe brief.\n`,
  });
  const { arm, disarm, start, seen, log } = armedPerch(folder, telegram, "during" in point ? {} : point);
  if (from === "start") arm();
  const shown = () => telegram.sentTo(ADA);
  const questions = () => shown().filter(({ text }) => text?.includes("May answer: the owner"));
  const alive = async (holds: () => boolean): Promise<void> =>
    await Promise.race([
      seen(holds),
      perch.ended.then((end) => Promise.reject(new Error(`perch ended with ${end}:\n${perch.output()}`))),
    ]);
  const again = async (): Promise<void> => {
    const code = await perch.ended;
    if (code !== null) throw new Error(`perch ended by itself with ${code}:\n${perch.output()}`);
    disarm();
    perch = start();
  };
  const ada = telegram.privateChat({ id: ADA, firstName: "Ada" });
  let perch = start();
  try {
    ada.sendText("go");
    if (from === "start") await again();
    await alive(() => questions().length > 0);
    if (from === "asked") arm();
    const [question] = questions();
    const keyboard = question?.replyMarkup as InlineKeyboardMarkup | undefined; // the emulator has checked it
    const allow = keyboard?.inline_keyboard.flat()[0] as { readonly callback_data?: string } | undefined; // as keyboardOf makes them
    ada.press(question?.messageId ?? 0, allow?.callback_data ?? "");
    if ("during" in point) {
      while (log() === undefined && perch.child.exitCode === null)
        await new Promise((resolve) => setImmediate(resolve));
      perch.child.kill("SIGKILL");
    }
    if (from === "asked") await again();
    await alive(() => shown().some(({ text }) => text === "It is done, as far as I know."));
    ada.sendText("are you there?");
    await alive(() => shown().some(({ text }) => text === "Still here."));
    const file = log();
    const lines =
      file !== undefined && existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
    const answers = shown().flatMap(({ text = "" }) => (ANSWERS.includes(text) ? [text] : []));
    return { lines, questions: questions().length, answers, told };
  } finally {
    perch.child.kill("SIGTERM");
    await perch.ended;
    await telegram.close();
    await model.close();
    await folder.remove();
  }
}

const ANSWERS = ["I have asked.", "It is done, as far as I know.", "Still here."];
const UNKNOWN = "begun before, and was cut off before it was known whether it took effect";

describe.skipIf(NO_SANDBOX)("kill -9 while a call waits for a yes, or is made after it", () => {
  it.each([
    ["before it is written down", "start", { before: 'insert into "approval"' }, 1, "1"],
    [
      "after it was written down, before the model has answered",
      "start",
      { after: 'insert into "approval"' },
      1,
      "1",
    ],
    [
      "before people are asked, when the answer is in the thread",
      "start",
      { before: 'insert into "question"' },
      1,
      "1",
    ],
    ["after the question was planned", "start", { after: 'insert into "question"' }, 1, "1"],
    ["before the press is committed", "asked", { before: 'update "approval"' }, 1, "1"],
    ["after the press was committed", "asked", { after: 'update "approval"' }, 1, "1"],
    [
      "after the call was written down, before it is made",
      "asked",
      { after: 'insert into "effect"' },
      0,
      UNKNOWN,
    ],
    ["while it is made", "asked", { during: true }, 1, UNKNOWN],
    ["before its result is written down", "asked", { before: 'update "effect"' }, 1, UNKNOWN],
    ["after its result was written down", "asked", { after: 'update "effect"' }, 1, "1"],
    ["after all of it is in the thread", "asked", { after: 'insert into "thread_checkpoint"' }, 1, "1"],
  ] as const)(
    "%s: people are asked once, and it is made once at most",
    { timeout: 90_000 },
    async (_what, from, point, effects, told) => {
      const seen = await crash(from, point);
      expect(seen.lines).toEqual(Array.from({ length: effects }, () => "done"));
      expect(seen.questions).toBe(1);
      expect(seen.answers).toEqual(ANSWERS);
      expect(seen.told).toContain(told);
    },
  );
});
