import { afterEach, describe, expect, it } from "vitest";
import { perchYaml, type World, world } from "../support/telegram-perch.ts";

const ADA = { id: 700_100_001, firstName: "Ada" } as const;
const MALLORY = { id: 700_100_002, firstName: "Mallory" } as const;
const LINK = /https:\/\/t\.me\/fern_demo_bot\?start=([\w-]+)/;

let at: World;
afterEach(() => at.close());

describe("a bot that nobody owns", () => {
  it("prints a link at its first start, and belongs to the first who presses Start with it", async () => {
    at = await world({});
    const first = await at.start();
    const [, code = ""] = await first.said(LINK);
    const ada = at.telegram.privateChat(ADA);
    const mallory = at.telegram.privateChat(MALLORY);
    mallory.sendText("hello before it is claimed");
    ada.start(code);
    await at.telegram.untilSent(ada.chatId, 1);
    mallory.start(code);
    mallory.sendText("hello after it");
    ada.sendText("kettle");
    await at.telegram.untilSent(ada.chatId, 2);
    expect(at.telegram.sentTo(ada.chatId).map(({ text }) => text)).toEqual([
      "You are the owner of this bot now. Send me something.",
      "kettle",
    ]);
    expect(at.telegram.sentTo(mallory.chatId)).toEqual([]);
    expect(at.model.requests).toHaveLength(1);
    expect(await first.stop()).toBe(0);

    const second = await at.start();
    ada.sendText("again");
    await at.telegram.untilSent(ada.chatId, 3);
    expect(second.output()).not.toMatch(LINK);
    const listed = await at.perch("people");
    expect(listed.output).toMatch(/^tg 700100001 owner, by start link, \d{4}-\d\d-\d\dT\S+\n$/);

    const revoked = await at.perch("people", "revoke", "tg", String(ADA.id));
    expect(revoked).toEqual({ code: 0, output: "tg 700100001 has no grant any more.\n" });
    ada.sendText("and now?");
    // What comes after it in the same poll's order is decided after it.
    expect((await at.perch("people")).output).toBe("Nothing was granted in chat.\n");
    expect((await at.perch("people", "revoke", "tg", String(ADA.id))).code).toBe(1);
    expect(await second.stop()).toBe(0);
    expect(at.telegram.pending()).toEqual([]);
    expect(at.telegram.sentTo(ada.chatId)).toHaveLength(3);
    expect((await at.perch("why")).output.split("\n")[0]).toMatch(/refused in tg chat \d+/);
  });

  it("prints the same link until it is used, and another one once it is owned no more", async () => {
    at = await world({});
    const first = await at.start();
    const [, code] = await first.said(LINK);
    await first.kill();
    const second = await at.start();
    const [, again = ""] = await second.said(LINK);
    expect(again).toBe(code);
    const ada = at.telegram.privateChat(ADA);
    ada.start(again);
    await at.telegram.untilSent(ada.chatId, 1);
    await second.stop();
    await at.perch("people", "revoke", "tg", String(ADA.id));
    const third = await at.start();
    const [, fresh] = await third.said(LINK);
    expect(fresh).not.toBe(code);
  });

  it("starts although its token is not accepted, says so, and prints the link once it is mended", async () => {
    at = await world({ files: { ".env": "TG=123456789:a-token-that-Telegram-does-not-know-00\n" } });
    await at.folder.write("config/perch.yaml", perchYaml(at.telegram).replace("${TOKEN}", "${TG}"));
    const perch = await at.start();
    await perch.said(/tg +off: Telegram does not accept the token/);
    await at.folder.write(".env", `TG=${at.telegram.token}\n`);
    await perch.said(LINK);
    expect(await perch.stop()).toBe(0);
  });

  it("prints the link when Telegram can be reached again", async () => {
    at = await world({});
    const unreachable = at.telegram.fault(
      { method: "getMe", times: 1_000 },
      { kind: "drop", when: "before" },
    );
    const perch = await at.start();
    expect(perch.output()).toMatch(/tg +on/);
    expect(perch.output()).not.toMatch(LINK);
    unreachable.remove();
    await perch.said(LINK);
    expect(await perch.stop()).toBe(0);
  });
});
