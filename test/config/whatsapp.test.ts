import { expect, it } from "vitest";
import whatsapp from "../../channels/whatsapp/index.ts";
import { faultSentence } from "../../src/config/faults.ts";
import { configOf, faultsOf, loadYaml } from "./support.ts";

const KINDS = { names: ["whatsapp"], load: async () => whatsapp };

const load = (...lines: readonly string[]) =>
  loadYaml(["channels:", "  phone:", "    kind: whatsapp", ...lines].join("\n"), { kinds: KINDS });

it("takes phone numbers, WhatsApp's own numbers and groups for people and chats", async () => {
  const config = configOf(
    await load(
      '    owner: "+15551234567"',
      '    allow: ["+4915112345678", "lid:123456789012345"]',
      '    deny: ["+447700900123"]',
      "    pauseMinutes: 30",
      "    chats:",
      '      "120363000000000000@g.us": { when: all, allow: ["lid:42"] }',
      '      "+15557654321": { agent: helper }',
    ),
  );
  expect(config.rules.channels.get("phone")).toMatchObject({
    owner: "+15551234567",
    allow: ["+4915112345678", "lid:123456789012345"],
    deny: ["+447700900123"],
    pauseMs: 1_800_000,
    chats: {
      "120363000000000000@g.us": { when: "all", allow: ["lid:42"] },
      "+15557654321": { agent: "helper" },
    },
  });
});

it.each([
  ["a number without its plus", '    owner: "15551234567"', "no person has such an id here"],
  ["a number with spaces", '    owner: "+1 555 123 4567"', "no person has such an id here"],
  ["a name", "    owner: Mira", "a name can change hands, so people are known by their ids alone"],
])("refuses %s, and shows how it is written", async (_what, line, problem) => {
  const sentences = faultsOf(await load(line)).map(faultSentence);
  expect(sentences).toEqual([expect.stringContaining(`${problem}. Write the id, such as "+15551234567".`)]);
});

it("asks for quotes where a number would lose its plus, without the number", async () => {
  const sentences = faultsOf(await load("    allow: [+4915112345678]")).map(faultSentence);
  expect(sentences.join("\n")).toContain("Put it in quotes if it is an id");
  expect(sentences.join("\n")).not.toContain("15112345");
});
