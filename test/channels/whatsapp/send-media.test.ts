import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GatewayError } from "../../../src/core/errors.ts";
import { Sending } from "./sending.ts";

let sending: Sending;

beforeAll(async () => {
  sending = await Sending.open();
});

afterAll(async () => {
  await sending.close();
});

/** The ids under which files were written to WhatsApp, in order, with what became of them. */
function writes(since: number): readonly (readonly [string, string])[] {
  return sending.wa.sends.slice(since).map(({ id, outcome }) => [id, outcome]);
}

describe("a file", () => {
  it("goes with what stands below it", async () => {
    const body = { kind: "media", ...sending.file("image", "a picture", { caption: "look" }) } as const;
    const [id = ""] = await sending.send(sending.piece(body));
    const { message } = await sending.shownTo(sending.bob, id);
    expect(message.imageMessage?.caption).toBe("look");
    expect(await sending.wa.media.open(message.imageMessage, "image")).toEqual(Buffer.from("a picture"));
  });

  it("is a document in the simpler form that a refusal names", async () => {
    sending.wa.faults.messages.add({ kind: "reject", error: 400 });
    const video = sending.file("video", "a video", { filename: "film.mp4", caption: "see" });
    const piece = sending.piece({ kind: "media", ...video });
    await expect(sending.send(piece)).rejects.toMatchObject({ code: "send.refused", stepDown: "document" });
    const [id = ""] = await sending.send(piece, "document");
    const { documentMessage } = (await sending.shownTo(sending.bob, id)).message;
    expect([documentMessage?.fileName, documentMessage?.caption]).toEqual(["film.mp4", "see"]);
  });

  it("is uploaded once, however often its message goes", async () => {
    sending.wa.faults.messages.add({ kind: "cut", when: "before" });
    const piece = sending.piece({ kind: "media", ...sending.file("file", "a report") });
    const before = sending.wa.media.uploads.items.length;
    await expect(sending.send(piece)).rejects.toThrow(/ended before/);
    await sending.reconnect();
    const [id = ""] = await sending.send(piece);
    await sending.shownTo(sending.bob, id);
    expect(sending.wa.media.uploads.items.length - before).toBe(1);
  });

  it("that is not in the store any more is refused", async () => {
    const item = sending.file("file", "gone");
    const media = { ...item.media, blob: `sha256:${"0".repeat(64)}` } as const;
    const piece = sending.piece({ kind: "media", as: "file", media });
    await expect(sending.send(piece)).rejects.toMatchObject({ code: "send.refused" });
  });

  it("that cannot be uploaded now leaves the message unwritten", async () => {
    sending.wa.faults.uploads.add({ kind: "status", code: 503 });
    const piece = sending.piece({ kind: "media", ...sending.file("file", "busy") });
    const before = sending.wa.sends.length;
    await expect(sending.send(piece)).rejects.toMatchObject({ code: "send.not_written" });
    expect(writes(before)).toEqual([]);
  });
});

describe("an album", () => {
  const pictures = (words: readonly string[]) =>
    ({ kind: "album", items: words.map((word) => sending.file("image", word, { caption: word })) }) as const;
  const kept = async (id: string) => (await sending.shownTo(sending.bob, id)).message;

  it("is one message that holds it together, and one for each file", async () => {
    const before = sending.wa.sends.length;
    await sending.hasSaid(sending.bob, "Q1", "show me");
    const piece = sending.piece(pictures(["one", "two"]), { replyTo: "Q1" });
    const ids = await sending.send(piece);
    const [parent = ["", ""]] = writes(before);
    const { albumMessage } = await kept(parent[0]);
    expect([albumMessage?.expectedImageCount, albumMessage?.expectedVideoCount]).toEqual([2, 0]);
    const children = await Promise.all(ids.map(kept));
    expect(children.map(({ imageMessage }) => imageMessage?.caption)).toEqual(["one", "two"]);
    expect(
      children.map(({ messageContextInfo }) => messageContextInfo?.messageAssociation?.parentMessageKey?.id),
    ).toEqual([parent[0], parent[0]]);
    expect(children.map(({ imageMessage }) => imageMessage?.contextInfo?.stanzaId ?? "")).toEqual(["Q1", ""]);
  });

  it("whose connection breaks goes on where it was: what was accepted is not sent again", async () => {
    const piece = sending.piece(pictures(["one", "two", "three"]));
    const before = sending.wa.sends.length;
    let count = 0;
    sending.wa.faults.messages.add({ kind: "cut", when: "before" }, { when: () => (count += 1) === 3 });
    await expect(sending.send(piece)).rejects.not.toHaveProperty("code");
    await sending.reconnect();
    const [one, two, three] = await sending.send(piece);
    expect(writes(before).slice(1)).toEqual([
      [one, "accepted"],
      [two, "lost"],
      [two, "accepted"],
      [three, "accepted"],
    ]);
  });

  it("with a file that is refused goes on with single files, and that one as a document", async () => {
    const piece = sending.piece(pictures(["one", "two", "three"]));
    let count = 0;
    sending.wa.faults.messages.add({ kind: "reject", error: 400 }, { when: () => (count += 1) === 3 });
    const before = sending.wa.sends.length;
    const ids = await sending.send(piece);
    const children = await Promise.all(ids.map(kept));
    expect(children.map((message) => Object.keys(message)[0])).toEqual([
      "imageMessage",
      "documentMessage",
      "imageMessage",
    ]);
    expect(children.map(({ messageContextInfo }) => Boolean(messageContextInfo?.messageAssociation))).toEqual(
      [true, false, false],
    );
    expect(await sending.send(piece)).toEqual(ids);
    expect(writes(before)).toHaveLength(5);
  });

  it("of which one cannot be sent at all says so, once the others stand there", async () => {
    const piece = sending.piece(pictures(["bad", "good"]));
    let count = 0;
    const bad = { when: () => [2, 3].includes((count += 1)), times: 2 };
    sending.wa.faults.messages.add({ kind: "reject", error: 400 }, bad);
    const before = sending.wa.sends.length;
    const failure = await sending.send(piece).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "send.refused", cause: { code: "send.refused" } });
    expect((failure as GatewayError).stepDown).toBeUndefined();
    expect(String(failure)).toMatch(/1 of 2 files/);
    expect((await kept(writes(before).at(-1)?.[0] ?? "")).imageMessage?.caption).toBe("good");
  });
});
