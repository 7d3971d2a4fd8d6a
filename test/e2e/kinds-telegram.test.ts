import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NO_FFMPEG } from "../support/ffmpeg.ts";
import { FILES, fixture, framed, type ShownTurn, transcript, turnIn } from "../support/kinds.ts";
import { type KindsWorld, kindsWorld } from "../support/kinds-perch.ts";
import type { Voice } from "../support/telegram/people.ts";

const ANSWER = "I have it.";

let at: KindsWorld;
let people = 700_300_000;

beforeAll(async () => {
  at = await kindsWorld({ says: ANSWER });
}, 60_000);
afterAll(() => at.close());

/** Somebody new, in private: a conversation of its own. */
function someone(): Voice {
  people += 1;
  return at.telegram.privateChat({ id: people, firstName: "Ada" });
}

type Outcome = ShownTurn & { readonly told: readonly (string | undefined)[] };

/** What becomes of what a person sends: the one turn that the model gets, and all that the person is told. */
async function outcomeOf(
  send: (person: Voice) => void,
  sent: readonly Buffer[] = [],
  person = someone(),
): Promise<Outcome> {
  const [asked, told] = [at.model.requests.length, at.telegram.sentTo(person.chatId).length];
  send(person);
  await at.telegram.sentMatching(
    (message) => message.text === ANSWER && at.telegram.sentTo(person.chatId).indexOf(message) >= told,
  );
  const [request, ...more] = at.model.requests.slice(asked);
  if (!request || more.length > 0) throw new Error(`${more.length + 1} requests for what should be one turn`);
  const said = at.telegram.sentTo(person.chatId).slice(told);
  return { ...(await turnIn(request, ...sent)), told: said.map(({ text }) => text) };
}

/** As `outcomeOf` should give it where nothing but the answer is said. */
function turn(words: ShownTurn["words"], media: ShownTurn["media"] = []): unknown {
  return { words: words.map(alike), media, told: [ANSWER] };
}

function alike(words: string | RegExp): unknown {
  return typeof words === "string" ? words : expect.stringMatching(words);
}

describe("a file that is sent as a document", () => {
  it.each(FILES.map((file) => [file.what, file] as const))("%s", async (_what, file) => {
    const bytes = await file.bytes();
    const { name: fileName, mimeType } = file;
    const outcome = await outcomeOf((ada) => ada.sendDocument(bytes, { fileName, mimeType }), [bytes]);
    expect(outcome).toEqual({
      words: file.turn.words.map(alike),
      media: file.turn.media,
      told: [...(file.told === undefined ? [] : [file.told]), ANSWER],
    });
  });
});

describe("what Telegram has a form of its own for", () => {
  it("a text with its marks", async () => {
    expect(await outcomeOf((ada) => ada.sendText("How do **owls** hunt?"))).toEqual(
      turn(["How do **owls** hunt?"]),
    );
  });

  it("a photo", async () => {
    const bytes = await fixture("photo.jpg");
    expect(await outcomeOf((ada) => ada.sendPhoto(bytes, { caption: "Which bird?" }), [bytes])).toEqual(
      turn(
        ["Which bird?", "[image, image/jpeg, 640 × 480 px, 13 KB, at /uploads/image-N.jpg]"],
        ["image/jpeg 640 × 480, as it was sent"],
      ),
    );
  });

  it("an album of photos as one turn", async () => {
    const album = await Promise.all(["photo.jpg", "images/static.webp", "red64.png"].map(fixture));
    const outcome = await outcomeOf((ada) => {
      for (const [n, bytes] of album.entries())
        ada.sendPhoto(bytes, { mediaGroupId: "album-1", ...(n === 0 ? { caption: "My garden" } : {}) });
    }, album);
    expect(outcome).toEqual(
      turn(
        [
          "My garden",
          "[image, image/jpeg, 640 × 480 px, 13 KB, at /uploads/image-N.jpg]",
          "[image, image/webp, 640 × 480 px, 4 KB, at /uploads/image-N.webp]",
          "[image, image/png, 64 × 64 px, 155 bytes, at /uploads/image-N.png]",
        ],
        [
          "image/jpeg 640 × 480, as it was sent",
          "image/webp 640 × 480, as it was sent",
          "image/png 64 × 64, as it was sent",
        ],
      ),
    );
  });

  it("a sticker, its picture and what it is", async () => {
    const bytes = await fixture("images/static.webp");
    const owl = { emoji: "🦉", set: "Owls" };
    expect(await outcomeOf((ada) => ada.sendSticker(bytes, owl), [bytes])).toEqual(
      turn(
        [
          "[sticker 🦉, from the set “Owls”]",
          "[image, image/webp, 640 × 480 px, 4 KB, at /uploads/image-N.webp]",
        ],
        ["image/webp 640 × 480, as it was sent"],
      ),
    );
  });

  it.each([
    ["drawn", "video/sticker.tgs", "[sticker 🦉 animated, from the set “Owls”]"],
    ["filmed", "voice_known.webm", "[sticker 🦉 video, from the set “Owls”]"],
  ] as const)("a sticker that is %s and moves, as what it says", async (moves, file, words) => {
    const bytes = await fixture(file);
    expect(await outcomeOf((ada) => ada.sendSticker(bytes, { emoji: "🦉", set: "Owls", moves }))).toEqual(
      turn([words]),
    );
  });

  it("a voice note, as what was said", async () => {
    const bytes = await fixture("voice_known.ogg");
    const heard = at.transcriber.uploads.length;
    expect(await outcomeOf((ada) => ada.sendVoice(bytes, { duration: 6 }))).toEqual(
      turn(["[audio, audio/ogg, 6 s, 17 KB, at /uploads/audio-N.ogg]", transcript("a voice note, 6 s")]),
    );
    expect(at.transcriber.uploads.slice(heard).map(({ fields }) => fields)).toEqual([
      { model: "whisper-1", response_format: "json" },
    ]);
  });

  it("a piece of music, under its name", async () => {
    const bytes = await fixture("audio/voice_known.m4a");
    expect(
      await outcomeOf((ada) =>
        ada.sendAudio(bytes, { duration: 6, fileName: "kettle.m4a", mimeType: "audio/mp4" }),
      ),
    ).toEqual(
      turn([
        '[audio "kettle.m4a", audio/mp4, 6 s, 40 KB, at /uploads/kettle.m4a]',
        transcript('a recording "kettle.m4a", 6 s'),
      ]),
    );
  });

  it.skipIf(NO_FFMPEG).each([
    ["a video", "sendVideo"],
    ["a round video", "sendVideoNote"],
    ["an animation", "sendAnimation"],
  ] as const)("%s, as pictures out of it and what was said", async (_what, method) => {
    const bytes = await fixture("video/clip_with_audio.mp4");
    expect(await outcomeOf((ada) => ada[method](bytes, { duration: 2 }))).toEqual(
      turn(
        [
          "[video, video/mp4, 160 × 120 px, 2 s, 32 KB, at /uploads/video-N.mp4; 2 pictures of it follow]",
          "[0:00]",
          "[0:01]",
          transcript("the sound of a video, 2 s"),
        ],
        ["image/jpeg 160 × 120", "image/jpeg 160 × 120"],
      ),
    );
  });

  const HERE = { latitude: 52.52, longitude: 13.405 } as const;
  it.each([
    ["a place", { location: HERE }, "[location 52.52, 13.405]"],
    [
      "a live place",
      { location: { ...HERE, live_period: 900 } },
      "[live location 52.52, 13.405, shared for 15 min 00 s]",
    ],
    [
      "a venue",
      { venue: { title: "Owl House", address: "Mill Lane 4", location: HERE }, location: HERE },
      "[venue Owl House, Mill Lane 4, 52.52, 13.405]",
    ],
    [
      "a contact",
      { contact: { first_name: "Ben", last_name: "Lim", phone_number: "+0 000 4271" } },
      "[contact Ben Lim, +0 000 4271]",
    ],
    [
      "a poll",
      {
        poll: {
          id: "1",
          question: "Which bird?",
          options: [
            { persistent_id: "a", text: "Owl", voter_count: 2 },
            { persistent_id: "b", text: "Heron", voter_count: 0 },
          ],
          total_voter_count: 2,
          is_closed: false,
          is_anonymous: true,
          type: "regular",
          allows_multiple_answers: false,
          allows_revoting: true,
          members_only: false,
        },
      },
      "[poll: Which bird?]\n- Owl [2 votes]\n- Heron",
    ],
    ["a roll of dice", { dice: { emoji: "🎲", value: 4 } }, "[dice 🎲 4]"],
  ] as const)("%s, in words", async (_what, content, words) => {
    expect(
      await outcomeOf((ada) => ada.send(structuredClone(content) as Parameters<Voice["send"]>[0])),
    ).toEqual(turn([words])); // of the Bot API's shape, but read-only
  });

  it("a reply to a photo, with that photo", async () => {
    const bytes = await fixture("photo.jpg");
    const ada = someone();
    const photo = ada.sendPhoto(bytes, { caption: "The pond" });
    await at.telegram.untilSent(ada.chatId, 1);
    expect(
      await outcomeOf(
        (again) => again.sendText("What swims there?", { replyTo: photo.message_id }),
        [bytes],
        ada,
      ),
    ).toEqual(
      turn(
        [
          "[in reply to a message from Ada:]\n> The pond\n> [photo]",
          "[quoted image, image/jpeg, 640 × 480 px, 13 KB, at /uploads/image-N.jpg]",
          "What swims there?",
        ],
        ["image/jpeg 640 × 480, as it was sent"],
      ),
    );
  });

  it("a forward, with who has said it", async () => {
    const forward_origin = { type: "hidden_user", sender_user_name: "Cleo", date: 1_700_000_000 } as const;
    const bytes = await fixture("docs/README");
    expect(
      await outcomeOf((ada) =>
        ada.sendDocument(bytes, { fileName: "README", forward_origin, caption: "Look" }),
      ),
    ).toEqual(
      turn([
        "[forwarded from Cleo, sent 2023-11-14; lines with > are their words]",
        "> Look",
        '[file "README", text/plain, 28 bytes, at /uploads/README]',
        framed("README", "Read me first. Number 4271.\n"),
      ]),
    );
  });
});
