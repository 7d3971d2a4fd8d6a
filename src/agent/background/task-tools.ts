import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { z } from "zod";
import type { AgentDefinition } from "../../core/agent.ts";
import type { BackgroundTask, TaskDesk } from "../../core/background.ts";
import { frameReport } from "../harness/frame.ts";
import type { Kit } from "../kit.ts";
import { turnOf } from "../turn-config.ts";
import { plainText } from "../words.ts";
import { isOver, ledgerOf } from "./ledger.ts";

/** What a tool needs of its run. */
type Run = {
  readonly configurable?: Readonly<Record<string, unknown>>;
  readonly toolCall?: { readonly id?: string };
};

/** What a tool tells the agent, and the tasks that it has met: their entries in the thread are written anew. */
type Told = { readonly words: string; readonly tasks?: readonly BackgroundTask[]; readonly failed?: true };

/** Lets an agent hand work to others without waiting for them. What is true of the tasks, the desk of the turn knows. */
export function backgroundKit(agents: readonly AgentDefinition[]): Kit {
  const names = agents.map(({ name }) => name) as [string, ...string[]]; // there is at least one
  const about = agents.map(({ name, about: what = "" }) => `\n- ${name}: ${what}`).join("");
  const start = tool(
    async ({ subagent, prompt }, run) =>
      await told("start_task", run, async (desk) => {
        const task = await desk.start({ agent: subagent, prompt: plainText(prompt) });
        if (task === undefined) return failed("too many tasks are open here; wait for one, or cancel one");
        return { words: `${task.id} is begun. Its end will be told in the chat.`, tasks: [task] };
      }),
    {
      name: "start_task",
      description:
        "Hands work to a subagent that takes long, and returns at once. It knows nothing of this conversation: write all that " +
        `it needs into the prompt. It has the same folder of files as you. The subagents are:${about}`,
      schema: z.object({
        subagent: z.enum(names).describe("Who is to do it."),
        prompt: z.string().min(1).describe("All that it needs to know, and what it is to report."),
      }),
      // Begun twice it would be done twice.
      metadata: { effects: true },
    },
  );
  const check = tool(
    async ({ task: id }, run) =>
      await told("check_task", run, async (desk) => {
        const task = await desk.find(id);
        return task === undefined ? unknown(id) : { words: whole(task), tasks: [task] };
      }),
    {
      name: "check_task",
      description:
        "Says how a task stands, and what it came to. Once is enough: its end is told in the chat by itself.",
      schema: z.object({ task: ID }),
    },
  );
  const update = tool(
    async ({ task: id, addition }, run) =>
      await told("update_task", run, async (desk) => {
        const task = await desk.update(id, plainText(addition));
        return task === undefined ? await cannot(desk, id) : { words: `${id} is begun anew.`, tasks: [task] };
      }),
    {
      name: "update_task",
      description: "Adds to what a task is to do that has not ended. It is begun anew with that.",
      schema: z.object({
        task: ID,
        addition: z.string().min(1).describe("What it is to know or do beside."),
      }),
      metadata: { effects: true },
    },
  );
  const cancel = tool(
    async ({ task: id }, run) =>
      await told("cancel_task", run, async (desk) => {
        const task = await desk.cancel(id);
        return task === undefined ? await cannot(desk, id) : { words: `${id} is cancelled.`, tasks: [task] };
      }),
    {
      name: "cancel_task",
      description: "Ends a task that is not wanted any more. Tell the person that it is cancelled.",
      schema: z.object({ task: ID }),
    },
  );
  const list = tool(
    async (_none, run) =>
      await told("list_tasks", run, async (desk) => {
        const tasks = await desk.list();
        return { words: tasks.length === 0 ? "There are no tasks." : tasks.map(line).join("\n"), tasks };
      }),
    {
      name: "list_tasks",
      description: "Lists the background tasks of this chat, as they stand now.",
      schema: z.object({}),
    },
  );
  return { tools: [start, check, update, cancel, list], prompt: PROMPT };
}

const ID = z.string().min(1).describe('As it was given, such as "t3".');

const PROMPT = `Work that takes long can be handed to a subagent with start_task. Do not wait for it and do not ask for it again and again: tell the person that it is begun, and end your turn. Its result is sent to the chat by itself, and you are told of it with the next message. How tasks stood earlier in this conversation is out of date; check_task and list_tasks say how they stand now.`;

/** Does what a tool is to do at the desk, and hands its result over together with what it changes in the thread. */
async function told(
  name: string,
  { configurable, toolCall }: Run,
  ask: (desk: TaskDesk) => Promise<Told>,
): Promise<Command> {
  const desk = turnOf(configurable)?.tasks;
  const {
    words,
    tasks = [],
    failed: isError,
  } = desk ? await ask(desk) : failed("there are no background tasks here");
  const result = new ToolMessage({
    content: isError ? `Error: ${words}` : words,
    tool_call_id: toolCall?.id ?? "",
    name,
    ...(isError ? { status: "error" as const } : {}),
  });
  return new Command({
    update: { messages: [result], ...(tasks.length === 0 ? {} : { asyncTasks: ledgerOf(tasks) }) },
  });
}

function failed(words: string): Told {
  return { words, failed: true };
}

function unknown(id: string): Told {
  return failed(`there is no task ${JSON.stringify(id)} in this chat; list_tasks gives those that there are`);
}

async function cannot(desk: TaskDesk, id: string): Promise<Told> {
  const task = await desk.find(id);
  if (task === undefined) return unknown(id);
  return { ...failed(`${id} has ended already: ${task.status}`), tasks: [task] };
}

function line({ id, agent, status, attempts, prompt }: BackgroundTask): string {
  const tries = attempts > 1 ? `, attempt ${attempts}` : "";
  return `${id} (${agent}): ${status}${tries}; ${JSON.stringify(prompt.slice(0, 100).toWellFormed())}`;
}

function whole(task: BackgroundTask): string {
  if (!isOver(task.status) || task.result === "") return line(task);
  return `${line(task)}\n${frameReport(`task ${task.id} of ${task.agent}`, task.result)}`;
}
