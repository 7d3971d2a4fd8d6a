import { proto } from "@whiskeysockets/baileys";
import { expect, it } from "vitest";
import { contentOf } from "../../../channels/whatsapp/baileys/reading/content.ts";
import { readCard } from "../../../channels/whatsapp/baileys/reading/vcard.ts";

/** Through the wire and back, as a message really comes. */
function read(message: proto.IMessage): readonly unknown[] {
  const decoded = proto.Message.decode(proto.Message.encode(message).finish());
  return contentOf(decoded, () => "ref").map((part) =>
    part.type === "text" ? part.text : { [part.kind]: part.declared.label ?? part.declared.filename ?? "" },
  );
}

const image: proto.IMessage = { imageMessage: { caption: "look", mimetype: "image/jpeg" } };
const LOOK = ["look", { image: "photo" }];

it.each<[string, proto.IMessage, readonly unknown[]]>([
  ["text", { conversation: "hello" }, ["hello"]],
  ["nothing but spaces", { conversation: "  \n" }, []],
  ["a view once", { viewOnceMessage: { message: image } }, LOOK],
  ["a wrapper that the library does not know", { botInvokeMessage: { message: image } }, LOOK],
  [
    "wrappers in wrappers",
    { ephemeralMessage: { message: { viewOnceMessageV2: { message: image } } } },
    LOOK,
  ],
  ["a GIF", { videoMessage: { gifPlayback: true } }, [{ video: "animation" }]],
  [
    "a picture sent as a file",
    { documentMessage: { mimetype: "image/png", fileName: "a.png" } },
    [{ image: "a.png" }],
  ],
  ["an SVG", { documentMessage: { mimetype: "image/svg+xml", fileName: "a.svg" } }, [{ file: "a.svg" }]],
  [
    "a name that hides",
    { documentMessage: { fileName: "../invoice_\u202egpj.exe" } },
    [{ file: "invoice_gpj.exe" }],
  ],
  [
    "an animated sticker",
    { stickerMessage: { isAnimated: true } },
    ["[sticker animated]", { image: "sticker" }],
  ],
  [
    "a sticker that is drawn",
    { lottieStickerMessage: { message: { stickerMessage: { isLottie: true, isAnimated: true } } } },
    ["[sticker animated]"],
  ],
  [
    "a poll of several answers",
    { pollCreationMessage: { name: "Which?", options: [{ optionName: "a" }, { optionName: "b]\n[c" }] } },
    ["[poll, several answers allowed: Which?]\n- a\n- b c"],
  ],
  [
    "a wrapped poll",
    { pollCreationMessageV4: { message: { pollCreationMessage: { name: "Q", selectableOptionsCount: 1 } } } },
    ["[poll: Q]"],
  ],
  [
    "a cancelled event",
    { eventMessage: { name: "Party", isCanceled: true, location: { name: "Here" } } },
    ["[cancelled event “Party”, Here]"],
  ],
  [
    "buttons",
    { buttonsMessage: { contentText: "Pick", buttons: [{ buttonText: { displayText: "A" } }] } },
    ["Pick\n- A"],
  ],
  [
    "a template",
    { templateMessage: { hydratedTemplate: { hydratedContentText: "Your parcel" } } },
    ["Your parcel"],
  ],
  ["a list", { listMessage: { title: "Menu", sections: [{ rows: [{ title: "Soup" }] }] } }, ["Menu\n- Soup"]],
  ["an interactive message", { interactiveMessage: { body: { text: "Tap" } } }, ["Tap"]],
  [
    "an interactive reply",
    { interactiveResponseMessage: { nativeFlowResponseMessage: { paramsJson: "{}" } } },
    ["{}"],
  ],
  ["something to buy", { productMessage: {} }, ["[unsupported message: productMessage]"]],
  [
    "an edit that is encrypted",
    { secretEncryptedMessage: {} },
    ["[unsupported message: secretEncryptedMessage]"],
  ],
  ["a pin", { pinInChatMessage: {} }, []],
  ["an album's head", { albumMessage: { expectedImageCount: 2 } }, []],
  ["nothing that is known", {}, ["[unsupported message]"]],
])("reads %s", (_kind, message, content) => {
  expect(read(message)).toEqual(content);
});

it("goes no deeper than wrappers ever are", () => {
  let message: proto.IMessage = { conversation: "deep down" };
  for (let depth = 0; depth < 50; depth++) message = { ephemeralMessage: { message } };
  expect(read(message)).toEqual(["[unsupported message: ephemeralMessage]"]);
});

it.each([
  [
    "BEGIN:VCARD\nFN:Dana\nTEL;type=CELL;waid=15550000009:+1 555 000 0009\nEND:VCARD",
    { name: "Dana", reachedBy: ["+15550000009"] },
  ],
  [
    "FN:Da\r\n na\\, Example\r\nitem1.TEL:555\r\nitem1.X-ABLabel:Home\r\nEMAIL;TYPE=work:d@example.com",
    { name: "Dana, Example", reachedBy: ["555", "d@example.com"] },
  ],
  ["", { name: "", reachedBy: [] }],
])("reads a card", (card, read_) => {
  expect(readCard(card)).toEqual(read_);
});
