import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ChatFiles } from "../../../src/agent/files/chat-files.ts";
import { keptRefusal } from "../../../src/agent/notes/kept-blocks.ts";

const BLOCK = "<!-- perch:begin facts -->\n- likes herons\n<!-- perch:end facts -->";
const TEXT = `# Notes\n\n${BLOCK}\n\nmine\n`;

describe("blocks that a program keeps", () => {
  it.each([
    ["text beside them is written", TEXT, `# Other\n${BLOCK}\nmore`],
    ["there are none", "a", "b"],
    ["comments are others", "", "<!-- perch is a fish -->"],
    [
      "two keep their order",
      `${BLOCK}\n${BLOCK.replaceAll("facts", "b")}`,
      `${BLOCK} x ${BLOCK.replaceAll("facts", "b")}`,
    ],
  ])("are no hindrance where %s", (_what, before, after) => {
    expect(keptRefusal("/workspace/AGENTS.md", before, after)).toBeUndefined();
  });

  it.each([
    ["is changed", TEXT.replace("herons", "crows")],
    ["is dropped", "# Notes\n"],
    ["loses a mark", TEXT.replace("<!-- perch:end facts -->", "")],
    ["is renamed", TEXT.replaceAll("facts", "other")],
    ["is written twice", `${TEXT}\n${BLOCK}`],
    ["gets another beside it", `${TEXT}\n<!--perch:begin x-->\n<!--perch:end x-->`],
    ["gets a mark inside", TEXT.replace("herons", "herons <!-- perch:end facts -->")],
  ])("are guarded where one %s", (_what, after) => {
    expect(keptRefusal("/workspace/AGENTS.md", TEXT, after)).toContain(
      "/workspace/AGENTS.md was not changed",
    );
  });

  it("are not forged in a new file, also not across lines or in many pieces", () => {
    for (const forged of [BLOCK, "<!--\n  perch:begin x\n-->", "<!-- perch:end x -->"])
      expect(keptRefusal("/workspace/new.md", "", forged)).toBeDefined();
  });

  it("are looked for in time, in a text that is made to be slow", () => {
    const hostile = "<!-- perch:begin ".repeat(50_000) + "<!-- perch:begin a -->".repeat(50_000);
    const before = process.cpuUsage();
    keptRefusal("/workspace/a.md", hostile, `${hostile} `);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
  });
});

describe("write_file and edit_file", () => {
  async function setUp() {
    const folder = await mkdtemp(join(tmpdir(), "perch-kept-"));
    await mkdir(join(folder, "workspace"));
    await writeFile(join(folder, "workspace", "AGENTS.md"), TEXT);
    const stands = (): Promise<string> => readFile(join(folder, "workspace", "AGENTS.md"), "utf8");
    return { files: new ChatFiles(folder), stands };
  }
  const PATH = "/workspace/AGENTS.md";

  it("refuse what would change, drop or forge one, with a sentence, and leave the file as it is", async () => {
    const { files, stands } = await setUp();
    const refused = { error: expect.stringContaining("kept by a program") };
    expect(await files.write(PATH, "all new")).toEqual(refused);
    expect(await files.write("workspace/./AGENTS.md", "all new")).toEqual(refused);
    expect(await files.edit(PATH, "herons", "crows")).toEqual(refused);
    expect(await files.edit(PATH, "herons", "$&")).toEqual(refused);
    expect(await files.edit(PATH, "mine", BLOCK)).toEqual(refused);
    expect(await files.edit(PATH, "perch:", "perch-", true)).toEqual(refused);
    // Put together by an edit of what is no mark yet.
    await files.edit(PATH, "mine", "<!-- perch:beXgin a -->");
    expect(await files.edit(PATH, "beXgin", "begin")).toEqual(refused);
    expect(await stands()).toBe(TEXT.replace("mine", "<!-- perch:beXgin a -->"));
  });

  it("write beside one, with $& as it stands", async () => {
    const { files, stands } = await setUp();
    expect(await files.edit(PATH, "mine", "costs $& and $1")).not.toHaveProperty("error");
    expect(await stands()).toBe(TEXT.replace("mine", () => "costs $& and $1"));
    expect(await files.write(PATH, `${BLOCK}\nonly this`)).not.toHaveProperty("error");
    expect(await stands()).toBe(`${BLOCK}\nonly this`);
  });
});
