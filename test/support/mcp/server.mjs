// A real server of tools over stdio. What it is like is said in its environment:
//   KIND     good (the default), hang (it reads nothing), crash (it ends at once), garbage (it speaks no protocol)
//   PIDS     a file that gets a line with its process id at each start
//   NOTES    a file that the tool add_note appends to
//   MORE     how many tools it has besides
//   LATER    a file: while it is there, there is one more tool
import { appendFileSync, existsSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { answers, tools } from "./tools.mjs";

const { KIND = "good", PIDS, MORE = "0", LATER } = process.env;
if (PIDS) appendFileSync(PIDS, `${process.pid}\n`);
process.stderr.write("the server has begun\n");

if (KIND === "crash") process.exit(1);
if (KIND === "garbage") {
  process.stdin.resume();
  process.stdin.on("data", () => process.stdout.write('hello\n{"jsonrpc":"2.0","id":0,"result":7}\n{]\n'));
} else if (KIND === "hang") {
  setInterval(() => {}, 1_000);
} else {
  const server = new Server(
    { name: "test", version: "1" },
    { capabilities: { tools: { listChanged: true } } },
  );
  const { ListToolsRequestSchema, CallToolRequestSchema } =
    await import("@modelcontextprotocol/sdk/types.js");
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: [...tools(Number(MORE)), ...(LATER && existsSync(LATER) ? tools(0, "later_") : [])],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    if (params.name === "die") process.exit(7);
    if (params.name === "say_changed") {
      await server.sendToolListChanged();
      return { content: [{ type: "text", text: "said" }] };
    }
    return await answers(params.name, params.arguments ?? {}, process.env);
  });
  await server.connect(new StdioServerTransport());
}
