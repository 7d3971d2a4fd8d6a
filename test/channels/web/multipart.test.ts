import { describe, expect, it } from "vitest";
import { type Part, boundaryOf, readMultipart } from "../../../channels/web/multipart.ts";

type ReadPart = Omit<Part, "body"> & { readonly bytes: string };

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function readAll(bytes: Uint8Array, boundary: string, size: number): Promise<readonly ReadPart[]> {
  const parts: ReadPart[] = [];
  for await (const { body, ...head } of readMultipart(inChunks(bytes, size), boundary)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    parts.push({ ...head, bytes: Buffer.concat(chunks).toString("latin1") });
  }
  return parts;
}

const form = (lines: readonly string[]): Uint8Array => Buffer.from(lines.join("\r\n"), "latin1");

describe("readMultipart", () => {
  it("reads what a browser writes, wherever the chunks are cut", async () => {
    const sent = new FormData();
    sent.set("text", "two\nlines, ünïcode");
    sent.append("file", new Blob(["\r\n--", "\r\n\r\n", "\0\xff"], { type: "image/png" }), 'a "b" ü.png');
    sent.append("file", new Blob([]), "empty");
    const response = new Response(sent);
    const boundary = boundaryOf(response.headers.get("content-type")) ?? "";
    const bytes = new Uint8Array(await response.arrayBuffer());
    const whole = await readAll(bytes, boundary, bytes.length);
    expect(whole.map(({ name, filename, mimeType }) => [name, filename, mimeType])).toEqual([
      ["text", undefined, ""],
      ["file", 'a "b" ü.png', "image/png"],
      ["file", "empty", "application/octet-stream"],
    ]);
    expect(whole[1]?.bytes).toBe(Buffer.from("\r\n--\r\n\r\n\0\xff").toString("latin1"));
    for (let size = 1; size < bytes.length; size += 1)
      expect(await readAll(bytes, boundary, size)).toEqual(whole);
  });

  it("does not take what only begins like the boundary for it", async () => {
    const content = "\r\n--b\r\r\n--boundar\r\n--Boundary\r\n-";
    const bytes = form([
      "--boundary",
      'content-disposition: form-data; name="a"',
      "",
      content,
      "--boundary--",
      "",
    ]);
    for (let size = 1; size < bytes.length; size += 1)
      expect(await readAll(bytes, "boundary", size)).toEqual([{ name: "a", mimeType: "", bytes: content }]);
  });

  it("skips the rest of a part that was not read to its end", async () => {
    const part = (name: string): string[] => [
      "--b",
      `content-disposition: form-data; name="${name}"`,
      "",
      "x".repeat(99),
    ];
    const names: string[] = [];
    for await (const { name, body } of readMultipart(
      inChunks(form([...part("a"), ...part("c"), "--b--"]), 7),
      "b",
    )) {
      names.push(name);
      await body[Symbol.asyncIterator]().next();
    }
    expect(names).toEqual(["a", "c"]);
  });

  it.each([
    ["breaks off in a part", ["--b", 'content-disposition: form-data; name="a"', "", "half"], /ended before/],
    ["breaks off in the headers", ["--b", "content-dis"], /ended before/],
    [
      "has no closing boundary",
      ["--b", 'content-disposition: form-data; name="a"', "", "x", "--b"],
      /ended before/,
    ],
    ["begins with something else", ["hello", "--b--"], /before the first part/],
    ["has a part without a name", ["--b", "content-disposition: form-data", "", "x", "--b--"], /no name/],
    ["has endless headers", ["--b", `x: ${"y".repeat(9000)}`, "", "x", "--b--"], /longer than 8192 bytes/],
  ])("refuses a body that %s", async (_what, lines, message) => {
    await expect(readAll(form(lines), "b", 11)).rejects.toThrow(message);
  });
});

describe("boundaryOf", () => {
  it.each([
    ["multipart/form-data; boundary=abc", "abc"],
    ['Multipart/Form-Data; charset=utf-8; boundary="a b"', "a b"],
    ["multipart/mixed; boundary=abc", undefined],
    ["multipart/form-data", undefined],
    [null, undefined],
  ])("finds in %j %j", (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary);
  });
});
