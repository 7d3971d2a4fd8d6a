import { describe, expect, it } from "vitest";
import type { MessageEvent, StopEvent } from "../../src/core/events.ts";
import type { ChannelRules } from "../../src/core/rules.ts";
import { admit, agentFor, standingOf } from "../../src/intake/admit.ts";
import { OPEN_TO_ADA } from "../support/gateway.ts";

const RULES: ChannelRules = {
  owner: "1",
  allow: ["2"],
  deny: ["3"],
  open: false,
  strangers: "silent",
  turnsPerHour: 20,
  agent: "helper",
  names: [],
  edits: { running: "wait", answered: "note" },
  reactions: "note",
  context: 0,
  away: { answerMs: 24 * 3_600_000, digestMs: 7 * 24 * 3_600_000 },
  pauseMs: 0,
  unaskedPerDay: 20,
  gather: OPEN_TO_ADA.gather,
  during: "queue",
  queueLimit: 20,
  waitingSign: "off",
  commands: {},
  chats: {
    "-100": {
      agent: "editor",
      when: "all",
      senders: { "2": { agent: "coder" } },
      topics: { "7": { agent: "poet", when: "none" }, "8": { when: "addressed" } },
    },
  },
};

function message(
  changes: Partial<MessageEvent> & { text?: string; person?: string; group?: string; topic?: string },
): MessageEvent {
  const { text = "hello", person = "1", group, topic, ...rest } = changes;
  return {
    type: "message",
    id: "1",
    ref: "1",
    place: {
      chat: group ?? "5",
      kind: group === undefined ? "private" : "group",
      ...(topic === undefined ? {} : { topic }),
    },
    from: { id: person, name: "Ada" },
    sentAt: "2026-01-01T00:00:00.000Z",
    content: [{ type: "text", text }],
    addressed: true,
    ...rest,
  };
}

describe("admission", () => {
  it.each([
    ["the owner", message({ person: "1" }), undefined, { kind: "turn", agent: "helper", by: "channel" }],
    [
      "a listed person",
      message({ person: "2" }),
      undefined,
      { kind: "turn", agent: "helper", by: "channel" },
    ],
    [
      "who was granted it in chat",
      message({ person: "9" }),
      "allowed",
      { kind: "turn", agent: "helper", by: "channel" },
    ],
    [
      "a denied person, whatever was granted",
      message({ person: "3" }),
      "owner",
      { kind: "refused", why: "the sender is on the deny list", stranger: false },
    ],
    [
      "a stranger",
      message({ person: "9" }),
      undefined,
      { kind: "refused", why: "the sender is not allowed here", stranger: true },
    ],
    [
      "a stranger with a code",
      message({ person: "9", text: "/start abcdefgh" }),
      undefined,
      { kind: "claim", code: "abcdefgh", agent: "helper" },
    ],
    [
      "a code in a group",
      message({ person: "1", text: "/start abcdefgh", group: "-1" }),
      undefined,
      { kind: "command", name: "help", agent: "helper" },
    ],
    [
      "a denied person with a code",
      message({ person: "3", text: "/start abcdefgh" }),
      undefined,
      { kind: "refused", why: "the sender is on the deny list", stranger: false },
    ],
    [
      "/start alone",
      message({ text: "/start" }),
      undefined,
      { kind: "command", name: "help", agent: "helper" },
    ],
    [
      "/new with words after it",
      message({ text: "/new please" }),
      undefined,
      { kind: "command", name: "new", agent: "helper" },
    ],
    [
      "a command that somebody else wrote",
      message({ text: "/new", forward: { from: "Eve" } }),
      undefined,
      { kind: "turn", agent: "helper", by: "channel" },
    ],
    [
      "a command under a picture, which it would take away with it",
      message({
        content: [
          { type: "text", text: "/new" },
          { type: "unfetched", kind: "image", ref: "f", declared: {} },
        ],
      }),
      undefined,
      { kind: "turn", agent: "helper", by: "channel" },
    ],
    [
      "a word that only begins like a command",
      message({ text: "/newish" }),
      undefined,
      { kind: "turn", agent: "helper", by: "channel" },
    ],
    [
      "a group that is not addressed",
      message({ group: "-1", addressed: false }),
      undefined,
      { kind: "refused", why: "not addressed", stranger: false },
    ],
    [
      "a group set to all",
      message({ group: "-100", addressed: false }),
      undefined,
      { kind: "turn", agent: "editor", by: "chat" },
    ],
    [
      "a topic set to none",
      message({ group: "-100", topic: "7" }),
      undefined,
      { kind: "refused", why: "the chat is set to none", stranger: false },
    ],
    [
      "a topic set back to addressed",
      message({ group: "-100", topic: "8", addressed: false }),
      undefined,
      { kind: "refused", why: "not addressed", stranger: false },
    ],
  ] as const)("decides about %s", (_name, event, granted, verdict) => {
    expect(admit(event, RULES, granted)).toEqual(verdict);
  });

  it("lets a stop through from who may talk, and from nobody else", () => {
    const stop: StopEvent = {
      type: "stop",
      id: "s",
      place: { chat: "5", kind: "private" },
      from: { id: "2", name: "" },
      sentAt: "",
    };
    expect(admit(stop, RULES, undefined)).toEqual({ kind: "stop", agent: "helper" });
    expect(admit({ ...stop, from: { id: "9", name: "" } }, RULES, undefined).kind).toBe("refused");
  });

  it("refuses what comes from a connection that is not configured", () => {
    expect(admit(message({}), undefined, "owner").kind).toBe("refused");
  });

  it("lets everybody in where the operator says so", () => {
    expect(admit(message({ person: "9" }), { ...RULES, open: true }, undefined).kind).toBe("turn");
  });

  it("lets a guest who has had the turns of the hour give commands, and nothing else", () => {
    const open = { ...RULES, open: true };
    expect(admit(message({ person: "9" }), open, "spent")).toEqual({
      kind: "refused",
      why: "the sender has had the turns of an hour (20)",
      stranger: true,
    });
    expect(admit(message({ person: "9", text: "/stop" }), open, "spent").kind).toBe("command");
  });

  it.each(["status", "why", "model", "pair"])("takes /%s as a command of ours", (name) => {
    expect(admit(message({ text: `/${name}` }), RULES, undefined)).toEqual({
      kind: "command",
      name,
      agent: "helper",
    });
  });
});

describe("how somebody stands in a chat", () => {
  const chats = { g: { allow: ["5"] }, all: { allow: "everyone" }, "-100": {} } as const;
  it.each([
    ["the owner by the file", "1", "x", undefined, "owner"],
    ["an owner by grant", "9", "x", "owner", "owner"],
    ["on the allow list", "2", "all", undefined, "allowed"],
    ["let in by grant", "9", "all", "allowed", "allowed"],
    ["let in to this chat", "5", "g", undefined, "allowed"],
    ["let in to another chat", "5", "-100", undefined, "stranger"],
    ["one of everyone", "9", "all", undefined, "guest"],
    ["a guest whose turns are spent", "9", "all", "spent", "guest"],
    ["denied, whatever a chat says", "3", "all", "owner", "denied"],
    ["unknown in a chat without a list", "9", "-100", undefined, "stranger"],
    ["unknown in a chat called like a property", "9", "constructor", undefined, "stranger"],
  ] as const)("%s", (_name, person, group, granted, standing) => {
    expect(standingOf(message({ person, group }), { ...RULES, chats }, granted)).toBe(standing);
  });

  it("is a guest wherever open is all that lets them in", () => {
    expect(standingOf(message({ person: "9" }), { ...RULES, open: true }, undefined)).toBe("guest");
  });
});

describe("which agent answers", () => {
  it.each([
    [
      "sender in chat before topic",
      message({ group: "-100", topic: "7", person: "2" }),
      { agent: "coder", by: "sender" },
    ],
    ["topic before chat", message({ group: "-100", topic: "7" }), { agent: "poet", by: "topic" }],
    [
      "chat where the topic names none",
      message({ group: "-100", topic: "8" }),
      { agent: "editor", by: "chat" },
    ],
    ["chat before channel", message({ group: "-100" }), { agent: "editor", by: "chat" }],
    ["channel otherwise", message({ group: "-999" }), { agent: "helper", by: "channel" }],
    [
      "no rule of a sender called like a property of every object",
      message({ group: "-100", person: "constructor" }),
      { agent: "editor", by: "chat" },
    ],
    [
      "no rule of a topic called like a property of every object",
      message({ group: "-100", topic: "__proto__" }),
      { agent: "editor", by: "chat" },
    ],
  ] as const)("%s", (_name, event, expected) => {
    expect(agentFor(event, RULES)).toEqual(expected);
  });
});
