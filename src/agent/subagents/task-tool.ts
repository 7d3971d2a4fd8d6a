import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import type { Subagents } from "../../core/agent.ts";
import { asError, GatewayError } from "../../core/errors.ts";
import type { BuildPorts } from "../built.ts";
import { frameReport } from "../harness/frame.ts";
import { TASK } from "../harness/subagent-limit.ts";
import type { Kit } from "../kit.ts";
import { type TurnConfig, turnOf } from "../turn-config.ts";
import { work } from "../work.ts";
import { asSubagent } from "./levels.ts";

/**
 * Lets an agent hand work to others and wait for it. deepagents' tool for this is not taken: it hands on the whole state and
 * merges the other's back (ledger, summary, sandbox), streams it to whoever listens to the asking agent, knows no
 * deadline, and what a subagent throws ends the asking run.
 */
export function subagentKit(
  { agents, seconds }: Subagents,
  { worker, clock }: Pick<BuildPorts, "worker" | "clock">,
): Kit {
  const byName = new Map(agents.map((agent) => [agent.name, asSubagent(agent)]));
  const names = [...byName.keys()];
  const task = tool(
    async ({ subagent, prompt }, config) => {
      const definition = byName.get(subagent);
      const turn = turnOf(config.configurable);
      const id = config.toolCall?.id ?? "";
      const error = (why: string) =>
        new ToolMessage({ content: `Error: ${why}`, tool_call_id: id, name: TASK, status: "error" });
      if (definition === undefined)
        return error(`there is no subagent of this name; ${names.join(", ")} are`);
      if (turn === undefined) return error("subagents work within a turn alone");
      const asker = follow(config.signal);
      const late = clock.after(seconds * 1_000, () => asker.controller.abort(tooLate(subagent, seconds)));
      try {
        const asked = {
          agent: subagent,
          prompt,
          id: `${turn.messageId ?? "task"}/${id}`,
          sentAt: new Date(clock.now()).toISOString(),
          turn: forSubagent(turn, id, clock.now() + seconds * 1_000),
        };
        const report = await work(await worker(definition), asked, asker.controller.signal);
        return frameReport(`the subagent ${subagent}`, report);
      } catch (thrown) {
        // Whoever ends the turn ends the asking run too.
        if (config.signal?.aborted) throw config.signal.reason;
        return error(thrown instanceof GatewayError ? thrown.message : `it failed: ${asError(thrown).name}`);
      } finally {
        late.cancel();
        asker.leave();
      }
    },
    {
      name: TASK,
      description: DESCRIPTION + agents.map(({ name, about = "" }) => `\n- ${name}: ${about}`).join(""),
      schema: z.object({
        subagent: z.enum(names as [string, ...string[]]).describe("Who is to do it."), // there is at least one
        prompt: z.string().min(1).describe("All that it needs to know, and what it is to report."),
      }),
      // What it does may change something outside, so after a crash it is not simply done again.
      metadata: { effects: true, timeoutSeconds: seconds + MARGIN_SECONDS },
    },
  );
  return { tools: [task], prompt: "" };
}

/** It ends by its own deadline, with what it knows of that. */
const MARGIN_SECONDS = 30;

const DESCRIPTION =
  "Hands a piece of work to a subagent and waits for its report. It knows nothing of this conversation: write all that it " +
  "needs into the prompt. It has the same folder of files as you. Several calls in one message run side by side. You alone " +
  "see the report: tell the person what matters of it. The subagents are:";

/** Of a turn what is the chat's; not what is said there, nor what is kept of the turn. */
function forSubagent(
  {
    folder,
    messageId,
    thread,
    local,
    behind,
    language,
    endsAt = Infinity,
    onUse,
    allowance,
    look,
  }: TurnConfig,
  call: string,
  deadline: number,
): TurnConfig {
  const asker = thread === undefined ? behind : { thread, ...(local && { chat: local.chat }) };
  return {
    folder,
    endsAt: Math.min(endsAt, deadline),
    ...(asker && { behind: asker }),
    ...(messageId === undefined ? {} : { messageId: `${messageId}/${call}` }),
    ...(language === undefined ? {} : { language }),
    ...(onUse === undefined ? {} : { onUse }),
    ...(allowance === undefined ? {} : { allowance }),
    ...(look === undefined ? {} : { look }),
  };
}

function tooLate(subagent: string, seconds: number): GatewayError {
  const what = `the subagent ${subagent} took longer than ${seconds} s and was ended`;
  return new GatewayError("turn.timed_out", `${what}; give it a smaller piece of work`);
}

/** What ends a subagent: its own deadline, or what ends the turn. */
function follow(signal: AbortSignal | undefined): { readonly controller: AbortController; leave(): void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  return { controller, leave: () => signal?.removeEventListener("abort", abort) };
}
