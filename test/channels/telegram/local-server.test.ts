import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegram } from "../../support/telegram/emulator.ts";
import { relay } from "./edges.ts";
import { type Bot, openBot } from "./set-up.ts";

let folder: string;
const cleanups: (() => Promise<void>)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bot-api-"));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  await rm(folder, { recursive: true });
});

type Settings = { readonly serverFolder?: string; readonly apiRoot?: string };

/** A bot on a Bot API server of its own, which keeps its files in `folder`. */
async function setUp(own: Settings = { serverFolder: folder }): Promise<Bot> {
  const emulator = await startTelegram({ local: { folder } });
  const { apiRoot = emulator.apiRoot, ...settings } = own;
  const bot = await openBot({ emulator, apiRoot, settings });
  cleanups.push(() => bot.close());
  return bot;
}

/** A server that names `path`, whatever is asked for. */
async function naming(path: string): Promise<Bot> {
  const bot = await setUp();
  await bot.channel.close();
  const edge = await relay(bot.emulator.apiRoot, ({ url = "" }, response) => {
    if (!url.endsWith("/getFile")) return false;
    response.end(
      JSON.stringify({ ok: true, result: { file_id: "F", file_unique_id: "U", file_path: path } }),
    );
    return true;
  });
  cleanups.push(() => edge.close());
  const other = await openBot({
    emulator: bot.emulator,
    apiRoot: edge.url,
    settings: { serverFolder: folder },
  });
  cleanups.push(() => other.channel.close());
  return other;
}

async function fetched(bot: Bot, ref: string, signal = new AbortController().signal): Promise<number> {
  let bytes = 0;
  for await (const chunk of await bot.channel.fetch(ref, signal)) bytes += chunk.length;
  return bytes;
}

/** What a fetch that must fail ends with; no word of it names the token, which is a folder's name. */
async function failure(bot: Bot, ref = "F"): Promise<unknown> {
  const error = await fetched(bot, ref).catch((thrown: unknown) => thrown);
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(bot.emulator.token.slice(-20));
  return error;
}

async function refOf(bot: Bot, declaredBytes?: number): Promise<string> {
  const more = declaredBytes === undefined ? {} : { declaredBytes };
  bot.mira.sendDocument(Buffer.from("the bytes"), { fileName: "a.bin", ...more });
  const [event] = await bot.host.whenAccepted(1);
  const part = event?.type === "message" ? event.content[0] : undefined;
  if (part?.type !== "unfetched") throw new Error("no file was announced");
  return part.ref;
}

describe("files of a Bot API server on this machine", () => {
  it("are read from its folder, also those that Telegram's own server would not hand out", async () => {
    const bot = await setUp();
    expect(bot.channel.fetchBytes).toBeUndefined();
    const ref = await refOf(bot, 47_000_000);
    expect(ref).toContain("#47000000");
    expect(await fetched(bot, ref)).toBe(47_000_000);
    expect(bot.emulator.calls.map(({ method }) => method)).not.toContain("file");
  });

  it("are asked for each time: the server may have cleaned up and fetched them anew", async () => {
    const bot = await setUp();
    const ref = await refOf(bot);
    await fetched(bot, ref);
    await rm(join(folder, bot.emulator.token), { recursive: true });
    expect(await fetched(bot, ref)).toBe(9);
  });

  it("are refused with what to do where no folder is set", async () => {
    const bot = await setUp({});
    expect(await failure(bot, await refOf(bot))).toMatchObject({
      code: "media.unavailable",
      message:
        "the file could not be fetched from Telegram: the Bot API server runs with --local; set serverFolder to the folder of its files; send it again",
    });
  });

  it("end with the reason of the signal, in the middle too", async () => {
    const bot = await setUp();
    const ref = await refOf(bot, 47_000_000);
    const stop = new AbortController();
    const reason = new Error("enough");
    const reading = async (): Promise<void> => {
      for await (const chunk of await bot.channel.fetch(ref, stop.signal))
        if (chunk.length > 0) stop.abort(reason);
    };
    expect(await reading().catch((thrown: unknown) => thrown)).toBe(reason);
  });
});

describe("a path that a Bot API server names", () => {
  const OUTSIDE = /the Bot API server has put it outside of serverFolder; set serverFolder to what/;

  it("is not followed out of its folder, by dots, by its beginning, or by links", async () => {
    const secret = await mkdtemp(join(tmpdir(), "private-"));
    cleanups.push(() => rm(secret, { recursive: true }));
    await writeFile(join(secret, "key"), "secret");
    await mkdir(`${folder}-beside`);
    cleanups.push(() => rm(`${folder}-beside`, { recursive: true }));
    await writeFile(join(`${folder}-beside`, "key"), "secret");
    await symlink(join(secret, "key"), join(folder, "link"));
    await symlink(secret, join(folder, "folder"));
    const paths = [
      join(secret, "key"),
      `${folder}/../${secret.split("/").at(-1)}/key`,
      `${folder}-beside/key`,
      join(folder, "link"),
      join(folder, "folder/key"),
    ];
    for (const path of paths) {
      const error = await failure(await naming(path));
      expect(error).toMatchObject({ code: "media.unavailable", message: expect.stringMatching(OUTSIDE) });
    }
  });

  it("may lead through a link that stays inside", async () => {
    await writeFile(join(folder, "file"), "nine byte");
    await symlink(join(folder, "file"), join(folder, "link"));
    expect(await fetched(await naming(join(folder, "link")), "F")).toBe(9);
  });

  it("is refused where it is no regular file, or none at all", async () => {
    await mkdir(join(folder, "sub"));
    expect(await failure(await naming(join(folder, "sub")))).toMatchObject({
      code: "media.unavailable",
      message: expect.stringContaining("names is no file"),
    });
    expect(await failure(await naming(join(folder, "gone")))).toMatchObject({
      code: "media.unavailable",
      message: expect.stringContaining("(ENOENT)"),
    });
  });

  it("is a link to download where it is relative: the server runs without --local", async () => {
    const emulator = await startTelegram();
    const bot = await openBot({ emulator, settings: { serverFolder: folder } });
    cleanups.push(() => bot.close());
    expect(await fetched(bot, await refOf(bot))).toBe(9);
  });
});
