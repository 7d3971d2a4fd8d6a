import { describe, expect, it } from "vitest";
import { isPlain, sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const OTHER = "fedcba9876543210fedcba9876543210";
const PLAIN = Buffer.from("the key of the account");

describe("a seal", () => {
  it("opens what it has sealed, in its place alone, and no two texts are the same", async () => {
    const seal = await sealWith(KEY, "test");
    const text = seal.seal(PLAIN, "auth/creds");
    expect([seal.open(text, "auth/creds"), seal.sealed, isPlain(text)]).toEqual([PLAIN, true, false]);
    expect(text).toMatch(/^s1\.[\w-]{8}\.[\w-]+$/);
    expect(seal.seal(PLAIN, "auth/creds")).not.toBe(text);
    expect(text).not.toContain(PLAIN.toString("base64url").slice(0, 8));
    expect(() => seal.open(text, "auth/session/x")).toThrow("it was changed or damaged; restore a backup");
    expect(seal.open(seal.seal(Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
  });

  it("opens after a restart, with the same key for the same purpose", async () => {
    const text = (await sealWith(KEY, "test")).seal(PLAIN);
    expect((await sealWith(KEY, "test")).open(text)).toEqual(PLAIN);
    for (const [key, purpose] of [
      [OTHER, "test"],
      [KEY, "another"],
    ] as const) {
      const other = await sealWith(key, purpose);
      expect(() => other.open(text)).toThrow(
        expect.objectContaining({
          code: "data.unusable",
          message:
            "it is sealed with another stateKey than the one that is set; set the one from before, " +
            "or restore a backup that was made with this one",
        }),
      );
    }
  });

  it("marks as plain what it has no key for, and opens that also when a key is set later", async () => {
    const open = await sealWith(undefined, "test");
    const text = open.seal(PLAIN, "auth/creds");
    expect([open.open(text, "auth/creds"), open.sealed, isPlain(text)]).toEqual([PLAIN, false, true]);
    const seal = await sealWith(KEY, "test");
    expect(seal.open(text, "auth/creds")).toEqual(PLAIN);
    expect(() => open.open(seal.seal(PLAIN))).toThrow(
      expect.objectContaining({
        code: "data.unusable",
        message: "it is sealed and no stateKey is set; set the stateKey that it was sealed with",
      }),
    );
  });

  it("refuses a text of which one letter is another", async () => {
    const seal = await sealWith(KEY, "test");
    const text = seal.seal(PLAIN);
    for (const at of [14, text.length - 4]) {
      const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
      expect(() => seal.open(changed)).toThrow("it was changed or damaged");
    }
    for (const wrong of ["", "s1", "s1.x", "s2.a.b", "plain", "p1.a.b"])
      expect(() => seal.open(wrong)).toThrow(expect.objectContaining({ code: "data.unusable" }));
  });
});
