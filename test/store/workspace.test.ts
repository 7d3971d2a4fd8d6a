import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { BlobRef } from "../../src/core/blocks.ts";
import { hasCode } from "../../src/core/errors.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { Workspaces } from "../../src/store/workspace.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), "perch-workspace-"));
  folders.push(folder);
  const blobs = new FileBlobs(join(folder, "media"));
  const root = join(folder, "chats");
  const workspaces = new Workspaces(root, blobs);
  const keep = async (chat: number, name: string, ref: BlobRef) =>
    await workspaces.keep(chat as ChatId, name, ref); // any number is a chat's
  const blob = async (text: string) => await blobs.put(Buffer.from(text));
  const read = async (chat: number, path: string) => await readFile(join(root, String(chat), path), "utf8");
  return { folder, root, blobs, workspaces, keep, blob, read };
}

describe("keeping what people send", () => {
  it("copies it, private to us, under the path that the agent's file tools know", async () => {
    const { root, keep, blob, read } = await setUp();
    expect(await keep(7, "report.pdf", await blob("one"))).toBe("/uploads/report.pdf");
    expect(await read(7, "/uploads/report.pdf")).toBe("one");
    const modes = [root, join(root, "7"), join(root, "7/uploads"), join(root, "7/uploads/report.pdf")].map(
      async (path) => (await stat(path)).mode & 0o777,
    );
    expect(await Promise.all(modes)).toEqual([0o700, 0o700, 0o700, 0o600]);
  });

  it("gives the same path when it is done again after a crash, and another to other bytes", async () => {
    const { keep, blob, root } = await setUp();
    const [one, two, other] = [await blob("one"), await blob("two"), await blob("another length")];
    const kept = [];
    for (const ref of [one, one, two, two, other, one]) kept.push(await keep(7, "a.b.md", ref));
    expect(kept).toEqual([
      "/uploads/a.b.md",
      "/uploads/a.b.md",
      "/uploads/a.b (2).md",
      "/uploads/a.b (2).md",
      "/uploads/a.b (3).md",
      "/uploads/a.b.md",
    ]);
    expect((await readdir(join(root, "7/uploads"))).toSorted()).toEqual([
      "a.b (2).md",
      "a.b (3).md",
      "a.b.md",
    ]);
  });

  it("puts no file over another when many of one name come at once", async () => {
    const { keep, blob, read } = await setUp();
    const refs = await Promise.all(Array.from({ length: 12 }, (_, n) => blob(`text ${n % 6}`)));
    const paths = await Promise.all(refs.map((ref) => keep(7, "x", ref)));
    const found = await Promise.all(paths.map((path) => read(7, path)));
    expect(found).toEqual(refs.map((_, n) => `text ${n % 6}`));
    expect(new Set(paths).size).toBe(6);
  });

  it("finds a place at once for one of many files of one name", async () => {
    const { keep, blob, read } = await setUp();
    const paths = [];
    for (let n = 0; n < 30; n += 1) paths.push(await keep(7, "x.md", await blob(`text ${n}`)));
    expect(new Set(paths).size).toBe(30);
    expect(paths[8]).toBe("/uploads/x (9).md");
    // The tenth place is the file's own, whatever came before.
    for (const path of paths.slice(9)) expect(path).toMatch(/^\/uploads\/x \([\da-f]{12}-10\)\.md$/);
    expect(await keep(7, "x.md", await blob("text 20"))).toBe(paths[20]);
    expect(await read(7, paths[20] ?? "")).toBe("text 20");
  });

  it("FIL-11: gives each of two chats its own report.md", async () => {
    const { keep, blob, read } = await setUp();
    const [a, b] = [await blob("# Notes"), await blob("Read me first")];
    const paths = await Promise.all([keep(1, "report.md", a), keep(2, "report.md", b)]);
    expect(paths).toEqual(["/uploads/report.md", "/uploads/report.md"]);
    expect([await read(1, "/uploads/report.md"), await read(2, "/uploads/report.md")]).toEqual([
      "# Notes",
      "Read me first",
    ]);
  });

  it("leaves a folder and a link of the name, and what the link points at", async () => {
    const { folder, root, keep, blob } = await setUp();
    await mkdir(join(root, "7/uploads/a"), { recursive: true });
    await writeFile(join(folder, "secret"), "secret");
    await symlink(join(folder, "secret"), join(root, "7/uploads/b"));
    expect(await keep(7, "a", await blob("one"))).toBe("/uploads/a (2)");
    expect(await keep(7, "b", await blob("secret"))).toBe("/uploads/b (2)");
    expect((await lstat(join(root, "7/uploads/b"))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(folder, "secret"), "utf8")).toBe("secret");
  });

  it("writes nothing through a link in the place of the folder", async () => {
    const { folder, root, keep, blob } = await setUp();
    await mkdir(join(folder, "elsewhere"));
    await mkdir(join(root, "7"), { recursive: true });
    await symlink(join(folder, "elsewhere"), join(root, "7/uploads"));
    const refused = await keep(7, "a", await blob("one")).catch((error: unknown) => error);
    expect(hasCode(refused, "data.unusable")).toBe(true);
    expect(await readdir(join(folder, "elsewhere"))).toEqual([]);
  });

  it("says so when the blob is not there, and leaves no half of a copy", async () => {
    const { root, keep, blob, blobs } = await setUp();
    const ref = await blob("one");
    await rm(blobs.pathOf(ref));
    const refused = await keep(7, "a", ref).catch((error: unknown) => error);
    expect(hasCode(refused, "blob.missing")).toBe(true);
    expect(await readdir(join(root, "7/uploads"))).toEqual([]);
  });

  it("fails where nothing can be written, for the caller to go on without a path", async () => {
    const { root, keep, blob } = await setUp();
    const ref = await blob("one");
    await mkdir(root, { recursive: true });
    await writeFile(join(root, "7"), "a file where the folder should be");
    await expect(keep(7, "a", ref)).rejects.toThrow(/EEXIST|ENOTDIR/);
    await rm(join(root, "7"));
    await mkdir(join(root, "7/uploads"), { recursive: true });
    await chmod(join(root, "7/uploads"), 0o500);
    if (process.getuid?.() !== 0) await expect(keep(7, "a", ref)).rejects.toThrow("EACCES");
    await chmod(join(root, "7/uploads"), 0o700);
  });

  it("makes an agent's change of an upload not the blob's", async () => {
    const { root, keep, blob, blobs } = await setUp();
    const ref = await blob("one");
    await keep(7, "a", ref);
    await writeFile(join(root, "7/uploads/a"), "changed");
    expect(Buffer.from(await blobs.read(ref)).toString()).toBe("one");
  });
});

describe("sweeping", () => {
  const OLD = new Date("2024-01-01T00:00:00Z");
  const BEFORE = Date.parse("2024-02-01T00:00:00Z");

  it("removes uploads that are older, halves of copies among them, and nothing else of a chat", async () => {
    const { root, workspaces, blob, keep } = await setUp();
    await keep(7, "old.txt", await blob("one"));
    await keep(7, "new.txt", await blob("two"));
    await writeFile(join(root, "7/uploads/.partial-x"), "half");
    for (const other of ["workspace", "outputs"]) {
      await mkdir(join(root, "7", other));
      await writeFile(join(root, "7", other, "a"), "mine");
      await utimes(join(root, "7", other, "a"), OLD, OLD);
    }
    for (const name of ["old.txt", ".partial-x"]) await utimes(join(root, "7/uploads", name), OLD, OLD);
    expect(await workspaces.sweep(BEFORE)).toBe(2);
    expect(await readdir(join(root, "7/uploads"))).toEqual(["new.txt"]);
    expect([await readdir(join(root, "7/workspace")), await readdir(join(root, "7/outputs"))]).toEqual([
      ["a"],
      ["a"],
    ]);
  });

  it("removes results of tools that are older, and no other work of the agent's", async () => {
    const { folder, root, workspaces } = await setUp();
    const workspace = join(root, "7/workspace");
    await mkdir(join(workspace, "results"), { recursive: true });
    for (const name of ["results/old.txt", "results/new.txt", "notes.txt"])
      await writeFile(join(workspace, name), "x");
    for (const name of ["results/old.txt", "notes.txt"]) await utimes(join(workspace, name), OLD, OLD);
    await mkdir(join(folder, "elsewhere"));
    await writeFile(join(folder, "elsewhere/a"), "precious");
    await utimes(join(folder, "elsewhere/a"), OLD, OLD);
    await mkdir(join(root, "8/workspace"), { recursive: true });
    await symlink(join(folder, "elsewhere"), join(root, "8/workspace/results"));
    expect(await workspaces.sweep(BEFORE)).toBe(1);
    expect([await readdir(workspace), await readdir(join(workspace, "results"))]).toEqual([
      ["notes.txt", "results"],
      ["new.txt"],
    ]);
    expect(await readdir(join(folder, "elsewhere"))).toEqual(["a"]);
  });

  it("lets stay what was sent again", async () => {
    const { root, workspaces, blob, keep } = await setUp();
    const ref = await blob("one");
    await keep(7, "a.txt", ref);
    await utimes(join(root, "7/uploads/a.txt"), OLD, OLD);
    await keep(7, "a.txt", ref);
    expect(await workspaces.sweep(BEFORE)).toBe(0);
  });

  it("follows no link out of the folders", async () => {
    const { folder, root, workspaces, blob, keep } = await setUp();
    await mkdir(join(folder, "elsewhere/uploads"), { recursive: true });
    for (const name of ["elsewhere/uploads/a", "elsewhere/a"]) {
      await writeFile(join(folder, name), "precious");
      await utimes(join(folder, name), OLD, OLD);
    }
    await keep(7, "x", await blob("one"));
    await symlink(join(folder, "elsewhere"), join(root, "8"));
    await mkdir(join(root, "9"));
    await symlink(join(folder, "elsewhere"), join(root, "9/uploads"));
    await symlink(join(folder, "elsewhere"), join(root, "7/uploads/link"));
    await workspaces.sweep(Date.parse("2999-01-01T00:00:00Z"));
    expect(await readdir(join(root, "7/uploads"))).toEqual([]);
    expect(await readdir(join(folder, "elsewhere"))).toEqual(["a", "uploads"]);
    expect(await readdir(join(folder, "elsewhere/uploads"))).toEqual(["a"]);
  });

  it("goes on when files vanish under it, and when there is no folder yet", async () => {
    const { workspaces, blob, keep } = await setUp();
    expect(await workspaces.sweep(BEFORE)).toBe(0);
    const ref = await blob("one");
    for (let n = 0; n < 40; n += 1) await keep(n % 4, `f${n}`, ref);
    const future = Date.parse("2999-01-01T00:00:00Z");
    const swept = await Promise.all([
      workspaces.sweep(future),
      workspaces.sweep(future),
      workspaces.sweep(future),
    ]);
    expect(Math.max(...swept)).toBeGreaterThan(0);
    expect(await workspaces.sweep(future)).toBe(0);
  });
});
