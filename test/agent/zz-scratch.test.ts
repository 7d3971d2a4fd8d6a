import { writeFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { definition } from "./set-up.ts";
import { onSqlite } from "../support/database.ts";
import { WIRES, type WireName } from "./model-servers.ts";
import { wholeBench } from "./whole-bench.ts";
const open = onSqlite();
const WARNED: string[] = [];
process.on("warning", (w) => { WARNED.push(String(w.stack)); });
const show = (ms: readonly any[]) => ms.map((m) => `${m.type}/${m.id?.slice(0,12)}/${m.name ?? ""}: ${String(m.text).slice(0, 150)} ${AIMessage.isInstance(m) ? JSON.stringify(m.tool_calls?.map((c: any) => [c.id, c.name])) : ToolMessage.isInstance(m) ? m.tool_call_id + " " + m.status : ""}`).join("\n");

it.each(Object.keys(WIRES) as WireName[])("mixed batch over %s", async (wire) => {
  const guardPath = "/tmp/h/guard.mjs";
  await writeFile(guardPath, `export default ({tool, args, thread, chat, agent}) => { (globalThis.__asked ??= []).push([tool, thread, chat, agent]); return tool === "glob" ? {allow:false, why:"no </x> $&"} : true }`);
  const b = await wholeBench(await open(), { wire, fields: (a) => ({ files: true, todos: true, choices: true, guard: guardPath,
    subagents: { agents: [{ ...a, name: "scout", about: "scouts", files: true, guard: guardPath }], atOnce: 3, mostPerTurn: 6, seconds: 60 }, background: { retries: 0, retrySeconds: 1 } }) });
  await mkdir(join(b.folder, "outputs"), { recursive: true });
  await writeFile(join(b.folder, "outputs", "a.csv"), "x");
  const calls = [
    { name: "glob", args: { pattern: "*" } },
    { name: "task", args: { subagent: "scout", prompt: "look" } },
    { name: "task", args: { subagent: "scout", prompt: "look2" } },
    { name: "ls", args: { path: "/" } },
    { name: "__proto__", args: { path: "/" } },
    { name: "a.b c", args: {} },
    { name: "extract-text", args: {} },
    { name: "write_todos", args: { todos: [{ content: "A", status: "pending" }] } },
    { name: "present_files", args: { paths: ["/outputs/a.csv"] } },
    { name: "read_file", args: { file_path: "/outputs/a.csv" } },
    { name: "write_file", args: { file_path: "/outputs/b.txt", content: "$& \u0000 \ud800 " + "x".repeat(1000) } },
    { name: "grep", args: { pattern: "x" } },
    { name: "offer_choices", args: { choices: ["Yes", "No"] } },
  ];
  b.server.reply({ text: "Working", toolCalls: calls }, (r) => JSON.stringify(r.body).includes("look2") ? "report" : { toolCalls: [{ name: "ls", args: { path: "/" } }] }, (r) => "report", "report", "report");
  let n = 0;
  const a = await b.run("1", "go", { corrections: () => n++ === 1 ? [{ id: "edit", text: "[edited]" }] : [], local: { kind: "telegram", chat: "private", people: ["Ada"], timeZone: "Europe/Berlin", now: 1e12 }, recalled: "remember", onText: () => {} });
  console.log(wire, JSON.stringify(a), "\n" + show(await b.messages()), "\n", JSON.stringify((globalThis as any).__asked));
  (globalThis as any).__asked = [];
  b.restart();
  console.log(await b.say("2", "more").catch((e) => String(e) + String(e.cause)));
  console.log("WARN", WARNED.splice(0).join("\n"));
  console.log(JSON.stringify(b.logged.filter((l) => l.level !== "debug")).slice(0, 600));
}, 60000);
