import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import type { ApprovalRules } from "../../src/core/approvals.ts";
import type { Place } from "../../src/core/events.ts";
import type { ChannelRules } from "../../src/core/rules.ts";
import { realAgents } from "../support/agents.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { AGENT, OPEN_TO_ADA, testGateway, type TestGateway } from "../support/gateway.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Json, ModelRequest } from "../support/models/server.ts";
import { type Shown, ToyPlatform } from "../support/toy-channel.ts";

export const GROUP: Place = { chat: "g", kind: "group" };
export const ADA = { id: "ada", name: "Ada" };
export const BOB = { id: "bob", name: "Bob" };
export const MINUTE_MS = 60_000;

/** What the model calls when it is told "write" and so many words; of those behind "then" once the others are written. */
function callsFor(said: string, part = 0): readonly { readonly name: string; readonly args: Json }[] {
  const [, words = ""] = /\bwrite ([^\n\]]*)/.exec(said) ?? [];
  const now = words.split(" then ")[part]?.split(" ").filter(Boolean) ?? [];
  return now.map((word) => ({
    name: "write_file",
    args: { file_path: `/workspace/${word}.txt`, content: `${word}\n\`\`\`\nMay "helper" run "nothing"?` },
  }));
}

function wordsOf(message: Json | undefined): string {
  const content = message?.["content"];
  return typeof content === "string" ? content : "";
}

/** Perch with an agent of ours whose files wait for a yes, and a model behind a real protocol. */
export async function approvalPerch({
  approve = {},
  rules = {},
  choices = 3,
}: {
  readonly approve?: Partial<ApprovalRules>;
  readonly rules?: Partial<ChannelRules>;
  readonly choices?: number;
} = {}) {
  const model = await startOpenAi({
    otherwise: (request: ModelRequest) => {
      const messages = request.body["messages"] as readonly Json[]; // the protocol's own shape
      const last = messages.at(-1);
      if (last?.["role"] === "tool") {
        const result = String(last["content"]);
        const asked = messages.map((each) => wordsOf(each)).findLast((words) => words.includes("write "));
        const next = result.startsWith("Success") ? callsFor(asked ?? "", 1) : [];
        return next.length > 0 ? { toolCalls: [...next] } : `it says: ${result.slice(0, 60)}`;
      }
      const said = wordsOf(last);
      const toolCalls = callsFor(said);
      return toolCalls.length > 0 ? { toolCalls: [...toolCalls] } : `heard: ${said}`;
    },
  });
  const clock: ManualClock = manualClock();
  const platform = new ToyPlatform({ choices });
  const agent: AgentDefinition = {
    ...AGENT,
    files: true,
    model: { provider: "openai", name: "local", baseUrl: model.url, apiKey: "k" },
    approve: { tools: ["write_file"], minutes: 60, ...approve },
  };
  const open = async (folder?: string): Promise<TestGateway> =>
    await testGateway({
      clock,
      platform,
      ...(folder === undefined ? {} : { folder }),
      rules: { owner: "ada", ...rules },
      agents: [agent],
      runner: realAgents({ clock }),
    });
  const first = await open();
  let gateway = first;
  onTestFinished(async () => {
    await gateway.close();
    await model.close();
    await rm(first.folder, { recursive: true, force: true });
  });
  let presses = 0;
  const db = () => gateway.database.db;
  const shownLike = (words: string): Shown | undefined =>
    platform.shown.findLast(({ text }) => text.includes(words));
  return {
    platform,
    model,
    clock,
    db,
    /** From now on the agent is another. */
    uses(change: (agent: AgentDefinition) => AgentDefinition) {
      gateway.gateway.use({
        channels: new Map([["toy", { ...OPEN_TO_ADA, owner: "ada", ...rules }]]),
        agents: new Map([[agent.name, change(agent)]]),
      });
    },
    question: (): Shown | undefined => shownLike("May answer"),
    /** What people are asked, in one: the toy platform's messages are short. */
    asked: (): string => platform.shown.map(({ text }) => text).join("\n"),
    /** Resolves once Perch knows where its question stands. */
    async placed() {
      await platform.until(() => shownLike("May answer") !== undefined);
      for (;;) {
        const sending = await db().selectFrom("piece").select("id").where("state", "=", "sending").execute();
        if (sending.length === 0) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    /** As `kill -9` and a start would have it. */
    async killed() {
      await gateway.kill();
      gateway = await open(first.folder);
    },
    async says(text: string, from = ADA, place: Place = { chat: from.id, kind: "private" }, more = {}) {
      await platform.say(place.chat, text, { from, place, whole: true, ...more });
    },
    /** What a press shows at once. */
    async press(
      label: string,
      from = ADA,
      place: Place = { chat: from.id, kind: "private" },
      nth = 0,
      known?: string,
    ): Promise<string | undefined> {
      const rows = await db()
        .selectFrom("choice")
        .innerJoin("question", "question.id", "choice.question")
        .select(["choice.key", "question.id"])
        .where("label", "=", label)
        .where("question.approval", "!=", "")
        .orderBy("question.expires_at")
        .execute();
      const id = `press${(presses += 1)}`;
      const ref = platform.refOf(shownLike("May answer")?.text ?? "");
      const key = known ?? rows[nth]?.key ?? "";
      const shown = await gateway.gateway.accept("toy", [
        { type: "choice", id, place, from, sentAt: "", key, ref },
      ]);
      return shown.get(id);
    },
    until: async (words: string): Promise<Shown> => {
      await platform.until(() => shownLike(words) !== undefined);
      return shownLike(words)!; // it was waited for
    },
    file(word: string, chat = 1): string | undefined {
      const path = join(first.folder, "chats", String(chat), "workspace", `${word}.txt`);
      return existsSync(path) ? readFileSync(path, "utf8") : undefined;
    },
    state: async (): Promise<readonly string[]> =>
      (await db().selectFrom("approval").select("state").orderBy("noted_at").execute()).map(
        (row) => row.state,
      ),
  };
}
