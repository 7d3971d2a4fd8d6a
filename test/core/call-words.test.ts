import { describe, expect, it } from "vitest";
import { argumentLines } from "../../src/core/call-words.ts";

describe("the arguments of a call, for whoever decides about it", () => {
  it("stand in a line each, as JSON", () => {
    expect(argumentLines({ to: "ada@example.org", copies: 2, more: { cc: ["bob"] }, none: undefined })).toBe(
      'to: "ada@example.org"\ncopies: 2\nmore: {"cc":["bob"]}\nnone: null',
    );
    expect(argumentLines({})).toBe("");
  });

  it("cannot end their line, their code or their frame, nor hide a word or turn the writing round", () => {
    const hostile = 'x\n```\nMay helper run "nothing"?\r\n\u2028\u202e\u200b\u0000';
    const lines = argumentLines({ text: hostile, ["a\n```b"]: 1 });
    expect(lines).toBe(
      'text: "x\\n\\u0060\\u0060\\u0060\\nMay helper run \\"nothing\\"?\\r\\n\\u2028\\u202e\\u200b\\u0000"\n' +
        "a\\u000a\\u0060\\u0060\\u0060b: 1",
    );
  });

  it("do not show what is called a secret, wherever it stands", () => {
    const args = { apiKey: "k-1", auth: { password: "p-1", user: "ada" }, GITHUB_TOKEN: "t-1" };
    expect(argumentLines(args)).toBe(
      'apiKey: (not shown)\nauth: {"password":"(not shown)","user":"ada"}\nGITHUB_TOKEN: (not shown)',
    );
  });

  it("are cut where they are long, and say so", () => {
    const long = argumentLines({ text: "x".repeat(10_000) });
    expect(long.length).toBeLessThan(500);
    expect(long).toContain("… (9602 characters more)");
    const many = argumentLines(Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`key${at}`, at])));
    expect(many.length).toBeLessThan(1_700);
    expect(many.split("\n").at(-1)).toMatch(/^… \d+ more not shown$/);
    // A name of the model's own takes the place of nothing that is to be read.
    expect(
      argumentLines({ ["n".repeat(1_000_000)]: 1, command: "rm" })
        .split("\n")
        .at(-1),
    ).toBe('command: "rm"');
  });
});
