import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../src/core/errors.ts";
import type { Place } from "../../src/core/events.ts";
import { facts, type Remembering, setUp } from "./remembering.ts";

const SECRET = "the-word-4711";

/** The files that hold it, all of the data folder. */
async function filesWith(folder: string, words: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries)
    if (entry.isFile() && (await readFile(join(entry.parentPath, entry.name))).includes(words))
      found.push(entry.name);
  return found;
}

async function forgotten(perch: Remembering): Promise<void> {
  await perch.until(async () => {
    await perch.clock.advance(1_000);
    return (await perch.database.db.selectFrom("forgotten").selectAll().execute()).length === 0;
  });
}

describe("while an answer is being sent, /forget all", () => {
  it.each([
    ["send.not_written", { retryAfterMs: 5_000 }],
    ["send.rate_limited", { retryAfterMs: 5_000 }],
    ["send.chat_closed", {}],
    ["send.unanswered", {}],
    ["send.refused", { stepDown: "plain" }],
    ["send.refused", {}],
  ] as const)("leaves nothing of it to be sent, and the chat goes on (%s %j)", async (code, extra) => {
    const perch = await setUp({ answered: () => SECRET });
    const { platform, database } = perch;
    let forget: Promise<unknown> | undefined;
    platform.outcome = (_piece, _attempt, send) =>
      send === 1 ? new GatewayError(code, "it did not work", extra) : "shown";
    // What was wished for while the platform is asked is committed before its answer is.
    const send = platform.send.bind(platform);
    platform.send = (piece, attempt) => {
      forget ??= platform.say("ada", "/forget all", { whole: true });
      return send(piece, attempt);
    };
    await platform.say("ada", `remember ${SECRET}`, { whole: true });
    await perch.until(() => forget !== undefined);
    await forget;
    await forgotten(perch);
    await perch.clock.advance(60_000);
    platform.send = send;
    await perch.say("ada", "hello?");
    const texts = platform.textsIn("ada");
    expect(texts.filter((text) => text.startsWith("Everything"))).toHaveLength(1);
    expect(texts.filter((text) => text === SECRET)).toHaveLength(1);
    expect(texts.at(-1)).toBe(SECRET);
    const rows = await database.db.selectFrom("piece").select(["state", "body"]).execute();
    expect(rows.filter(({ state, body }) => body === "" && state === "planned")).toEqual([]);
  });
});

it("is in no file any more, also not in the database's own", async () => {
  const perch = await setUp({
    answered: ({ body }) => (JSON.stringify(body).includes(SECRET) ? `I note ${SECRET}` : "ok"),
  });
  perch.note(facts(`knows ${SECRET}`));
  for (let n = 0; n < 5; n += 1) await perch.say("ada", `remember ${SECRET} ${"and more ".repeat(n * 700)}`);
  await perch.say("bob", "I am another chat");
  await perch.wait(30_000, 1);
  await perch.say("ada", "/memory");
  await perch.platform.sendFile("ada", Buffer.from(`a file with ${SECRET}`), "notes.txt");
  await perch.clock.advance(10_000);
  await perch.until(() => perch.platform.textsIn("ada").length === 7);
  expect(await filesWith(perch.folder, SECRET)).not.toEqual([]);
  await perch.say("ada", "/forget all");
  await forgotten(perch);
  expect(await filesWith(perch.folder, SECRET)).toEqual([]);
  expect(await filesWith(perch.folder, "I am another chat")).not.toEqual([]);
});

it("takes the folder of a chat along that was taken over", async () => {
  const perch = await setUp({ rules: { owner: "ada" }, answered: () => "ok" });
  const old: Place = { chat: "-5", kind: "group" };
  const now: Place = { chat: "-1005", kind: "group" };
  await perch.say("ada", "hello in the new one", { place: now });
  await perch.say("ada", `in the old one ${SECRET}`, { place: old });
  for (const chat of ["1", "2"]) {
    await mkdir(join(perch.folder, "chats", chat, "history"), { recursive: true });
    await writeFile(join(perch.folder, "chats", chat, "history", "a.md"), SECRET);
  }
  await perch.platform.deliver([{ type: "chatMoved", id: "moved/1", from: "-5", to: "-1005" }]);
  await perch.say("ada", "/forget all", { place: now });
  await forgotten(perch);
  expect(await filesWith(perch.folder, SECRET)).toEqual([]);
});
