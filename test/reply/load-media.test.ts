import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GatewayError } from "../../src/core/errors.ts";
import { loadMedia } from "../../src/reply/load-media.ts";
import { outboundTree, SECRET } from "./outbound-tree.ts";

let tree: ReturnType<typeof outboundTree>;
beforeEach(() => {
  tree = outboundTree();
});
afterEach(() => tree.close());

const collect = async (chunks: AsyncIterable<Uint8Array>): Promise<string> => {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
};

const load = async (reference: string, maxBytes = 1_000) => {
  try {
    const { taken, filename } = await loadMedia(reference, { outputs: tree.root }, maxBytes, collect);
    return [filename, taken];
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
};

describe("a file of the outputs folder", () => {
  it.each([
    ["chart.png", ["chart.png", "chart.png"]],
    ["./sub//inner.png", ["inner.png", "sub/inner.png"]],
    ["with%20space.png", ["with space.png", "with space.png"]],
    ["100%.png", ["100%.png", "100%.png"]],
    ["100%25.png", ["100%25.png", "100%25.png"]],
    ["hash#1.png", ["hash#1.png", "hash#1.png"]],
    ["café.png".normalize("NFD"), ["café.png", "café.png"]],
    ["caf%C3%A9.png", ["café.png", "café.png"]],
    ["link_inside.png", ["link_inside.png", "chart.png"]],
  ])("is read: %s", async (reference, expected) => {
    expect(await load(reference)).toEqual(expected);
  });

  it("is read through a folder of the operator's that is a link itself", async () => {
    const within = join(tree.base, "rootlink");
    expect((await loadMedia("inner.png", { outputs: join(within, "sub") }, 1_000, collect)).taken).toBe(
      "sub/inner.png",
    );
    const roots = { outputs: join(tree.base, "none"), assets: within };
    expect((await loadMedia("chart.png", roots, 1_000, collect)).taken).toBe("chart.png");
  });

  it("is not read where somebody has put a link in the place of the folder itself", async () => {
    const loading = loadMedia("chart.png", { outputs: join(tree.base, "rootlink") }, 1_000, collect);
    await expect(loading).rejects.toMatchObject({ code: "media.outside_root" });
  });

  it.each(["outputs/chart.png", "/outputs/chart.png", "./outputs//chart.png", "sandbox:/outputs/chart.png"])(
    "is read by the name that the agent's file tools give it: %s",
    async (reference) => {
      expect(await load(reference)).toEqual(["chart.png", "chart.png"]);
    },
  );

  it("in a folder called outputs within it wins over one outside of that", async () => {
    mkdirSync(join(tree.root, "outputs"));
    writeFileSync(join(tree.root, "outputs", "chart.png"), "the inner one");
    expect(await load("outputs/chart.png")).toEqual(["chart.png", "the inner one"]);
    expect(await load("/outputs/chart.png")).toEqual(["chart.png", "chart.png"]);
  });

  it("comes in chunks, and no more of it than it had when it was opened", async () => {
    const big = join(tree.root, "big.bin");
    writeFileSync(big, Buffer.alloc(3_000_000, 1));
    let bytes = 0;
    let largest = 0;
    await loadMedia("big.bin", { outputs: tree.root }, 3_000_000, async (chunks) => {
      appendFileSync(big, Buffer.alloc(1_000_000, 2));
      for await (const chunk of chunks) {
        bytes += chunk.length;
        largest = Math.max(largest, chunk.length);
      }
    });
    expect(bytes).toBe(3_000_000);
    expect(largest).toBeLessThan(1_000_000);
  });

  it("wins over one of the assets, which is read where outputs has none", async () => {
    const assets = join(tree.base, "assets");
    mkdirSync(assets);
    writeFileSync(join(assets, "chart.png"), "asset");
    writeFileSync(join(assets, "logo.png"), "logo");
    const read = async (path: string, outputs = tree.root) =>
      (await loadMedia(path, { outputs, assets }, 1_000, collect)).taken;

    expect(await read("chart.png")).toBe("chart.png");
    expect(await read("logo.png")).toBe("logo");
    expect(await read("/assets/chart.png")).toBe("asset");
    expect(await read("logo.png", join(tree.base, "not-there-yet"))).toBe("logo");
  });

  it("may have exactly as many bytes as the limit", async () => {
    expect(await load("chart.png", 9)).toEqual(["chart.png", "chart.png"]);
    expect(await load("chart.png", 8)).toBe("media.too_large");
    await expect(loadMedia("chart.png", { outputs: tree.root }, 8, collect)).rejects.toThrow(
      '"chart.png" has 9 bytes; at most 8 can be sent, make it smaller',
    );
  });
});

describe("what is refused", () => {
  it.each([
    ["gone.png", "media.not_found"],
    ["Chart.PNG", "media.not_found"],
    ["chart.png/x", "media.not_found"],
    ["loop.png", "media.not_found"],
    ["$HOME/x.png", "media.not_found"],
    ["x".repeat(300), "media.not_found"],
    ["%252e%252e/secret.png", "media.not_found"],
    ["../secret.png", "media.outside_root"],
    ["sub/../chart.png", "media.outside_root"],
    ["..\\secret.png", "media.outside_root"],
    ["%2e%2e/secret.png", "media.outside_root"],
    ["..%2fsecret.png", "media.outside_root"],
    ["/etc/passwd", "media.outside_root"],
    ["/workspace/chart.png", "media.outside_root"],
    ["/outputs/../secret.png", "media.outside_root"],
    ["/outputs//etc/passwd", "media.not_found"],
    ["/outputs/", "media.outside_root"],
    ["sandbox:/mnt/data/chart.png", "media.outside_root"],
    ["%2fetc/passwd", "media.outside_root"],
    ["~/secret.png", "media.outside_root"],
    ["~root/secret.png", "media.outside_root"],
    ["file:///etc/passwd", "media.outside_root"],
    ["https://a.de/b.png", "media.outside_root"],
    ["", "media.outside_root"],
    ["chart.png\0.txt", "media.outside_root"],
    ["chart.png%00.txt", "media.outside_root"],
    ["chart.png%0a", "media.outside_root"],
    ["link_out.png", "media.outside_root"],
    ["dir_out/inner.png", "media.outside_root"],
    ["zero.png", "media.outside_root"],
    ["hard.png", "media.outside_root"],
    ["pipe.png", "media.not_regular"],
    ["sock.png", "media.not_regular"],
    ["dir.png", "media.not_regular"],
    ["sub/", "media.not_regular"],
    [".", "media.not_regular"],
  ])("%j is %s", async (reference, code) => {
    expect(await load(reference)).toBe(code);
  });

  it("is a device within the root, without its being opened", async () => {
    await expect(loadMedia("zero", { outputs: "/dev" }, 1_000, collect)).rejects.toMatchObject({
      code: "media.not_regular",
    });
  });

  it("is a file with a second name, and the reason is told", async () => {
    linkSync(join(tree.root, "chart.png"), join(tree.root, "other.png"));
    await expect(loadMedia("chart.png", { outputs: tree.root }, 1_000, collect)).rejects.toThrow(
      '"chart.png" has 2 hard links and may belong elsewhere; send a copy of it',
    );
  });

  it("is a file in a folder that is closed to us, like one that is not there", async () => {
    const closed = join(tree.root, "closed");
    mkdirSync(closed);
    writeFileSync(join(closed, "a.png"), "a");
    chmodSync(tree.base, 0o755);
    chmodSync(closed, 0o000);
    const { geteuid, seteuid } = process;
    const root = geteuid?.() === 0;
    if (root) seteuid?.("nobody"); // nothing is closed to root
    try {
      expect(await load("closed/a.png")).toBe("media.not_found");
    } finally {
      if (root) seteuid?.(0);
      chmodSync(closed, 0o755);
    }
  });

  it("is a pipe at once, however often, and files are still read", async () => {
    const codes = await Promise.all(Array.from({ length: 10 }, () => load("pipe.png")));
    expect(new Set(codes)).toEqual(new Set(["media.not_regular"]));
    expect(await readFile(join(tree.root, "chart.png"), "utf8")).toBe("chart.png");
  });
});

describe("a folder or a file that is swapped for a link while it is read", () => {
  // Swaps by renames, so that the name always leads somewhere: the true file, or the secret one.
  const swapping = `
    const { renameSync } = require("node:fs");
    const { workerData: { place, link, aside, stop } } = require("node:worker_threads");
    const flag = new Int32Array(stop);
    while (Atomics.load(flag, 0) === 0) {
      renameSync(place, aside); renameSync(link, place);
      renameSync(place, link); renameSync(aside, place);
      Atomics.add(flag, 1, 1);
    }`;

  it.each([
    ["sub", "../outside_dir", "sub/inner.png"],
    ["chart.png", "../secret.png", "chart.png"],
    [".", "evil", "chart.png"],
  ])("never gives anything but its own bytes: %s", async (name, target, reference) => {
    const [place, link, aside] = [join(tree.root, name), join(tree.base, "link"), join(tree.base, "aside")];
    mkdirSync(join(tree.base, "evil"));
    writeFileSync(join(tree.base, "evil", "chart.png"), SECRET);
    const within = join(tree.root, "prepared");
    symlinkSync(target, within);
    renameSync(within, link);
    const stop = new SharedArrayBuffer(8);
    const worker = new Worker(swapping, { eval: true, workerData: { place, link, aside, stop } });
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    const flag = new Int32Array(stop);
    const results: unknown[] = [];
    try {
      const rounds = process.env["PERCH_LONG"] ? 20_000 : 1_000;
      while (results.length < rounds || Atomics.load(flag, 1) < rounds) results.push(await load(reference));
    } finally {
      Atomics.store(flag, 0, 1);
      await ended;
    }

    expect(JSON.stringify(results)).not.toContain(SECRET);
    const kinds = new Set(results.map(String));
    expect(kinds).toContain(String([reference.split("/").at(-1), reference]));
    expect(kinds).toContain("media.outside_root");
  });
});
