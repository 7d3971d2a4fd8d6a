import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { proto } from "@whiskeysockets/baileys";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { AgentTurn } from "../../../src/core/agent.ts";
import type { BlobRef, MediaBlock } from "../../../src/core/blocks.ts";
import { pause } from "../../../src/core/clock.ts";
import { textOf } from "../../support/gateway.ts";
import { startTranscriber, type TranscriberServer } from "../../support/transcriber.ts";
import { album, edit, inAlbum } from "../../support/whatsapp/contents.ts";
import { LinkedGateway, type LinkedGatewayOptions } from "../../support/whatsapp/linked-gateway.ts";
import type { Person } from "../../support/whatsapp/person.ts";

// What people complain about, as it reaches an account over the library's own socket; the rest of it is in pairing, journal,
// guards and receive.

const FIXTURES = join(import.meta.dirname, "../../fixtures/media");
/** What belongs together has to come together, through the library, which takes the machine's time. */
const RATE = 1;
const TRANSCRIPT = "The blue kettle is on the third shelf.";

let transcriber: TranscriberServer;
let at: LinkedGateway;
let held: Promise<void> = Promise.resolve();
beforeAll(async () => {
  transcriber = await startTranscriber();
  transcriber.otherwise = TRANSCRIPT;
  at = await LinkedGateway.open({
    rate: RATE,
    agent: { transcriber: transcriber.transcriber },
    async answer(turn) {
      if (textOf(turn).includes("think")) await held;
      if (textOf(turn).includes("say nothing")) return "";
      return `heard: ${textOf(turn)}`;
    },
  });
}, 60_000);
afterAll(async () => {
  await at.close();
  await transcriber.close();
});

async function fixture(name: string): Promise<Buffer> {
  return await readFile(join(FIXTURES, name));
}

async function photo(name: string, caption?: string): Promise<proto.IMessage> {
  const file = await at.wa.media.put(await fixture(name), "image");
  return { imageMessage: { ...file, mimetype: "image/jpeg", ...(caption === undefined ? {} : { caption }) } };
}

async function bytesOf(blob: BlobRef): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of at.gateway.blobs.open(blob)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The pictures of a turn, as wide and high as they are read from the store. */
async function pictures(turn: AgentTurn): Promise<readonly string[]> {
  const images = turn.content.filter((block): block is MediaBlock => block.type === "image");
  return await Promise.all(
    images.map(async ({ blob }) => {
      const { width, height } = await sharp(await bytesOf(blob)).metadata();
      return `${width}×${height}`;
    }),
  );
}

const PHOTO = "640×480";
const RED = "64×64";

/** All that the agent was asked by a person, once what was said before this is answered. */
async function turnsOf(person: Person, on = at): Promise<readonly AgentTurn[]> {
  const words = `is that all, ${person.name}?`;
  await person.say(on.linked.device, words);
  const last = await on.asked(words);
  return on.turns.items.filter(({ thread }) => thread === last.thread).slice(0, -1);
}

/** A gateway of the test's own. */
async function alone(options: LinkedGatewayOptions = {}): Promise<LinkedGateway> {
  const opened = await LinkedGateway.open(options);
  onTestFinished(() => opened.close());
  return opened;
}

describe("what is sent", () => {
  it("complaint 1: a message that WhatsApp took, and whose answer broke off, is one to its reader", async () => {
    const mira = await at.person();
    const fault = { kind: "cut", when: "after" } as const;
    at.wa.faults.messages.add(fault, { when: ({ attrs }) => attrs["to"] === mira.lid });
    await mira.say(at.linked.device, "one");
    await at.shown(mira, "heard: one");
    await mira.say(at.linked.device, "two");
    await at.shown(mira, "heard: two");
    const written = at.wa.sends.filter(({ to }) => to === mira.lid);
    expect(at.textsOn(mira)).toEqual(["heard: one", "heard: two"]);
    expect(written.map(({ outcome }) => outcome)).toEqual(["lost", "accepted", "accepted"]);
    expect(new Set(written.map(({ id }) => id)).size).toBe(2);
  });

  it("complaint 19: an answer whose sending broke off is sent after a restart, once", async () => {
    const first = await LinkedGateway.open();
    const mira = await first.person();
    first.wa.faults.messages.add({ kind: "noAck", delivered: false });
    await mira.say(first.linked.device, "one");
    await first.wa.waitForSend(({ outcome }) => outcome === "lost");
    await first.stop();
    const second = await alone({ before: first });
    await second.shown(mira, "heard: one");
    await mira.say(second.linked.device, "two");
    await second.shown(mira, "heard: two");
    expect(second.textsOn(mira)).toEqual(["heard: one", "heard: two"]);
    expect(second.turns.items.map(textOf)).toEqual(["two"]);
  });

  it("complaint 49: an answer that says nothing is told as such", async () => {
    const mira = await at.person();
    await mira.say(at.linked.device, "say nothing");
    await at.shown(mira, "I have nothing to say to that.");
    expect(at.textsOn(mira)).toHaveLength(1);
  });
});

describe("what comes in", () => {
  it("complaint 9: a message that is handed over again is answered once, under either address", async () => {
    const mira = await at.person();
    const { device } = at.linked;
    await mira.say(device, "once", { id: "R1" });
    await at.asked("once");
    await device.whenTaken("R1");
    device.pushAgain("R1");
    await mira.say(device, "once", { id: "R1", addressing: "pn" });
    await device.whenDrained();
    expect((await turnsOf(mira)).map(textOf)).toEqual(["once"]);
  });

  it("complaint 11: what was missed while the connection was down is taken in, and counted", async () => {
    const mira = await at.person();
    const { device, stood } = at.linked;
    await mira.say(device, "before");
    await at.asked("before");
    const opened = stood.items.length;
    at.wa.cut();
    await stood.when((state) => state.is === "open" && stood.items.indexOf(state) >= opened);
    const seconds = Math.ceil(at.clock.now() / 1_000);
    const messages = ["missed a", "missed b", "missed c"].map((conversation, n) => ({
      message: {
        key: { remoteJid: mira.lid, fromMe: false, id: `H${n}` },
        messageTimestamp: seconds + n,
        message: { conversation },
      },
    }));
    await at.wa.tellHistory(device, "RECENT", [{ id: mira.lid, messages }]);
    const turn = await at.asked("missed c");
    expect(textOf(turn)).toMatch(/missed a[^]*missed b[^]*missed c/);
    expect(at.gateway.logged).toContainEqual(
      expect.objectContaining({ level: "warn", fields: expect.objectContaining({ missed: 3 }) }),
    );
  });

  it("complaint 17: a photo that waited for more to be said is there with its bytes", async () => {
    const mira = await at.person();
    await mira.say(at.linked.device, await photo("photo.jpg"));
    await mira.say(at.linked.device, "what is it?");
    const turn = await at.asked("what is it?");
    expect(await pictures(turn)).toEqual([PHOTO]);
  });

  it("complaint 23: an album is one turn in order, though a part of it comes late and is slow to fetch", async () => {
    const mira = await at.person();
    const { device } = at.linked;
    const id = await mira.say(device, album(3));
    const key = { remoteJid: at.owner.lid, fromMe: false, id };
    at.wa.faults.downloads.add({ kind: "cut" });
    const parts = [await photo("photo.jpg"), await photo("red64.png", "our trip"), await photo("photo.jpg")];
    for (const part of parts) {
      await mira.say(device, inAlbum(key, part));
      await pause(at.clock, 700);
    }
    const turn = await at.asked("our trip");
    expect(await pictures(turn)).toEqual([PHOTO, RED, PHOTO]);
    expect(textOf(turn).match(/our trip/g)).toHaveLength(1);
    expect(await turnsOf(mira)).toEqual([turn]);
  });

  it("complaint 25: each picture of an album can be seen, not only the one with the caption", async () => {
    const mira = await at.person();
    const id = await mira.say(at.linked.device, album(2));
    const key = { remoteJid: at.owner.lid, fromMe: false, id };
    await mira.say(at.linked.device, inAlbum(key, await photo("photo.jpg", "both of us")));
    await mira.say(at.linked.device, inAlbum(key, await photo("red64.png")));
    expect(await pictures(await at.asked("both of us"))).toEqual([PHOTO, RED]);
  });

  it("complaint 27: a sticker that moves is never an empty turn", async () => {
    const mira = await at.person();
    const moving = sharp(await fixture("animated.gif"), { animated: true });
    const file = await at.wa.media.put(await moving.webp().toBuffer(), "image");
    const sticker = { ...file, mimetype: "image/webp", isAnimated: true, accessibilityLabel: "🎉" };
    await mira.say(at.linked.device, { stickerMessage: sticker });
    const turn = await at.asked("[sticker animated 🎉]");
    expect(await pictures(turn)).toHaveLength(1);
    await mira.say(at.linked.device, {
      lottieStickerMessage: { message: { stickerMessage: { ...sticker, isLottie: true } } },
    });
    await at.turns.whenCount(2, ({ thread, content }) => thread === turn.thread && content.length > 0);
  });

  it("complaint 29: a voice note is its transcript, and none of its bytes", async () => {
    const mira = await at.person();
    const file = await at.wa.media.put(await fixture("voice_known.ogg"), "audio");
    const audioMessage = { ...file, mimetype: "audio/ogg; codecs=opus", ptt: true, seconds: 40 };
    await mira.say(at.linked.device, { audioMessage });
    const turn = await at.turns.when(({ content }) => content.some(({ type }) => type === "audio"));
    const [note, ...more] = turn.content;
    if (note?.type !== "audio" || !note.extract) throw new Error("there is no transcript");
    expect(more).toEqual([]);
    expect(note.extract.as).toBe("transcript");
    expect((await bytesOf(note.extract.blob)).toString()).toBe(TRANSCRIPT);
  });

  it("complaint 31: a photo and the question behind it are one turn", async () => {
    const mira = await at.person();
    await mira.say(at.linked.device, await photo("photo.jpg"));
    await pause(at.clock, 1_000);
    await mira.say(at.linked.device, "which animal is this?");
    const turn = await at.asked("which animal is this?");
    expect(await pictures(turn)).toEqual([PHOTO]);
    expect(await turnsOf(mira)).toEqual([turn]);
  });

  it("complaint 33: what is forwarded with a comment is one turn with it", async () => {
    const mira = await at.person();
    const { device } = at.linked;
    const file = await at.wa.media.put(Buffer.from("Chairs: 4271\n"), "document");
    const comment = await mira.compose(device, "sum this up");
    const forwarded = await mira.compose(device, {
      documentMessage: {
        ...file,
        fileName: "chairs.txt",
        mimetype: "text/plain",
        contextInfo: { isForwarded: true, forwardingScore: 1 },
      },
    });
    device.push(comment);
    device.push(forwarded);
    const turn = await at.asked("sum this up");
    expect(textOf(turn)).toMatch(/sum this up[^]*forwarded[^]*<file>/);
    expect(await turnsOf(mira)).toEqual([turn]);
  });

  it("complaint 35: a reply to an old photo brings the photo along, marked as quoted", async () => {
    const mira = await at.person();
    const old = await photo("photo.jpg", "our cat");
    const contextInfo = { stanzaId: "OLD", participant: mira.lid, quotedMessage: old };
    await mira.say(at.linked.device, { extendedTextMessage: { text: "what breed?", contextInfo } });
    const turn = await at.asked("what breed?");
    expect(await pictures(turn)).toEqual([PHOTO]);
    expect(textOf(turn)).toMatch(/our cat/);
  });

  it("complaint 37: an edit takes the text's place, and is told where that is answered already", async () => {
    const mira = await at.person();
    const { device } = at.linked;
    await mira.say(device, "book 2 seats", { id: "E1" });
    await mira.say(device, edit({ id: "E1", fromMe: true }, "book 3 seats"));
    const first = await at.asked("seats");
    expect(textOf(first)).toBe("book 3 seats");
    await at.shown(mira, "heard: book 3 seats");
    await mira.say(device, edit({ id: "E1", fromMe: true }, "book 4 seats"));
    await mira.say(device, "thanks");
    expect(textOf(await at.asked("thanks"))).toMatch(/edited[^]*book 4 seats[^]*thanks/);

    let go = (): void => {};
    held = new Promise((resolve) => (go = resolve));
    await mira.say(device, "think of 5", { id: "E2" });
    await at.asked("think of 5");
    await mira.say(device, edit({ id: "E2", fromMe: true }, "think of 6"));
    await device.whenDrained();
    go();
    await mira.say(device, "and now?");
    expect(textOf(await at.asked("and now?"))).toMatch(/edited[^]*think of 6[^]*and now\?/);
  });
});

describe("complaint 61: the account itself", () => {
  it("answers notes to oneself once, not its own answers, and nothing that is asked of Meta's assistant", async () => {
    const self = await alone({ selfChat: true });
    const { device } = self.linked;
    const { owner } = self;
    await owner.say(device, "imagine a cat", { to: owner, attrs: { recipient: "867051314767696@bot" } });
    await owner.say(device, "note", { to: owner });
    await self.shown(owner, "heard: note");
    const answer = self.wa.outbound.find(({ fromMe }) => fromMe);
    // The phone hands the answer back to its devices as a message of the account's own.
    await owner.say(device, "heard: note", { to: owner, ...(answer ? { id: answer.id } : {}) });
    await device.whenDrained();
    await owner.say(device, "and now?", { to: owner });
    await self.shown(owner, "heard: and now?");
    expect(self.turns.items.map(textOf)).toEqual(["note", "and now?"]);
  });
});
