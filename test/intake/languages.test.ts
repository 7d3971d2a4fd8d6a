import { afterEach, describe, expect, it } from "vitest";
import { manualClock } from "../support/clock.ts";
import { type TestGateway, testGateway } from "../support/gateway.ts";

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function setUp(): Promise<TestGateway & { ask(text: string, chat?: string): Promise<string> }> {
  const clock = manualClock();
  const perch = await testGateway({ clock });
  open.push(perch);
  return {
    ...perch,
    async ask(text, chat = "ada") {
      const before = perch.platform.textsIn(chat).length;
      await perch.platform.say(chat, text, { whole: true });
      await perch.platform.until(() => perch.platform.textsIn(chat).length > before);
      await clock.advance(0);
      return perch.platform.textsIn(chat).at(-1) ?? "";
    },
  };
}

describe("what a command is answered with", () => {
  it("is in the language of the chat's last words, English before there are any", async () => {
    const { ask } = await setUp();
    expect(await ask("/memory")).toBe("This agent remembers nothing beyond the conversation.");
    await ask("Kannst du mir bitte sagen, wie das geht?");
    expect(await ask("/memory")).toBe("Dieser Agent merkt sich nichts über das Gespräch hinaus.");
    expect(await ask("/forget")).toContain("Schicke /forget und die Nummer");
    expect(await ask("/context")).toMatch(/Gespräch|Kontext|nichts|noch/);
    expect(await ask("/help")).toContain("/why — Was aus den letzten Nachrichten wurde");
    expect(await ask("/model")).toContain("Hier antwortet helper");
    // What says nothing of a language changes nothing.
    await ask("ok");
    expect(await ask("/new")).not.toMatch(/\bnew\b/i);
    expect(await ask("/compact")).toMatch(/[äöü]|nicht|noch/);
    expect(await ask("/forget all")).toContain("Alles von diesem Chat ist gelöscht.");
    await ask("And now we speak English, if you please.");
    expect(await ask("/memory")).toBe("This agent remembers nothing beyond the conversation.");
  });

  it("is each chat's own, and no other's", async () => {
    const { ask } = await setUp();
    await ask("Kannst du mir bitte sagen, wie das geht?");
    expect(await ask("/forget", "second")).toContain("Send /forget");
  });
});
