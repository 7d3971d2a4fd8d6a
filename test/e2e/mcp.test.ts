import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { lives, pidsIn } from "../agent/mcp/set-up.ts";
import { agentFile, type World, world } from "../support/telegram-perch.ts";

const ADA = { id: 700_200_001, firstName: "Ada" } as const;
const SERVER = join(import.meta.dirname, "../support/mcp/server.mjs");
const TOKEN = "s3cret-of-the-notes";

let at: World;
afterEach(async () => {
  await at.close();
});

/** perch.yaml's servers, each with a file that its process ids go to. */
function yaml(servers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(servers).map(
    ([name, env]) =>
      `  ${name}: { command: "${process.execPath}", args: ["${SERVER}"], env: { PIDS: "PIDS/${name}", ${env} }, timeoutSeconds: 20 }`,
  );
  return ["mcp:", ...lines].join("\n");
}

async function withServers(
  servers: Readonly<Record<string, string>>,
): Promise<(name: string) => readonly number[]> {
  const root = "turns: { graceSeconds: 1 }";
  at = await world({ channel: `allow: ["${ADA.id}"]`, root, rate: 1 });
  await at.folder.write("config/agents/helper.md", asAgent(Object.keys(servers)));
  await at.folder.write("pids/.keep", "");
  const file = join(at.folder.path, "config/perch.yaml");
  const before = await readFile(file, "utf8");
  const pids = join(at.folder.path, "pids");
  await at.folder.write("config/perch.yaml", `${before}${yaml(servers).replaceAll("PIDS/", `${pids}/`)}\n`);
  return (name) => pidsIn(join(pids, name));
}

function asAgent(names: readonly string[]): string {
  return agentFile(at.model).replace("---\n", `---\nmcp: [${names.join(", ")}]\n`);
}

it("an agent searches its servers' tools, calls one, and answers; a server that failed is named, and no secret is told", async () => {
  await withServers({ notes: "MORE: '40', NOTES_TOKEN: '${NOTES}'", broken: "KIND: crash" });
  const ada = at.telegram.privateChat(ADA);
  at.model.reply(
    { toolCalls: [{ name: "tool_search", args: { query: "+says text" }, id: "c1" }] },
    { toolCalls: [{ name: "echo", args: { text: "hello" }, id: "c2" }] },
    "The echo said hello.",
  );
  const perch = await at.start({ NOTES: TOKEN });
  const answered = at.telegram.nextSent(({ text }) => text?.includes("The echo said hello.") ?? false);
  ada.sendText("Let the echo say hello");
  await answered;
  const asked = at.model.requests.map(({ body }) => JSON.stringify(body));
  expect(asked[0]).toContain('failed to load and cannot be used now: \\"broken\\"');
  expect(asked.at(-1)).toContain("echo: hello");
  expect(asked.join()).not.toContain(TOKEN);
  expect(perch.output()).not.toContain(TOKEN);
});

it("no server outlives a Perch that was killed, nor one that was told to end, even if it hangs", async () => {
  const pids = await withServers({ notes: "MORE: '0'", stuck: "KIND: hang" });
  const ada = at.telegram.privateChat(ADA);
  const all = (): readonly number[] => [...pids("notes"), ...pids("stuck")];
  const first = await at.start();
  ada.sendText("Hello");
  await expect.poll(() => all().length, { timeout: 20_000 }).toBe(2);
  await first.kill();
  await expect.poll(() => all().filter(lives), { timeout: 20_000 }).toEqual([]);

  const second = await at.start();
  await expect.poll(() => all().length, { timeout: 20_000 }).toBe(4);
  expect(await second.stop()).toBe(0);
  await expect.poll(() => all().filter(lives), { timeout: 20_000 }).toEqual([]);
}, 60_000);

it("a server that the configuration does not name any more is ended while Perch runs", async () => {
  const pids = await withServers({ notes: "MORE: '0'" });
  const ada = at.telegram.privateChat(ADA);
  const perch = await at.start();
  const answered = at.telegram.nextSent(() => true);
  ada.sendText("Hello");
  await answered;
  const [pid = 0] = pids("notes");
  expect(lives(pid)).toBe(true);
  await at.folder.write("config/agents/helper.md", agentFile(at.model));
  await expect.poll(() => lives(pid), { timeout: 20_000 }).toBe(false);
  expect(await perch.stop()).toBe(0);
});
