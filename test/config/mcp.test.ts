import { describe, expect, it } from "vitest";

import { faultSentence } from "../../src/config/faults.ts";
import { configOf, faultsOf, loadYaml } from "./support.ts";

const ENV = { NOTES: "s3cret-notes", TICKETS: "s3cret-tickets" };

async function load(mcp: string, agent = ""): ReturnType<typeof loadYaml> {
  return await loadYaml(`channels:\n  web: { kind: web }\n${mcp}`, {
    env: ENV,
    files: { "config/agents/helper.md": `---\n${agent}\n---\nx` },
  });
}

async function faults(mcp: string, agent = ""): Promise<readonly string[]> {
  return faultsOf(await load(mcp, agent)).map(faultSentence);
}

const BOTH = [
  "mcp:",
  "  notes: { command: notes-server, args: [-x], env: { NOTES_TOKEN: '${NOTES}', LEVEL: debug } }",
  "  tickets:",
  "    url: https://tickets.example.org/mcp",
  "    headers: { Authorization: 'Bearer ${TICKETS}' }",
  "    timeoutSeconds: 5",
].join("\n");

describe("servers of tools", () => {
  it("are the agent's that names them, in that order", async () => {
    const { agents } = configOf(await load(BOTH, "mcp: [tickets, notes]")).rules;
    expect(agents.get("helper")?.mcp).toEqual([
      {
        name: "tickets",
        use: "http",
        url: "https://tickets.example.org/mcp",
        headers: { Authorization: "Bearer s3cret-tickets" },
        timeoutSeconds: 5,
      },
      {
        name: "notes",
        use: "stdio",
        command: "notes-server",
        args: ["-x"],
        env: { NOTES_TOKEN: "s3cret-notes", LEVEL: "debug" },
        timeoutSeconds: 30,
      },
    ]);
    expect(configOf(await load(BOTH)).rules.agents.get("helper")).not.toHaveProperty("mcp");
  });

  it.each([
    [
      "both a program and an address",
      "mcp:\n  x: { command: a, url: https://example.org }",
      "",
      [
        "config/perch.yaml:4 mcp.x: a server of tools is a program or an address. Write command: or url:, and only one of them.",
      ],
    ],
    [
      "neither",
      "mcp:\n  x: { args: [] }",
      "",
      [
        "config/perch.yaml:4 mcp.x: a server of tools is a program or an address. Write command: or url:, and only one of them.",
      ],
    ],
    [
      "what the other kind has",
      "mcp:\n  x: { url: https://example.org, args: [a] }\n  y: { command: a, headers: { A: b } }",
      "",
      [
        "config/perch.yaml:4 mcp.x.args: an address takes no arguments. Remove them.",
        "config/perch.yaml:5 mcp.y.headers: a program takes no headers. Remove them, or write env:.",
      ],
    ],
    [
      "an unknown key",
      "mcp:\n  x: { comand: a }",
      "",
      ['config/perch.yaml:4 mcp.x.comand ("a"): unknown key. Did you mean "command"?'],
    ],
    [
      "an unset variable",
      "mcp:\n  x: { command: a, env: { B: '${NONE}' } }",
      "mcp: [x]",
      ["config/perch.yaml:4 mcp.x.env.B: NONE is not set. Set NONE in .env, or write ${NONE:-default}."],
    ],
    [
      "a server that there is not",
      BOTH,
      "mcp: [note, notes, notes]",
      [
        'config/agents/helper.md:2 mcp[0] ("note"): there is no such server of tools in perch.yaml. Did you mean "notes"?',
        'config/agents/helper.md:2 mcp[2] ("notes"): this server stands here a second time. Keep one of the two.',
      ],
    ],
    [
      "a server where there are none",
      "",
      "mcp: [notes]",
      [
        'config/agents/helper.md:2 mcp[0] ("notes"): there is no such server of tools in perch.yaml. Write it into perch.yaml, under mcp:.',
      ],
    ],
  ])("are refused with %s", async (_what, mcp, agent, expected) => {
    expect(await faults(mcp, agent)).toEqual(expected);
  });

  it.each([
    ["a header", "headers: { Authorization: Bearer hunter2hunter2 }", "url: https://example.org"],
    ["the environment", "env: { SERVICE_API_KEY: hunter2hunter2 }", "command: a"],
  ])("take no secret that stands in the file as %s, and it is not shown", async (_what, held, beside) => {
    const found = await faults(`mcp:\n  x: { ${beside}, ${held} }`);
    expect(found).toEqual([expect.stringContaining("a secret stands in the file itself")]);
    expect(found.join()).not.toContain("hunter2");
  });

  it("show nothing of their environment in a fault", async () => {
    const wrong =
      "mcp:\n  x: { command: a, env: { 'bad name': '${NOTES}', LIST: [plain-value, '${NOTES}'] } }";
    const found = (await faults(wrong)).join("\n");
    expect(found).toContain("mcp.x.env.LIST");
    expect(found).toContain("bad name");
    expect(found).not.toMatch(/s3cret|plain-value/);
  });
});

describe("the agents' time zone", () => {
  it("is the operator's, or the machine's", async () => {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    expect(configOf(await load("")).rules.timeZone).toBe(own);
    const other = await load("agents: { timeZone: Asia/Kolkata }");
    expect(configOf(other).rules.timeZone).toBe("Asia/Kolkata");
  });

  it("is one that there is", async () => {
    expect(await faults("agents: { timeZone: Europe/Berln }")).toEqual([
      'config/perch.yaml:3 agents.timeZone ("Europe/Berln"): there is no such time zone. Did you mean "Europe/Berlin"?',
    ]);
    const far = await faults("agents: { timeZone: Middle-earth }");
    expect(far.join().length).toBeLessThan(250);
  });
});
