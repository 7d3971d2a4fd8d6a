import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Voice } from "../support/telegram/people.ts";
import { gate, lastAsked, type World, world } from "../support/telegram-perch.ts";

const MEDIA = join(import.meta.dirname, "../fixtures/media");
const GROUP = -1_001_700_000_001;
const FORUM = -1_001_700_000_002;

let at: World;
let people = 700_100_000;
/** Whose turns wait, by a word of theirs. */
const held = new Map<string, Promise<void>>();
const answers = new Map<string, string>();

beforeEach(() => {
  seen = at.model.requests.length;
});
beforeAll(async () => {
  const allowed = Array.from({ length: 40 }, (_, n) => String(700_100_001 + n));
  at = await world({
    channel: `allow: ${JSON.stringify(allowed)}`,
    says: (request) => {
      const { text } = lastAsked(request);
      return [...answers].find(([word]) => text.includes(word))?.[1] ?? `heard: ${text.slice(0, 60)}`;
    },
  });
  at.model.on("request", async (request) => {
    const { text } = lastAsked(request);
    await [...held].find(([word]) => text.includes(word))?.[1];
  });
  await at.start();
});
afterAll(() => at.close());

/** Somebody new whom Perch listens to, in private. */
function someone(): Voice & { readonly id: number } {
  people += 1;
  return Object.assign(at.telegram.privateChat({ id: people, firstName: `P${people}` }), { id: people });
}

function photo(name: string): Promise<Buffer> {
  return readFile(join(MEDIA, name));
}

/** What the model was asked, all of it: a turn too many is seen. */
let seen = 0;
function asked(): readonly ReturnType<typeof lastAsked>[] {
  const fresh = at.model.requests.slice(seen).map(lastAsked);
  seen += fresh.length;
  return fresh;
}

async function answerTo(voice: Voice, count = 1): Promise<string> {
  const sent = await at.telegram.untilSent(voice.chatId, count);
  return sent.at(-1)?.text ?? "";
}

describe("what a person sends to the bot reaches the model in one turn", () => {
  it("a text", async () => {
    const ada = someone();
    ada.sendText("plain-kettle");
    expect(await answerTo(ada)).toBe("heard: plain-kettle");
    expect(asked()).toEqual([{ text: "plain-kettle", images: [], files: [] }]);
  });

  it("a photo with its caption, byte for byte", async () => {
    const ada = someone();
    const bytes = await photo("photo.jpg");
    ada.sendPhoto(bytes, { caption: "what-is-this-photo" });
    await answerTo(ada);
    const [turn, ...more] = asked();
    expect(more).toEqual([]);
    expect(turn?.images).toEqual([bytes]);
    expect(turn?.text).toContain("image/jpeg, 640 × 480 px, 13 KB");
  });

  it("an album of three whose second download takes 5 s, while others are answered meanwhile", async () => {
    const ada = someone();
    const ben = someone();
    const base = await photo("photo.jpg");
    const album = await Promise.all(
      [200, 300, 400].map((width) => sharp(base).resize(width).jpeg().toBuffer()),
    );
    at.telegram.fault({ method: "file", nth: 2 }, { kind: "delay", ms: 5_000 });
    const sentAt = at.clock.now();
    for (const [index, bytes] of album.entries())
      ada.sendPhoto(bytes, {
        mediaGroupId: "album-7",
        ...(index === 1 ? { caption: "which-of-these" } : {}),
      });
    ben.sendText("not-held-up");
    await answerTo(ben);
    await answerTo(ada);
    const [toBen] = at.telegram.sentTo(ben.chatId);
    const [toAda] = at.telegram.sentTo(ada.chatId);
    // One download at a time of another chat: the window of a text and a model that answers at once.
    expect((toBen?.at ?? 0) - sentAt).toBeLessThan(4_000);
    expect((toAda?.at ?? 0) - sentAt).toBeGreaterThanOrEqual(5_000);
    const [bens, turn, ...more] = asked();
    expect(more).toEqual([]);
    expect(bens?.text).toBe("not-held-up");
    expect(turn?.images).toEqual(album);
    expect(turn?.text.match(/which-of-these/g)).toHaveLength(1);
    expect(at.telegram.sentTo(ada.chatId)).toHaveLength(1);
  });

  it("a text file, framed as a document", async () => {
    const ada = someone();
    ada.sendDocument(Buffer.from("owls-hunt-at-night\nThe end.\n"), {
      fileName: "owls.txt",
      mimeType: "text/plain",
      caption: "sum-it-up",
    });
    await answerTo(ada);
    const [turn, ...more] = asked();
    expect(more).toEqual([]);
    expect(turn?.text).toMatch(
      /Text of the document "owls\.txt".*<document-([0-9a-f]{32})>\nowls-hunt-at-night\nThe end\.\n?\n<\/document-\1>/s,
    );
  });

  it("a PDF, byte for byte", async () => {
    const ada = someone();
    const bytes = await photo("two_pages.pdf");
    ada.sendDocument(bytes, {
      fileName: "two_pages.pdf",
      mimeType: "application/pdf",
      caption: "read-this-pdf",
    });
    await answerTo(ada);
    const [turn, ...more] = asked();
    expect(more).toEqual([]);
    expect(turn?.files).toEqual([bytes]);
  });

  it("a voice note, as words where the model hears no such audio", async () => {
    const ada = someone();
    ada.sendVoice(await photo("voice_known.ogg"), { duration: 77, mimeType: "audio/ogg" });
    await answerTo(ada);
    expect(asked().map(({ text }) => text)).toEqual([
      expect.stringMatching(
        /^\[I could not use the voice note: listening is not set up here\. .*\]\n\[audio, audio\/ogg, 1 min 17 s, 17 KB, at \/uploads\/audio-\d+\.ogg: you are not shown its contents\]$/,
      ),
    ]);
  });
});

describe("what the agent says reaches the person", () => {
  it("as text with its marks", async () => {
    answers.set(
      "please-format",
      "A **bold** word, a [link](https://example.org/a).\n\n- one\n- two\n\n```js\nlet x = 1;\n```",
    );
    const ada = someone();
    ada.sendText("please-format");
    await answerTo(ada);
    const [sent] = at.telegram.sentTo(ada.chatId);
    expect(sent?.text).toBe("A bold word, a link.\n\n• one\n• two\n\nlet x = 1;");
    expect(sent?.entities).toEqual([
      { type: "bold", offset: 2, length: 4 },
      { type: "text_link", offset: 15, length: 4, url: "https://example.org/a" },
      { type: "pre", offset: 35, length: 10, language: "js" },
    ]);
  });

  it("with a file of the chat's outputs as a photo, byte for byte", async () => {
    const ada = someone();
    ada.sendText("who-am-i");
    await answerTo(ada);
    const chat = /chat (\d+)/.exec((await at.perch("why")).output)?.[1] ?? "";
    const outputs = join(at.folder.path, "data/chats", chat, "outputs");
    const bytes = await photo("red64.png");
    await mkdir(outputs, { recursive: true });
    await writeFile(join(outputs, "red.png"), bytes);
    answers.set("show-me-red", "Here:\n\n![a red square](red.png)");
    ada.sendText("show-me-red");
    await at.telegram.untilSent(ada.chatId, 3);
    const [, words, picture] = at.telegram.sentTo(ada.chatId);
    expect(words?.text).toBe("Here:");
    expect(picture).toMatchObject({ method: "sendPhoto", caption: "a red square" });
    expect(picture?.media?.bytes).toEqual(bytes);
  });

  it("with signs of typing while the turn runs, and none after it", async () => {
    const [ada, ben] = [someone(), someone()];
    const typing = (voice: Voice): number =>
      at.telegram.chatActions.filter(({ chatId, action }) => chatId === voice.chatId && action === "typing")
        .length;
    const untilTyping = async (voice: Voice, count: number): Promise<void> => {
      while (typing(voice) < count) await at.telegram.nextProgress();
    };
    const [first, second] = [gate(), gate()];
    held.set("think-hard", first.opened);
    held.set("think-too", second.opened);
    ada.sendText("think-hard");
    await untilTyping(ada, 2);
    expect(at.telegram.sentTo(ada.chatId)).toEqual([]);
    first.open();
    await answerTo(ada);
    const shown = typing(ada);
    // Two signs to somebody else lie further apart than two to the same person.
    ben.sendText("think-too");
    await untilTyping(ben, 3);
    second.open();
    await answerTo(ben);
    expect(typing(ada)).toBe(shown);
  });
});

describe("in a group", () => {
  it("is silent unless it is addressed, and answers in reply", async () => {
    const group = at.telegram.supergroup({ id: GROUP, title: "Birds" });
    const ada = group.as({ id: someone().id, firstName: "Ada" });
    const ben = group.as({ id: someone().id, firstName: "Ben" });
    ben.sendText("among-ourselves");
    const question = ada.sendText("@fern_demo_bot group-question");
    await at.telegram.untilSent(GROUP, 1);
    const [answer] = at.telegram.sentTo(GROUP);
    expect(answer?.replyTo).toBe(question.message_id);
    const further = ben.sendText("and-further", { replyTo: answer?.messageId ?? 0 });
    await at.telegram.untilSent(GROUP, 2);
    expect(at.telegram.sentTo(GROUP).at(1)?.replyTo).toBe(further.message_id);
    expect(at.telegram.sentTo(GROUP)).toHaveLength(2);
    const turns = asked().map(({ text }) => text);
    expect(turns).toEqual([
      "[from Ada (1)]\n@fern_demo_bot group-question",
      expect.stringMatching(/^\[from Ben \(2\)\]\n.*\nand-further$/s),
    ]);
  });

  it("complaint 35: shows the model the photo that somebody sent before, when it is asked about", async () => {
    const group = at.telegram.supergroup({ id: GROUP - 5, title: "Pictures" });
    const ada = group.as({ id: someone().id, firstName: "Ada" });
    const ben = group.as({ id: someone().id, firstName: "Ben" });
    const bytes = await photo("photo.jpg");
    const { message_id: replyTo } = ben.sendPhoto(bytes, { caption: "look at that" });
    ada.sendText("@fern_demo_bot quoted-photo", { replyTo });
    await at.telegram.untilSent(GROUP - 5, 1);
    const [turn, ...more] = asked();
    expect(more).toEqual([]);
    expect(turn?.images).toEqual([bytes]);
    expect(turn?.text).toMatch(
      /^\[from Ada \(1\)\]\n\[in reply to a message from Ben:\]\n> look at that\n> \[photo\]\n\[quoted image,.*\]\n@fern_demo_bot quoted-photo$/s,
    );
  });

  it("answers in the topic that it was asked in", async () => {
    const ada = { id: someone().id, firstName: "Ada" };
    const forum = at.telegram.supergroup({ id: FORUM, title: "Birds by kind", forum: true });
    const owls = forum.topic("Owls", ada);
    const herons = forum.topic("Herons", ada);
    forum.as(ada).in(owls).sendText("@fern_demo_bot topic-owls");
    forum.as(ada).in(herons).sendText("@fern_demo_bot topic-herons");
    await at.telegram.untilSent(FORUM, 2);
    const places = at.telegram.calls
      .filter(({ method, parameters }) => method === "sendMessage" && Number(parameters["chat_id"]) === FORUM)
      .map(({ parameters }) => [
        /topic-\w+/.exec(String(parameters["text"]))?.[0],
        Number(parameters["message_thread_id"]),
      ]);
    expect(Object.fromEntries(places)).toEqual({ "topic-owls": owls, "topic-herons": herons });
  });
});

it("a stranger gets nothing, and no model is asked", async () => {
  const stranger = at.telegram.privateChat({ id: 700_999_999, firstName: "Mallory" });
  stranger.sendText("let-me-in");
  stranger.start("guessed-a-code-1");
  const ada = someone();
  ada.sendText("after-the-stranger");
  await answerTo(ada);
  expect(at.telegram.sentTo(stranger.chatId)).toEqual([]);
  expect(asked().map(({ text }) => text)).toEqual(["after-the-stranger"]);
  expect(at.telegram.chatActions.filter(({ chatId }) => chatId === stranger.chatId)).toEqual([]);
});
