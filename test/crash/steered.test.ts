import { describe, expect, it } from "vitest";
import { armedPerch } from "../support/armed-perch.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Answer, Json, ModelRequest } from "../support/models/server.ts";
import { operatorFolder } from "../support/perch-process.ts";
import { startTelegram } from "../support/telegram/emulator.ts";

const ADA = 1_001;
const FIRST = "m1-1";
const SECOND = "m1-2";
const TOKEN = /m\d+-\d+/g;

type Point =
  /** A statement that is about to be run, or that was committed; from the first step of the agent on. */
  | { readonly before: string }
  | { readonly after: string }
  /** As soon as the model is asked with the message that came meanwhile. */
  | { readonly asked: true };

/** What people had said that was unanswered yet, in each request. */
type Asked = readonly (readonly string[])[];

/**
 * One message, and another while its turn runs; Perch is ended once, at this point, and started again. Gives how often each
 * was answered on the platform, in order, and what the model was asked for since, but for a third message at the end.
 */
async function crash(
  point: Point,
  during: "steer" | "interrupt",
): Promise<{ readonly answered: readonly string[]; readonly asked: Asked }> {
  const telegram = await startTelegram();
  let kills = 0;
  const asked: (readonly string[])[] = [];
  const ada = telegram.privateChat({ id: ADA, firstName: "Ada" });
  let steps = 0;
  const answer = (request: ModelRequest): Answer => {
    const open = openIn(request.body);
    if (kills > 0) asked.push(open);
    if (steps === 0) ada.sendText(SECOND);
    steps += 1;
    // Its first life goes on with its tools until it is told more.
    if (kills === 0 && !open.includes(SECOND))
      return {
        toolCalls: [
          { id: `c${steps}`, name: "offer_choices", args: { choices: [`Tea ${steps}`, "Coffee"] } },
        ],
        delayMs: 150,
      };
    return { text: `re ${open.join(" ")}` };
  };
  const model = await startOpenAi({ otherwise: answer });
  const folder = await operatorFolder({
    "config/perch.yaml": [
      `channels: { tg: { kind: telegram, token: "\${TOKEN}", apiRoot: "${telegram.apiRoot}", agent: helper, during: ${during}, allow: ["${ADA}"] } }`,
      "agents: { folder: ../agents }",
      "http: { port: 0 }",
    ].join("\n"),
    "agents/helper.md": `---\nmodel: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}\nchoices: true\n---\nBe brief.\n`,
  });
  const { arm, disarm, start, seen } = armedPerch(folder, telegram, "asked" in point ? {} : point);
  let perch = start();
  model.on("request", ({ body }) => {
    if (kills > 0) return;
    if (!("asked" in point)) arm();
    else if (openIn(body).includes(SECOND)) perch.child.kill("SIGKILL");
  });
  const tokens = (): readonly string[] =>
    telegram.sentTo(ADA).flatMap(({ text }) => (text ?? "").match(TOKEN) ?? []);
  const answered = (token: string): Promise<void> => seen(() => tokens().includes(token));
  try {
    ada.sendText(FIRST);
    const code = await perch.ended;
    if (code !== null) throw new Error(`perch ended by itself with ${code}:\n${perch.output()}`);
    kills += 1;
    disarm();
    perch = start();
    const died = perch.ended.then((end) =>
      Promise.reject(new Error(`perch ended with ${end}:\n${perch.output()}`)),
    );
    await Promise.race([Promise.all([answered(FIRST), answered(SECOND)]), died]);
    // A second answer to either would stand before the answer to this.
    ada.sendText("m1-3");
    await Promise.race([answered("m1-3"), died]);
    return { answered: tokens(), asked: asked.slice(0, -1) };
  } finally {
    perch.child.kill("SIGTERM");
    await perch.ended;
    await telegram.close();
    await model.close();
    await folder.remove();
  }
}

/** What people have said that no answer stands behind yet. */
function openIn(body: Json): readonly string[] {
  const messages = body["messages"] as readonly Json[]; // the protocol's own shape
  const answered = messages.findLastIndex(
    ({ role, tool_calls: calls }) => role === "assistant" && calls === undefined,
  );
  const said = messages.slice(answered + 1).filter(({ role }) => role === "user");
  return [...new Set(JSON.stringify(said.map(({ content }) => content)).match(TOKEN) ?? [])];
}

const CLAIM = 'update "inbox" set "state" = ?, "claims" = "claims" + ?';
const JOIN = 'update "inbox" set "state" = ?, "intent" = ?';
const APART = [[FIRST], [SECOND]];
const TOGETHER = [[FIRST, SECOND]];

describe("kill -9 around a message that is steered into a turn", () => {
  it.each([
    ["before it is claimed: it is shown to the next attempt", { before: CLAIM }, TOGETHER],
    ["after it was claimed: it has the next turn", { after: CLAIM }, APART],
    ["while the model is asked with it: it has the next turn", { asked: true }, APART],
    [
      "after the model has answered both, before that is in the thread: it has the next turn",
      { before: 'insert into "thread_checkpoint"' },
      APART,
    ],
    [
      "after the answer is in the thread: that is what both are answered with",
      { after: 'insert into "thread_checkpoint"' },
      [],
    ],
    ["after the answer was committed: that is sent", { after: 'insert into "piece"' }, []],
  ] as const)("%s", { timeout: 90_000 }, async (_what, point, asked) => {
    const seen = await crash(point, "steer");
    expect(seen.answered).toEqual([FIRST, SECOND, "m1-3"]);
    expect(seen.asked).toEqual(asked);
  });
});

describe("kill -9 around a message that interrupts a turn", () => {
  it.each([
    ["before the turn is broken off", { before: JOIN }],
    ["after it was", { after: JOIN }],
    ["while the next one asks its model", { asked: true }],
    ["after the answer is in the thread", { after: 'insert into "thread_checkpoint"' }],
  ] as const)("%s: both are answered as one, once", { timeout: 90_000 }, async (_what, point) => {
    const seen = await crash(point, "interrupt");
    expect(seen.answered).toEqual([FIRST, SECOND, "m1-3"]);
    expect(seen.asked.at(-1) ?? [FIRST, SECOND]).toEqual([FIRST, SECOND]);
  });
});
