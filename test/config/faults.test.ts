import { describe, expect, it } from "vitest";

import { faultSentence, suggestion } from "../../src/config/faults.ts";
import { faultsOf, loadYaml, TOKEN } from "./support.ts";

/** A channel that is right, so that the fault beside it is the only one. */
const WEB = "channels:\n  web: { kind: web }\n";

async function sentences(
  yaml: string,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  return faultsOf(await loadYaml(yaml, { env })).map((fault) =>
    faultSentence(fault).replace("config/perch.yaml", ""),
  );
}

describe("the text", () => {
  it.each([
    [
      "an unclosed list",
      "channels: [web\n",
      [
        ":2: not valid YAML: flow sequence in block collection must be sufficiently indented and end with a ]. Look at this line and the one above: spaces indent, and text with special characters stands in quotes.",
      ],
    ],
    [
      "a tab",
      "channels:\n\tweb: 1\n",
      [":2: not valid YAML: tabs are not allowed as indentation. Indent with spaces."],
    ],
    [
      "a bare variable in braces",
      "channels:\n  a: { kind: web, title: ${T} }\n",
      [
        ':2: not valid YAML: unexpected flow-map-start at node end. Inside { } and [ ] a variable stands in quotes: "${NAME}".',
      ],
    ],
    [
      "a duplicate key",
      `${WEB}http: { port: 1 }\nhttp: { port: 2 }\n`,
      [":3 http: the key stands here a second time. Keep one of the two."],
    ],
    [
      "a key twice, once as a number",
      "channels:\n  web: { kind: web, chats: { 5: {}, '5': {} } }\n",
      [":2 channels.web.chats.5: the key stands here a second time. Keep one of the two."],
    ],
    [
      "a duplicate anchor",
      "channels:\n  a: { kind: web, allow: &x [b] }\n  c: { kind: web, allow: &x [d] }\n",
      [":3 channels.c.allow: the anchor &x stands here a second time. Give one of the two another name."],
    ],
    [
      "an alias without its anchor",
      "channels:\n  a: { kind: web, allow: *x }\n",
      [":2 channels.a.allow: no anchor &x stands before *x. Write &x before it."],
    ],
    [
      "an alias within itself",
      "channels: &x\n  a: *x\n",
      [
        ":2 channels.a: more than 20000 values or 32 levels, with aliases unfolded. Write less, or use fewer aliases.",
      ],
    ],
    [
      "a second document",
      `${WEB}---\na: 1\n`,
      [":3: a second document begins here, and only one is read. Remove this line of ---."],
    ],
    [
      "a tag",
      "channels:\n  a: !!js/function x\n",
      [
        ":2: not valid YAML: unresolved tag. Look at this line and the one above: spaces indent, and text with special characters stands in quotes.",
      ],
    ],
    ["a key that is a list", `${WEB}? [a]\n: b\n`, [":1: a key is not text. Put the key in quotes."]],
    ["an empty file", "# nothing\n", [" channels: is missing. Write channels: with a map of keys."]],
    ["a list of channels", "channels: [web]\n", [":1 channels: must be a map of keys. Write a map of keys."]],
    ["no channel", "channels: {}\n", [":1 channels: there is no channel. Write one: web: { kind: web }."]],
  ])("%s", async (_name, yaml, expected) => {
    expect(await sentences(yaml)).toEqual(expected);
  });
});

describe("keys and values", () => {
  it.each([
    [
      "an unknown key at the top",
      `${WEB}htpp: { port: 1 }\n`,
      [':3 htpp: unknown key. Did you mean "http"?'],
    ],
    [
      "an unknown key in a section",
      `${WEB}turns: { timeout: 5 }\n`,
      [':3 turns.timeout (5): unknown key. Did you mean "timeoutSeconds"?'],
    ],
    [
      "an unknown key in a chat",
      "channels:\n  web: { kind: web, chats: { '-5': { wen: all } } }\n",
      [':2 channels.web.chats.-5.wen ("all"): unknown key. Did you mean "when"?'],
    ],
    [
      "text for a number",
      `${WEB}turns:\n  concurrent: many\n`,
      [':4 turns.concurrent ("many"): must be a number. Write a number.'],
    ],
    [
      "a fraction",
      `${WEB}turns: { concurrent: 1.5 }\n`,
      [":3 turns.concurrent (1.5): must be a whole number. Write a whole number."],
    ],
    [
      "too small",
      `${WEB}media: { stallSeconds: 0 }\n`,
      [":3 media.stallSeconds (0): must be at least 1 second. Write at least 1."],
    ],
    [
      "too many bytes",
      `${WEB}media: { imageBytes: 9000000000 }\n`,
      [":3 media.imageBytes (9000000000): must be at most 2000000000 bytes. Write at most 2000000000."],
    ],
    [
      "not one of the choices",
      "channels:\n  web: { kind: web, strangers: polit }\n",
      [':2 channels.web.strangers ("polit"): must be silent, polite or pair. Did you mean "polite"?'],
    ],
    [
      "a wrong acknowledgement",
      "channels:\n  web: { kind: web, open: true, acknowledge: yes }\n",
      [
        ':2 channels.web.acknowledge ("yes"): must be allow-arbitrary-senders. Known here: allow-arbitrary-senders.',
      ],
    ],
    [
      "open without one",
      "channels:\n  web: { kind: web, open: true }\n",
      [
        ":2 channels.web.open (true): anybody could use the agent, its tools and your model's budget. Write acknowledge: allow-arbitrary-senders beside it, or allow: with the people you mean.",
      ],
    ],
    [
      "no kind",
      "channels:\n  web: { agent: helper }\n",
      [":2 channels.web.kind: is missing. Write kind: with text in quotes."],
    ],
    [
      "a channel that is no map",
      "channels:\n  web: yes please\n",
      [':2 channels.web ("yes please"): must be a map of keys. Write a map of keys.'],
    ],
    [
      "a bad name of a channel",
      "channels:\n  My Bot: { kind: web }\n",
      [
        ":2 channels.My Bot: a name is 1–40 lower-case letters, digits and hyphens, and begins with a letter. Rename it.",
      ],
    ],
    [
      "the kind's own settings",
      "channels:\n  b: { kind: telegram, token: '${T}', apiRoot: here }\n",
      [':2 channels.b.apiRoot ("here"): must be a web address. Write it in full: https://example.org.'],
    ],
    [
      "a setting that is missing",
      "channels:\n  b: { kind: telegram }\n",
      [":2 channels.b.token: is missing. Write token: with text in quotes."],
    ],
    [
      "was, still here",
      "channels:\n  a: { kind: web, was: b }\n  b: { kind: web }\n",
      [':2 channels.a.was ("b"): a channel of this name is still here. Remove was, or that channel.'],
    ],
    [
      "was, twice",
      "channels:\n  a: { kind: web, was: z }\n  b: { kind: web, was: z }\n",
      [':3 channels.b.was ("z"): channel a was called so too. Keep one of the two.'],
    ],
  ])("%s", async (_name, yaml, expected) => {
    expect(await sentences(yaml)).toEqual(expected);
  });
});

describe("agents that are named", () => {
  it.each([
    [
      "by a channel",
      "channels:\n  web: { kind: web, agent: helpr }\n",
      [':2 channels.web.agent ("helpr"): there is no such agent. Did you mean "helper"?'],
    ],
    [
      "for a sender",
      "channels:\n  web: { kind: web, chats: { '5': { senders: { '6': { agent: x } } } } }\n",
      [':2 channels.web.chats.5.senders.6.agent ("x"): there is no such agent. Known here: helper.'],
    ],
    [
      "for a topic",
      "channels:\n  web: { kind: web, chats: { '5': { topics: { '6': { agent: x } } } } }\n",
      [':2 channels.web.chats.5.topics.6.agent ("x"): there is no such agent. Known here: helper.'],
    ],
    [
      "as the default",
      `${WEB}agents: { default: coder }\n`,
      [':3 agents.default ("coder"): there is no such agent. Known here: helper.'],
    ],
    [
      "in a folder that is not there",
      `${WEB}agents: { folder: none }\n`,
      ["config/none: there is no such folder of agents. Make it and put an agent into it: helper.md."],
    ],
  ])("%s", async (_name, yaml, expected) => {
    expect(await sentences(yaml)).toEqual(expected);
  });
});

describe("ids", () => {
  it.each([
    [
      "above 2^53",
      "9007199254740994",
      [
        ":2 channels.web.owner (90…94): a number above 9007199254740991 loses digits. Put it in quotes if it is an id, else write the plain number.",
      ],
    ],
    [
      "with a plus",
      "+4915112345678",
      [
        ":2 channels.web.owner (+49…78): as a number this reads 49…78. Put it in quotes if it is an id, else write the plain number.",
      ],
    ],
    [
      "with a leading nought",
      "0815",
      [
        ":2 channels.web.owner (0815): as a number this reads 815. Put it in quotes if it is an id, else write the plain number.",
      ],
    ],
    [
      "a fraction",
      "1.5",
      [':2 channels.web.owner (1.5): an id is text or a whole number. Write it in quotes: "123456789".'],
    ],
    [
      "a user name",
      '"@alice"',
      [
        ':2 channels.web.owner ("@alice"): an id has no spaces and is no @name, which can change hands. Write the platform\'s own id.',
      ],
    ],
  ])("%s", async (_name, id, expected) => {
    expect(await sentences(`channels:\n  web: { kind: web, owner: ${id} }\n`)).toEqual(expected);
  });

  it("are refused as keys, too, where digits would be lost", async () => {
    expect(await sentences("channels:\n  web: { kind: web, chats: { 9007199254740994: {} } }\n")).toEqual([
      ":2 channels.web.chats: the key 90…94 changes as a number. Put the key in quotes.",
    ]);
  });

  it("that may be phone numbers are not shown whole", async () => {
    const yaml =
      "channels:\n  web: { kind: web, chats: { '4915112345678@s.net': { agent: x } }, allow: [true, '49151 12345678'] }\n";
    const all = (await sentences(yaml)).join("\n");
    expect(all).toContain("channels.web.chats.49…78@s.net.agent");
    expect(all).toContain('("49…78")');
    expect(all.replaceAll("123456789", "")).not.toMatch(/\d{5}/);
  });
});

describe("people", () => {
  const PHONE = "channels:\n  phone:\n    kind: telegram\n    token: ${TOKEN}\n";
  const NAMED =
    'a name can change hands, so people are known by their ids alone. Write the id, such as "123456789".';

  it.each([
    ["an owner", '    owner: "@mira"\n', [`:5 channels.phone.owner ("@mira"): ${NAMED}`]],
    ["a name without its sign", "    allow: [mira]\n", [`:5 channels.phone.allow[0] ("mira"): ${NAMED}`]],
    [
      "two who are denied",
      '    deny: ["@mira", 5, everyone]\n',
      [`:5 channels.phone.deny[0] ("@mira"): ${NAMED}`, `:5 channels.phone.deny[2] ("everyone"): ${NAMED}`],
    ],
    [
      "somebody in a chat",
      "    chats: { '-5': { allow: [7, '@mira'] } }\n",
      [`:5 channels.phone.chats.-5.allow[1] ("@mira"): ${NAMED}`],
    ],
    [
      "a sender in a chat",
      "    chats: { '-5': { senders: { mira: { agent: helper } } } }\n",
      [`:5 channels.phone.chats.-5.senders.mira: ${NAMED}`],
    ],
    [
      "a number that is nobody's",
      '    owner: "+49 151 12345678"\n    allow: ["12:34"]\n',
      [
        ':5 channels.phone.owner ("+49…78"): no person has such an id here. Write the id, such as "123456789".',
        ':6 channels.phone.allow[0] ("12:34"): no person has such an id here. Write the id, such as "123456789".',
      ],
    ],
    [
      "neither a list nor everyone",
      "    chats: { '-5': { allow: evryone } }\n",
      [
        ':5 channels.phone.chats.-5.allow ("evryone"): must be a list of ids, or everyone. Write allow: ["123456789"], or allow: everyone.',
      ],
    ],
    [
      "a form that is none",
      "    chats: { '-5': { allow: { '7': yes } } }\n",
      [
        ':5 channels.phone.chats.-5.allow: must be a list of ids, or everyone. Write allow: ["123456789"], or allow: everyone.',
      ],
    ],
  ])("are named by ids that the platform has: %s", async (_name, yaml, expected) => {
    expect(await sentences(PHONE + yaml, { TOKEN })).toEqual(expected);
  });

  it("may be named by a variable, as numbers, and as everyone of a chat", async () => {
    const yaml = `${PHONE}    owner: \${ME}\n    allow: [5]\n    chats: { '-5': { allow: everyone } }\n`;
    expect(await sentences(yaml, { TOKEN, ME: "7" })).toEqual([]);
    expect(await sentences(yaml, { TOKEN, ME: "@mira" })).toEqual([
      expect.stringContaining("channels.phone.owner"),
    ]);
  });

  it("are whatever they are called where the platform has no form of ids", async () => {
    expect(await sentences("channels: { web: { kind: web, owner: mira } }\n")).toEqual([]);
  });
});

describe("commands", () => {
  it.each([
    ["new", "Perch itself answers to this command. Rename it."],
    ["start", "Perch itself answers to this command. Rename it."],
    ["Weather", "a command is 1–32 lower-case letters, digits and _. Rename it."],
  ])("cannot be called %s", async (name, problem) => {
    const yaml = `channels:\n  web: { kind: web, commands: { ${name}: What it is for } }\n`;
    expect(await sentences(yaml)).toEqual([
      `:2 channels.web.commands.${name} ("What it is for"): ${problem}`,
    ]);
  });
});

describe("secrets and variables", () => {
  const SECRET =
    "a secret stands in the file itself. Put it into .env as NAME=…, and write ${NAME} here, without a default.";

  it.each([
    [
      "a token as text",
      `channels:\n  b: { kind: telegram, token: "${TOKEN}" }\n`,
      [`:2 channels.b.token: ${SECRET}`],
    ],
    [
      "a token as a default",
      `channels:\n  b: { kind: telegram, token: "\${T:-${TOKEN}}" }\n`,
      [`:2 channels.b.token: ${SECRET}`],
    ],
    ["a password that is a number", `${WEB}http: { password: 12345678 }\n`, [`:3 http.password: ${SECRET}`]],
    [
      "a password in the address of the store",
      `${WEB}store: { url: "postgres://perch:hunter2@db/perch" }\n`,
      [`:3 store.url ("postgres://perch:…@db/perch"): ${SECRET}`],
    ],
    [
      "an address of another store",
      `${WEB}store: { url: "mysql://db/perch" }\n`,
      [
        ':3 store.url ("mysql://db/perch"): is no address of a PostgreSQL server. Write one such as postgres://perch@127.0.0.1:5432/perch.',
      ],
    ],
    [
      "a password in an address that is written wrong",
      `${WEB}store: { url: "postgres://db/perch" }\ncluster: { redis: "redis:/:hunter2@cache" }\n`,
      [":4 cluster.redis: is no address of a Redis. Write one such as redis://127.0.0.1:6379."],
    ],
    [
      "the secret of a bucket",
      `${WEB}data: { bucket: { name: media, keyId: id, secret: hunter2 } }\n`,
      [`:3 data.bucket.secret: ${SECRET}`],
    ],
    [
      "a token under another key",
      `channels:\n  web: { kind: web, title: "${TOKEN}" }\n`,
      [`:2 channels.web.title ("…"): ${SECRET}`],
    ],
    [
      "a token as a key",
      `channels:\n  web: { kind: web, "${TOKEN}": 1 }\n`,
      [
        ":2 channels.web.… (1): unknown key. Known here: acknowledge, agent, allow, away, budgets, chats, commands, context, deny, during, edits, gather, kind, live, names, open, owner, pauseMinutes, queueLimit, quietHours, reactions, strangers, timeZone, title, turnsPerHour, unaskedPerDay, waitingSign, was.",
      ],
    ],
    [
      "an unset variable outside the channels",
      `${WEB}http: { port: "\${PORT}" }\n`,
      [':3 http.port ("${PORT}"): PORT is not set. Set PORT in .env, or write ${PORT:-default}.'],
    ],
    [
      "a variable that does not end",
      "channels:\n  web: { kind: web, title: '${OPEN' }\n",
      [':2 channels.web.title ("${OPEN"): ${ begins no variable. Write ${NAME} or ${NAME:-default}.'],
    ],
  ])("%s", async (_name, yaml, expected) => {
    const found = await sentences(yaml);
    expect(found).toEqual(expected);
    expect(found.join("")).not.toContain(TOKEN);
  });

  it("a broken text that holds a token shows no part of it", async () => {
    const found = await sentences(`channels:\n  b: { token: "x" "${TOKEN}" }\n`);
    expect(found).toHaveLength(1);
    expect(found.join("")).not.toContain("AAHdq");
  });

  it("shows a variable by its name where its value is wrong", async () => {
    expect(await sentences(`${WEB}http: { port: "\${PORT}" }\n`, { PORT: "eighty" })).toEqual([
      ':3 http.port ("${PORT}"): must be a number. Write a number.',
    ]);
  });

  it("tells a line of .env that it cannot read, without its text", async () => {
    const files = { ".env": `A=1\nA=2\nB="open\n${TOKEN}\n` };
    const faults = faultsOf(await loadYaml(WEB, { files })).map(faultSentence);
    expect(faults).toEqual([
      ".env:2 A: set a second time. Keep one of the two lines.",
      ".env:3 B: the quote is not closed on this line. Close the quote, or remove it.",
      ".env:4: not a NAME=value line. Write NAME=value, or # before a comment.",
    ]);
  });
});

describe("suggestion", () => {
  it.each([
    ["agnet", ["agent", "allow"], 'Did you mean "agent"?'],
    ["google", ["openai", "google-genai"], 'Did you mean "google-genai"?'],
    ["Token", ["token"], 'Did you mean "token"?'],
    ["colour", ["token", "agent"], "Known here: agent, token"],
    ["x", [], "Remove it"],
  ])("of %s among %j", (word, known, expected) => {
    expect(suggestion(word, known)).toBe(expected);
  });
});
