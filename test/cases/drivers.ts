import { expect } from "vitest";
import { pause } from "../../src/core/clock.ts";
import type { Case } from "./cases.ts";
import { anyOf, checkRun, turnOf, wordsOf } from "./expected.ts";
import { caseFile } from "./files.ts";
import { noticesIn } from "./notices.ts";
import type { Talk, World } from "./world.ts";

type Driver = (world: World, one: Case) => Promise<void>;

/** Cases that take more than sending files: what fails on the way, and messages that belong together. */
export const DRIVERS: Readonly<Record<string, Driver>> = {
  async "FIL-11"(world) {
    const texts = ["files/docs/notes.md", "files/docs/README"];
    const talks = await Promise.all(texts.map(() => world.talk({ platform: "telegram" })));
    for (const [at, talk] of talks.entries())
      talk.voice.sendDocument(await caseFile(texts[at] ?? ""), { fileName: "report.md" });
    await Promise.all(talks.map((talk) => talk.finish()));
    const [notes = "", readme = ""] = talks.map((talk) => wordsOf(turnOf({ talk })));
    expect([notes.includes("# Notes"), notes.includes("Read me first")]).toEqual([true, false]);
    expect([readme.includes("# Notes"), readme.includes("Read me first")]).toEqual([false, true]);
  },

  async "VOI-18"(world, one) {
    const talk = await world.talk({ platform: "telegram", hears: "never heard" });
    const bytes = await caseFile(one.input.file ?? "");
    const { voice } = talk.voice.sendVoice(bytes, { mimeType: "audio/ogg" });
    const failure = world.emulator.fault(
      { method: "getFile", times: 100, when: ({ parameters }) => parameters["file_id"] === voice?.file_id },
      { kind: "html", status: 504, when: "before" },
    );
    await talk.finish();
    await checkRun(one, { input: one.input, talk, filename: undefined, bytes });
    expect(talk.uploads).toEqual([]);
    expect(failure.hits()).toBeLessThanOrEqual(2);
  },

  async "VOI-23"(world, one) {
    const talk = await world.talk({ platform: "telegram" });
    inject(talk, world, {
      sticker: {
        file_id: "sticker",
        file_unique_id: "sticker",
        type: "regular",
        width: 512,
        height: 512,
        is_animated: true,
        is_video: false,
        emoji: "👍",
        set_name: "thumbs",
      },
    });
    await talk.finish();
    await checkRun(one, { input: one.input, talk, filename: undefined, bytes: Buffer.alloc(0) });
  },

  async "VOI-26"(world, one) {
    const talk = await world.talk({ platform: "telegram" });
    const { message } = one.input.update as { readonly message: object }; // as the case writes it
    inject(talk, world, message);
    await talk.finish();
    const { caption = "" } = message as { readonly caption?: string }; // of that message
    await checkRun(one, {
      input: { ...one.input, caption },
      talk,
      filename: "big.pdf",
      bytes: Buffer.alloc(0),
    });
    const [notice] = noticesIn(wordsOf(turnOf({ talk })));
    expect(notice?.sentence).toMatch(/\b2[01](\.\d)? MB/);
    const mine = world.emulator.pending().filter(({ message: each }) => String(each?.chat.id) === talk.chat);
    expect(mine.filter(({ message: each }) => each?.document)).toEqual([]);
  },

  async "INB-01"(world) {
    const talk = await world.talk({ platform: "telegram" });
    const files = await Promise.all(["photo.jpg", "red64.png", "static.webp"].map(caseFile));
    for (const [at, bytes] of files.entries()) {
      talk.voice.sendPhoto(bytes, {
        mediaGroupId: "trip",
        ...(at === 0 ? { caption: "three of them" } : {}),
      });
      await pause(world.clock, 40);
    }
    await talk.finish();
    const asked = turnOf({ talk });
    expect(asked.texts.filter((text) => text.includes("three of them"))).toHaveLength(1);
    expect(asked.images.map(({ bytes }) => bytes)).toEqual(files);
  },

  async "INB-02"(world) {
    const talk = await world.talk({ platform: "telegram" });
    const caption = "which one is blurry?";
    const photo = await caseFile("photo.jpg");
    for (let at = 0; at < 4; at += 1) {
      const more = at === 3 ? { caption } : {};
      talk.voice.sendPhoto(photo, { mediaGroupId: "blur", ...more });
    }
    await talk.finish();
    const asked = turnOf({ talk });
    expect(asked.texts.filter((text) => text.includes(caption))).toHaveLength(1);
    expect(asked.images).toHaveLength(4);
  },

  async "INB-03"(world) {
    const talk = await world.talk({ platform: "telegram" });
    const files = await Promise.all(["photo.jpg", "red64.png", "static.webp"].map(caseFile));
    const [first, second, third] = files as [Buffer, Buffer, Buffer]; // three names
    talk.voice.sendPhoto(first, { mediaGroupId: "split" });
    const { photo = [] } = talk.voice.sendPhoto(second, { mediaGroupId: "split" });
    const largest = photo.toSorted((one, other) => other.width - one.width)[0]?.file_id;
    const failure = world.emulator.fault(
      { method: "getFile", when: ({ parameters }) => parameters["file_id"] === largest },
      { kind: "html", status: 502, when: "before" },
    );
    await pause(world.clock, 300);
    talk.voice.sendPhoto(third, { mediaGroupId: "split" });
    await talk.finish();
    const asked = turnOf({ talk });
    expect(failure.hits()).toBe(1);
    expect(asked.images.length + noticesIn(wordsOf(asked)).length).toBe(3);
    const fetched = asked.images.map(({ bytes }) => bytes);
    await anyOf([() => expect(fetched).toEqual(files), () => expect(fetched).toEqual([first, third])]);
  },

  async "INB-04"(world) {
    const talks = await Promise.all([1, 2].map(() => world.talk({ platform: "telegram" })));
    const files = await Promise.all(["photo.jpg", "red64.png"].map(caseFile));
    for (let round = 0; round < 2; round += 1)
      for (const [at, talk] of talks.entries()) talk.voice.sendPhoto(files[at]!, { mediaGroupId: "same" }); // as many as talks
    await Promise.all(talks.map((talk) => talk.finish()));
    for (const [at, talk] of talks.entries())
      expect(turnOf({ talk }).images.map(({ bytes }) => bytes)).toEqual([files[at], files[at]]);
  },

  async "INB-05"(world) {
    const talk = await world.talk({ platform: "telegram" });
    talk.voice.sendPhoto(await caseFile("photo.jpg"), { mediaGroupId: "mixed" });
    talk.voice.sendDocument(await caseFile("two_pages.pdf"), {
      mediaGroupId: "mixed",
      fileName: "two_pages.pdf",
      mimeType: "application/pdf",
    });
    await talk.untilAsked(1);
    // Long after the album: its turn has begun.
    talk.voice.sendDocument(await caseFile("notes.md"), { fileName: "notes.md", mimeType: "text/markdown" });
    await talk.untilAsked(2);
    await talk.finish();
    const [album, notes] = talk.asked;
    expect(talk.asked).toHaveLength(2);
    expect(album?.images.length).toBeGreaterThanOrEqual(1);
    expect(wordsOf(album!)).toContain("two_pages.pdf"); // counted above
    expect(wordsOf(notes!)).toContain("4271"); // counted above
    expect(talk.shown().map(({ text }) => text)).toEqual(["Seen.", "Seen."]);
  },

  async "INB-10"(world, one) {
    const talk = await world.talk({ platform: "telegram" });
    const { message } = one.input.update as { readonly message: object }; // as the case writes it
    const asked = world.emulator.nextCall(
      ({ method, parameters }) =>
        method === "getFile" && ["s", "m", "x"].includes(String(parameters["file_id"])),
    );
    inject(talk, world, message);
    expect((await asked).parameters["file_id"]).toBe("x");
    await talk.finish();
  },
};

/** A message as Telegram would tell of it, with what a case says of it. */
function inject({ voice }: Talk, { emulator, clock }: World, message: object): void {
  const { chatId } = voice;
  emulator.inject({
    message: {
      ...message,
      message_id: 77,
      date: Math.floor(clock.now() / 1_000),
      chat: { id: chatId, type: "private", first_name: "Mira" },
      from: { id: chatId, is_bot: false, first_name: "Mira" },
    } as never, // a message of the case's own
  });
}
