import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { resultText } from "../../../src/agent/mcp/results.ts";
import { PIXEL } from "../../support/mcp/tools.mjs";
import { folderOf } from "./set-up.ts";

const image = { type: "image", data: PIXEL, mimeType: "image/png" };

describe("a result of a server", () => {
  it.each([
    [
      "texts",
      [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
      "a\nb",
    ],
    ["nothing", [], "[nothing]"],
    [
      "a link",
      [{ type: "resource_link", uri: "https://x.org/\n]", name: "n" }],
      '[a link: "n, https://x.org/"]',
    ],
    [
      "a text that is a file",
      [{ type: "resource", resource: { uri: "file:///a.txt", text: "in it" } }],
      '["file:///a.txt"]\nin it',
    ],
    [
      "what nobody can read",
      [{ type: "hologram" }, 7, null],
      "[a part that cannot be read]\n".repeat(3).trim(),
    ],
    ["a picture, where there are no files", [image], "[a picture, image/png, which is not shown]"],
  ])("is words: %s", async (_what, content, expected) => {
    expect(await resultText({ content }, undefined)).toBe(expected);
  });

  it("is its data where it has no words", async () => {
    expect(await resultText({ content: [], structuredContent: { a: 1 } }, undefined)).toBe('{"a":1}');
  });

  it("has its pictures and files in the chat's workspace, the same one once", async () => {
    const folder = folderOf();
    const place = { folder, server: "tools" };
    const blob = {
      type: "resource",
      resource: { uri: "x:y", mimeType: "application/pdf", blob: "JVBERg==" },
    };
    const text = await resultText({ content: [image, image, blob] }, place);
    const [picture = "", again = "", pdf = ""] = text.split("\n");
    expect(picture).toMatch(/^\[a picture, image\/png: \/workspace\/results\/tools\/[0-9a-f]{16}\.png\]$/);
    expect(again).toBe(picture);
    expect(pdf).toMatch(
      /^\[the file "x:y", application\/pdf: \/workspace\/results\/tools\/[0-9a-f]{16}\.pdf\]$/,
    );
    const files = readdirSync(join(folder, "workspace/results/tools"));
    expect(files).toHaveLength(2);
    const png = files.find((name) => name.endsWith(".png")) ?? "";
    expect(readFileSync(join(folder, "workspace/results/tools", png)).toString("base64")).toBe(PIXEL);
  });

  it("writes nothing through a link, and says that the picture is not shown", async () => {
    const folder = folderOf();
    const outside = folderOf();
    mkdirSync(join(folder, "workspace"));
    symlinkSync(outside, join(folder, "workspace/results"));
    expect(await resultText({ content: [image] }, { folder, server: "tools" })).toContain(
      "which is not shown",
    );
    expect(readdirSync(outside)).toEqual([]);
  });

  it("does not fail where nothing can be written", async () => {
    const folder = folderOf();
    writeFileSync(join(folder, "workspace"), "a file");
    expect(await resultText({ content: [image] }, { folder, server: "tools" })).toContain(
      "which is not shown",
    );
  });
});
