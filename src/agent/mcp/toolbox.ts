import { createHash } from "node:crypto";
import { ToolMessage } from "@langchain/core/messages";
import { type ClientTool, tool } from "@langchain/core/tools";
import type { Log } from "../../core/log.ts";
import { frameResult } from "../harness/frame.ts";
import { RESERVED } from "../harness/made-calls.ts";
import { turnOf } from "../turn-config.ts";
import type { ListedTool } from "./link.ts";
import { resultText } from "./results.ts";
import { repairedSchema, type ToolSchema } from "./schema.ts";
import { ServerSays, type ToolServer } from "./tool-server.ts";

/** What all providers take as the name of a tool. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const NAME_LENGTH = 64;
const DESCRIPTION_CHARACTERS = 1_000;

/** The tools of an agent's servers, as they are now. */
export class Toolbox {
  readonly #servers: readonly ToolServer[];
  readonly #parts: { readonly log: Log; readonly files: boolean; readonly taken: readonly string[] };
  #lists: readonly (readonly ListedTool[])[] = [];
  #tools: readonly ClientTool[] = [];
  /** What was left out is told once, however often servers come and go. */
  readonly #told = new Set<string>();

  /** `taken` are names of tools that the agent has already; `files` is whether it can read those of its chat. */
  constructor(
    servers: readonly ToolServer[],
    parts: { readonly log: Log; readonly files: boolean; readonly taken: readonly string[] },
  ) {
    this.#servers = servers;
    this.#parts = parts;
  }

  /** Resolves when all servers are there or are known not to be, side by side. Never rejects. */
  async ready(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.ready()));
  }

  /** The same list until a server has other tools. A server that is not there is tried again, and not waited for. */
  tools(): readonly ClientTool[] {
    void this.ready(); // it never rejects
    const lists = this.#servers.map(({ tools }) => tools);
    const same = lists.length === this.#lists.length && lists.every((list, i) => list === this.#lists[i]);
    if (!same) {
      this.#lists = lists;
      this.#tools = this.#made();
    }
    return this.#tools;
  }

  /** Names of the servers that were tried and are not there. */
  unavailable(): readonly string[] {
    return this.#servers.filter(({ unavailable }) => unavailable).map(({ name }) => name);
  }

  #made(): readonly ClientTool[] {
    const { log, files, taken } = this.#parts;
    const listed = this.#servers.flatMap((server) => server.tools.map((each) => ({ server, each })));
    const often = new Map<string, number>(taken.map((name) => [name, 1]));
    for (const { each } of listed) often.set(each.name, (often.get(each.name) ?? 0) + 1);
    const names = new Set(taken);
    return listed.flatMap(({ server, each }) => {
      const alone = NAME.test(each.name) && !RESERVED.test(each.name) && often.get(each.name) === 1;
      const name = alone ? each.name : prefixed(server.name, each.name);
      const schema = repairedSchema(each.inputSchema);
      if (schema === undefined || names.has(name)) {
        const why = schema === undefined ? "no provider would take its arguments" : "another has its name";
        const told = `${server.name}/${each.name}/${why}`;
        if (!this.#told.has(told))
          log.warn({ server: server.name, tool: name, why }, "a tool of a server is left out");
        this.#told.add(told);
        return [];
      }
      names.add(name);
      return [made({ server, each, name, schema, files })];
    });
  }
}

function prefixed(server: string, name: string): string {
  const whole = `${server}_${name}`;
  const safe = whole.replaceAll(/[^a-zA-Z0-9_-]/g, "_").replace(RESERVED, "extract_");
  if (safe === whole && safe.length <= NAME_LENGTH) return safe;
  // Two names may become one.
  const mark = createHash("sha256").update(whole).digest("hex").slice(0, 8);
  return `${safe.slice(0, NAME_LENGTH - mark.length - 1)}_${mark}`;
}

function made({
  server,
  each,
  name,
  schema,
  files,
}: {
  readonly server: ToolServer;
  readonly each: ListedTool;
  readonly name: string;
  readonly schema: ToolSchema;
  readonly files: boolean;
}): ClientTool {
  const of = `the tool ${name} of the server ${server.name}`;
  return tool(
    async (args: Record<string, unknown>, config) => {
      const said = (content: string, failed: boolean): string | ToolMessage => {
        const framed = frameResult(of, content);
        const id = config.toolCall?.id ?? "";
        return failed
          ? new ToolMessage({
              content: `Error: it failed.\n${framed}`,
              tool_call_id: id,
              name,
              status: "error",
            })
          : framed;
      };
      try {
        const result = await server.call(each.name, args, config.signal);
        const turn = turnOf(config.configurable);
        const place = files && turn !== undefined ? { folder: turn.folder, server: server.name } : undefined;
        return said(await resultText(result, place), result.isError === true);
      } catch (error) {
        if (error instanceof ServerSays) return said(error.message, true);
        throw error;
      }
    },
    {
      name,
      description: each.description.slice(0, DESCRIPTION_CHARACTERS).toWellFormed(),
      schema,
      metadata: {
        deferred: true,
        server: server.name,
        // What does not say that it changes nothing may change something.
        ...(each.readOnly ? {} : { effects: true }),
        // A server that was lost is connected first.
        timeoutSeconds: 2 * server.timeoutSeconds + 5,
      },
    },
  );
}
