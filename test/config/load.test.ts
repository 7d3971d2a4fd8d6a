import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { kinds } from "../../src/cli/kinds.ts";
import { describe, expect, it } from "vitest";

import { faultSentence } from "../../src/config/faults.ts";
import { configOf, faultsOf, HELPER, loadYaml, place, TOKEN } from "./support.ts";

const SHIPPED = join(import.meta.dirname, "../../config");

describe("loadConfig", () => {
  it("lists seven faults of a file at once, each with file, path, value and remedy", async () => {
    const result = await loadYaml(
      [
        "channels:",
        "  family:",
        "    kind: telegrm",
        "  work:",
        "    kind: telegram",
        "    token: ${TELEGRAM_TOKEN}",
        "    agnet: helper",
        "    pollSeconds: 99",
        "    owner: [1]",
        '    chats: { "-100987": { agent: helpr } }',
        "  web:",
        "    kind: web",
        "    open: true",
        "http: { port: 99999 }",
      ].join("\n"),
      { env: { TELEGRAM_TOKEN: TOKEN } },
    );

    const file = "config/perch.yaml";
    expect(faultsOf(result)).toEqual([
      {
        file,
        path: "channels.family.kind",
        line: 3,
        value: '"telegrm"',
        problem: "there is no such kind of channel",
        remedy: 'Did you mean "telegram"?',
      },
      {
        file,
        path: "channels.work.agnet",
        line: 7,
        value: '"helper"',
        problem: "unknown key",
        remedy: 'Did you mean "agent"?',
      },
      {
        file,
        path: "channels.work.pollSeconds",
        line: 8,
        value: "99",
        problem: "must be at most 50 seconds",
        remedy: "Write at most 50",
      },
      {
        file,
        path: "channels.work.owner",
        line: 9,
        problem: "an id is text or a whole number",
        remedy: 'Write it in quotes: "123456789"',
      },
      {
        file,
        path: "channels.work.chats.-100987.agent",
        line: 10,
        value: '"helpr"',
        problem: "there is no such agent",
        remedy: 'Did you mean "helper"?',
      },
      {
        file,
        path: "channels.web.open",
        line: 13,
        value: "true",
        problem: "anybody could use the agent, its tools and your model's budget",
        remedy: "Write acknowledge: allow-arbitrary-senders beside it, or allow: with the people you mean",
      },
      {
        file,
        path: "http.port",
        line: 14,
        value: "99999",
        problem: "must be at most 65535",
        remedy: "Write at most 65535",
      },
    ]);
  });

  it("lists the faults of all files together", async () => {
    const there = await place({
      "config/perch.yaml": "channels: { web: { kind: web, colour: red } }\n",
      ".env": "OPENAI_API_KEY sk-aaaaaaaaaaaaaaaaaaaa\n",
      "config/agents/helper.md": "---\nmodle: demo\n---\nYou help.\n",
      "config/agents/coder.md": "---\nmodel: gpt-5\n---\nYou write code.\n",
    });
    expect(faultsOf(await there.load()).map(faultSentence)).toEqual([
      'config/perch.yaml:1 channels.web.colour ("red"): unknown key. Known here: acknowledge, agent, allow, away, budgets, chats, commands, context, deny, during, edits, gather, kind, live, names, open, owner, pauseMinutes, queueLimit, quietHours, reactions, strangers, timeZone, title, turnsPerHour, unaskedPerDay, waitingSign, was.',
      ".env:1: not a NAME=value line. Write NAME=value, or # before a comment.",
      'config/agents/coder.md:2 model ("gpt-5"): "gpt-5" does not name a provider and a model. Write provider:name, such as openai:gpt-5, or demo.',
      'config/agents/helper.md:2 modle ("demo"): unknown key. Did you mean "model"?',
    ]);
  });

  it("takes the rules of a channel and its chats over, with ids as exact text", async () => {
    const config = configOf(
      await loadYaml(
        [
          "channels:",
          "  family:",
          "    kind: telegram",
          "    token: ${TELEGRAM_TOKEN}",
          "    owner: 123456789",
          '    allow: [987654321, "555"]',
          "    strangers: polite",
          "    names: [Perch]",
          "    turnsPerHour: 5",
          "    edits: { answered: rerun }",
          "    reactions: turn",
          "    away: { answerHours: 0.5 }",
          "    pauseMinutes: 0.333333",
          "    gather: { mediaSeconds: 3, messages: 5 }",
          "    during: queue",
          "    queueLimit: 3",
          "    waitingSign: line",
          "    context: 30",
          "    live: edit",
          "    commands: { weather: Rain or sun }",
          "    chats:",
          "      -1001234567890:",
          "        when: all",
          "        allow: everyone",
          "        context: 0",
          "        live: off",
          "        gather: { textSeconds: 0.05, longestSeconds: 20, characters: 9000 }",
          "        during: collect",
          "        queueLimit: 7",
          "        waitingSign: off",
          "        senders: { 42: { agent: coder } }",
          '        topics: { "7": { when: none } }',
        ].join("\n"),
        { env: { TELEGRAM_TOKEN: TOKEN }, files: { "config/agents/coder.md": HELPER } },
      ),
    );
    expect(config.rules.channels.get("family")).toEqual({
      owner: "123456789",
      allow: ["987654321", "555"],
      deny: [],
      open: false,
      strangers: "polite",
      agent: "helper",
      names: ["Perch"],
      turnsPerHour: 5,
      edits: { running: "wait", answered: "rerun" },
      reactions: "turn",
      away: { answerMs: 1_800_000, digestMs: 604_800_000 },
      pauseMs: 20_000,
      gather: {
        textMs: 300,
        fragmentMs: 1_500,
        mediaMs: 3_000,
        albumMs: 1_000,
        forwardMs: 300,
        longestMs: 10_000,
        messages: 5,
        characters: 50_000,
      },
      during: "queue",
      queueLimit: 3,
      waitingSign: "line",
      unaskedPerDay: 20,
      context: 30,
      live: "edit",
      commands: { weather: "Rain or sun" },
      chats: {
        "-1001234567890": {
          when: "all",
          allow: "everyone",
          context: 0,
          live: "off",
          gather: { textMs: 50, longestMs: 20_000, characters: 9_000 },
          during: "collect",
          queueLimit: 7,
          waitingSign: "off",
          senders: { "42": { agent: "coder" } },
          topics: { "7": { when: "none" } },
        },
      },
    });
    expect(config.channels.get("family")).toEqual({
      kind: "telegram",
      settings: { token: TOKEN, apiRoot: "https://api.telegram.org", pollSeconds: 30, drafts: true },
    });
  });

  it("makes the one person of a kind the owner, unless the operator names another", async () => {
    const config = configOf(
      await loadYaml("channels: { web: { kind: web }, other: { kind: web, owner: me } }"),
    );
    expect(config.rules.channels.get("web")?.owner).toBe("owner");
    expect(config.rules.channels.get("other")?.owner).toBe("me");
  });

  it("takes paths from the file's own folder", async () => {
    const there = await place({
      "etc/perch.yaml":
        "channels: { web: { kind: web } }\nagents: { folder: people }\ndata: { folder: ../var }\n",
      "etc/people/helper.md": HELPER,
    });
    const config = configOf(await there.load({ file: "etc/perch.yaml" }));
    expect(config.dataFolder).toBe(join(there.folder, "var"));
    expect(config.files).toEqual(
      ["etc/perch.yaml", ".env", "etc/people", "etc/people/helper.md"].map((path) =>
        join(there.folder, path),
      ),
    );
  });

  it("names a file that was asked for and is not there", async () => {
    const there = await place({});
    expect(faultsOf(await there.load({ file: "perch.yml" }))).toEqual([
      {
        file: "perch.yml",
        path: "",
        problem: "there is no such file",
        remedy: "Check the path, or make the file",
      },
    ]);
  });

  it("wants a password where others can reach the pages", async () => {
    const yaml =
      "channels: { web: { kind: web } }\nhttp: { host: 0.0.0.0, password: '${PERCH_PASSWORD:-}' }\n";
    expect(faultsOf(await loadYaml(yaml)).map((fault) => fault.path)).toEqual(["http.host"]);
    const config = configOf(await loadYaml(yaml, { env: { PERCH_PASSWORD: "correct horse" } }));
    expect(config.http).toEqual({ host: "0.0.0.0", port: 7373, password: "correct horse" });
  });

  it("says that a kind's code cannot be loaded, without what secrets it speaks of", async () => {
    const there = await place({
      "config/agents/helper.md": HELPER,
      "config/perch.yaml": "channels:\n  a: { kind: whatsapp, token: '${T}' }\n",
    });
    const broken = { names: ["whatsapp"], load: () => Promise.reject(new Error("no package for hush-hush")) };
    const result = await there.load({ kinds: broken, env: { T: "hush-hush" } });
    expect(faultsOf(result).map(faultSentence)).toEqual([
      'config/perch.yaml:2 channels.a.kind ("whatsapp"): this kind of channel cannot be loaded: no package for …. Run npm install, or take the channel out.',
    ]);
  });
});

describe("variables", () => {
  const CHANNEL = "channels:\n  bot: { kind: telegram, token: '${TELEGRAM_TOKEN}', owner: '${OWNER:-77}' }\n";

  it("switches a channel off whose variables are unset or empty, and says which to set", async () => {
    const config = configOf(await loadYaml(CHANNEL, { env: { TELEGRAM_TOKEN: "" } }));
    expect(config.channels.get("bot")).toEqual({ kind: "telegram", off: { set: ["TELEGRAM_TOKEN"] } });
  });

  it("still tells the other faults of a channel that is off", async () => {
    const result = await loadYaml(
      "channels:\n  bot: { kind: telegram, token: '${NONE}', pollSeconds: 0, tokne: 1 }\n",
    );
    expect(faultsOf(result).map((fault) => fault.path)).toEqual([
      "channels.bot.pollSeconds",
      "channels.bot.tokne",
    ]);
  });

  it("reads .env, which the environment wins over", async () => {
    const files = { ".env": `export TELEGRAM_TOKEN="${TOKEN}" # from BotFather\n\nOWNER=1\n` };
    const config = configOf(await loadYaml(CHANNEL, { files, env: { OWNER: "2" } }));
    expect(config.channels.get("bot")?.settings).toMatchObject({ token: TOKEN });
    expect(config.rules.channels.get("bot")?.owner).toBe("2");
  });

  it("reads a variable as what the schema asks for there", async () => {
    const yaml = [
      "channels:",
      "  bot:",
      "    kind: telegram",
      "    token: ${TELEGRAM_TOKEN}",
      "    pollSeconds: ${POLL}",
      "    drafts: ${DRAFTS}",
      "http: { port: '${PORT:-8080}' }",
    ].join("\n");
    const config = configOf(
      await loadYaml(yaml, { env: { TELEGRAM_TOKEN: TOKEN, POLL: "5", DRAFTS: "false" } }),
    );
    expect(config.http.port).toBe(8080);
    expect(config.channels.get("bot")?.settings).toMatchObject({ pollSeconds: 5, drafts: false });
  });

  it("does not look through what a variable holds", async () => {
    const env = { TITLE: "${HOME}: {a: 1}", HOME: "/root" };
    const config = configOf(await loadYaml("channels: { web: { kind: web, title: '${TITLE}' } }", { env }));
    expect(config.channels.get("web")?.settings).toEqual({ title: "${HOME}: {a: 1}" });
  });

  it("shows in no fault what a secret's variable holds, even where a schema's sentence does", async () => {
    const there = await place({ "config/agents/helper.md": HELPER, "config/perch.yaml": CHANNEL });
    const faults = faultsOf(await there.load({ env: { TELEGRAM_TOKEN: "not-a-token-at-all" } }));
    expect(faults).toEqual([
      {
        file: "config/perch.yaml",
        path: "channels.bot.token",
        line: 2,
        problem: "… is no bot token",
        remedy: "Copy it whole from @BotFather",
      },
    ]);
  });
});

describe("what Perch ships", () => {
  it("loads without a single variable: the web chat works, Telegram and WhatsApp wait for theirs", async () => {
    const there = await place({});
    await cp(SHIPPED, join(there.folder, "config"), { recursive: true });
    const config = configOf(await there.load({ kinds }));
    expect([...config.channels]).toEqual([
      ["web", { kind: "web", settings: {} }],
      ["telegram", { kind: "telegram", off: { set: ["TELEGRAM_TOKEN"] } }],
      ["whatsapp", { kind: "whatsapp", off: { set: ["WHATSAPP_OWNER", "WHATSAPP_STATE_KEY"] } }],
    ]);
    expect(config.rules.channels.get("web")).toMatchObject({ owner: "owner", agent: "helper" });
    expect(config.rules.agents.get("helper")?.model).toEqual({ provider: "demo", name: "demo" });
    expect(config.notes).toEqual([]);
  });

  it("holds where there is no perch.yaml, with the data beside the place of start", async () => {
    const empty = await place({});
    const config = configOf(await empty.load({ kinds }));
    const copy = await place({});
    await cp(SHIPPED, join(copy.folder, "config"), { recursive: true });
    const shipped = configOf(await copy.load({ kinds }));
    expect(config.dataFolder).toBe(join(empty.folder, "data"));
    expect({ ...config, file: "", files: [], dataFolder: "" }).toEqual({
      ...shipped,
      file: "",
      files: [],
      dataFolder: "",
    });
  });

  it("shows the defaults in its comments as they are in the schema", async () => {
    const there = await place({});
    await cp(SHIPPED, join(there.folder, "config"), { recursive: true });
    const before = configOf(await there.load({ kinds }));
    const uncommented: Record<string, string> = {};
    for (const path of ["config/perch.yaml", "config/agents/helper.md"]) {
      const text = await readFile(join(there.folder, path), "utf8");
      uncommented[path] = text.replaceAll(/^( *)#(?=\S)(?!owner:)/gm, "$1");
      expect(uncommented[path]).not.toBe(text);
    }
    await there.write(uncommented);
    expect(configOf(await there.load({ kinds }))).toEqual(before);
  });

  it("names in .env.example every variable that its files refer to", async () => {
    const example = await readFile(join(SHIPPED, "../.env.example"), "utf8");
    const text =
      (await readFile(join(SHIPPED, "perch.yaml"), "utf8")) +
      (await readFile(join(SHIPPED, "agents/helper.md"), "utf8"));
    const names = [...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name = ""]) => name);
    const made = new Set(["NAME", "MY_API_KEY", "NOTES_TOKEN", "TICKETS_TOKEN"]);
    expect(names.filter((name) => !made.has(name) && !example.includes(`\n${name}=`))).toEqual([]);
  });
});
