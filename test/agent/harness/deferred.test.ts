import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { AgentDefinition, McpServer } from "../../../src/core/agent.ts";
import type { Json } from "../../support/models/server.ts";
import { stdioTools } from "../../support/mcp/stdio.ts";
import { closeServers, served, type Served, type WireName } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const MANY = { MORE: "40" };

async function withTools(
  wire: WireName,
  mcp: readonly McpServer[],
  fields: Partial<AgentDefinition> = {},
): Promise<Served> {
  const made = await served(wire, { mcp, prompt: "You help.", ...fields });
  onTestFinished(() => made.runner.close());
  return made;
}

/** Names of the tools that a request of OpenAI's or Anthropic's offers. */
function offered(body: Json | undefined): readonly string[] {
  const tools = (body?.["tools"] ?? []) as readonly {
    readonly name?: string;
    readonly function?: { readonly name: string };
  }[]; // of both protocols
  return tools.map((each) => each.function?.name ?? each.name ?? "");
}

function systemOf(body: Json | undefined): string {
  const { system, messages } = body as { readonly system?: unknown; readonly messages: readonly Json[] }; // of both protocols
  return JSON.stringify(system ?? messages[0]);
}

const call = (name: string, args: Json, id: string) => ({ toolCalls: [{ name, args, id }] });

describe("deferred tools", () => {
  it.each(["openai", "anthropic"] as const)(
    "over %s are told by name, searched for, shown from then on, and called",
    async (wire) => {
      const { server, agent, say } = await withTools(wire, [stdioTools(MANY)]);
      server.reply(
        call("tool_search", { query: "select:echo" }, "c1"),
        call("echo", { text: "hi" }, "c2"),
        "It said hi.",
      );
      expect(await say(agent, "m1", "Say hi")).toBe("It said hi.");
      const [first, second, third] = server.requests.map(({ body }) => body);
      expect(offered(first)).toEqual(["tool_search"]);
      expect(systemOf(first)).toContain("add_note, die, echo, environment");
      expect(offered(second)).toEqual(["tool_search", "echo"]);
      expect(JSON.stringify(second)).toContain("Says the text again.");
      expect(JSON.stringify(third)).toContain("echo: hi");
      // The prompt is the same whatever was found, for caches of providers.
      expect(systemOf(third)).toBe(systemOf(first));

      server.reply("Yes.");
      await say(agent, "m2", "Still there?");
      expect(offered(server.requests.at(-1)?.body)).toEqual(["tool_search", "echo"]);
    },
  );

  it("are called where somebody has said yes to that, whatever was found before", async () => {
    const { server, agent, runner } = await withTools("openai", [stdioTools(MANY)]);
    server.reply("It said hi.");
    const approved = { id: "ABCDEFGH", tool: "echo", args: { text: "hi" } };
    await runner.run({ ...turn(agent, "m1", "[allowed]"), approved }, new AbortController().signal);
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("echo: hi");
  });

  it("are not called before they were searched for: the model is told how", async () => {
    const { server, agent, say } = await withTools("openai", [stdioTools(MANY)]);
    server.reply(call("echo", { text: "hi" }, "c1"), "Sorry.");
    expect(await say(agent, "m1", "Say hi")).toBe("Sorry.");
    const said = JSON.stringify(server.requests.at(-1)?.body);
    expect(said).toContain('Call tool_search with \\"select:echo\\"');
    expect(said).not.toContain("echo: hi");
  });

  it("that are few and small are all shown, and nothing is searched for", async () => {
    const { server, agent, say } = await withTools("openai", [stdioTools()]);
    server.reply(call("echo", { text: "hi" }, "c1"), "It said hi.");
    expect(await say(agent, "m1", "Say hi")).toBe("It said hi.");
    const [first, second] = server.requests.map(({ body }) => body);
    expect(offered(first)).toContain("echo");
    expect(offered(first)).not.toContain("tool_search");
    expect(systemOf(first)).not.toContain("tool_search");
    expect(JSON.stringify(second)).toContain("echo: hi");
  });

  it("two searches in one step both count", async () => {
    const { server, agent, say } = await withTools("openai", [stdioTools(MANY)]);
    const searches = ["echo", "add_note"].map((name, i) => ({
      name: "tool_search",
      args: { query: `select:${name}` },
      id: `c${i}`,
    }));
    server.reply({ toolCalls: searches }, "Found.");
    await say(agent, "m1", "Look");
    expect(offered(server.requests.at(-1)?.body).toSorted()).toEqual(["add_note", "echo", "tool_search"]);
  });

  it("are hidden again when the server has others", async () => {
    const two = [stdioTools(MANY), stdioTools({}, "more")];
    const first = await withTools("openai", [stdioTools(MANY)]);
    first.server.reply(call("tool_search", { query: "select:echo" }, "c1"), "Found.");
    await first.say(first.agent, "m1", "Look");
    const other = { ...first.agent, mcp: two };
    await first.say(other, "m2", "And now?");
    expect(offered(first.server.requests.at(-1)?.body)).toEqual(["tool_search"]);
    expect(systemOf(first.server.requests.at(-1)?.body)).toContain("tools_echo");
  });
});

describe("an agent whose server fails", () => {
  it("answers without it, and is told that its tools are not there", async () => {
    const { server, runner, agent } = await withTools("openai", [
      stdioTools({ KIND: "crash" }, "broken"),
      stdioTools({}, "tools"),
    ]);
    const local = {
      kind: "telegram",
      chat: "private",
      people: ["Ada"],
      timeZone: "UTC",
      now: 1_750_000_000_000,
    } as const;
    server.reply("Here.");
    const answer = await runner.run({ ...turn(agent, "m1", "Hello"), local }, new AbortController().signal);
    expect(answer.markdown).toBe("Here.");
    const body = server.requests.at(-1)?.body;
    expect(JSON.stringify(body)).toContain('failed to load and cannot be used now: \\"broken\\"');
    expect(offered(body)).toContain("echo");
  });

  it("in the middle of a call is told so, and answers", async () => {
    const { server, agent, say } = await withTools("openai", [stdioTools()]);
    server.reply(call("die", {}, "c1"), call("echo", { text: "on" }, "c2"), "It works again.");
    expect(await say(agent, "m1", "Try")).toBe("It works again.");
    const [, second, third] = server.requests.map(({ body }) => JSON.stringify(body));
    expect(second).toContain("was lost during the call");
    expect(third).toContain("echo: on");
  });

  it("with a result of five million characters is shown its ends", async () => {
    const { server, agent, say } = await withTools("openai", [stdioTools()]);
    server.reply(call("huge", {}, "c1"), "Much.");
    expect(await say(agent, "m1", "Try")).toBe("Much.");
    const said = JSON.stringify(server.requests.at(-1)?.body);
    expect(said).toContain("begin xxx");
    expect(said).toContain("xxx end");
    expect(said.length).toBeLessThan(100_000);
  });

  it("with arguments that do not fit is told what is wrong", async () => {
    const { server, agent, say } = await withTools("openai", [stdioTools()]);
    server.reply(call("echo", { txt: "hi" }, "c1"), "Sorry.");
    expect(await say(agent, "m1", "Try")).toBe("Sorry.");
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("the arguments do not fit");
  });
});
