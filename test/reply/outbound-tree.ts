import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export const SECRET = "TOP-SECRET-4271";

const FILES = [
  "chart.png",
  "second.png",
  "third.png",
  "photo.jpg",
  "report.pdf",
  "with space.png",
  "paren(1).png",
  "chart_v2.png",
  "100%.png",
  "100%25.png",
  "a&b.png",
  "café.png",
  "sub/inner.png",
  "star*one*.png",
  "hash#1.png",
];

/**
 * A folder `root` that media may be sent from, with what may lie in it, beside folders and files that must never
 * leave the machine; those hold SECRET. Each file within holds its own name.
 */
export function outboundTree() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "perch-outbound-")));
  const root = join(base, "root");
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), content);
  };
  for (const file of FILES) write(`root/${file}`, file);
  for (const path of ["secret.txt", "secret.png", "root-evil/secret.png", "outside_dir/inner.png"]) {
    write(path, SECRET);
  }
  mkdirSync(join(root, "dir.png"));
  symlinkSync("chart.png", join(root, "link_inside.png"));
  symlinkSync("../secret.png", join(root, "link_out.png"));
  symlinkSync("../outside_dir", join(root, "dir_out"));
  symlinkSync("loop.png", join(root, "loop.png"));
  symlinkSync("/dev/zero", join(root, "zero.png"));
  symlinkSync("root", join(base, "rootlink"));
  linkSync(join(base, "secret.png"), join(root, "hard.png"));
  execFileSync("mkfifo", [join(root, "pipe.png")]);
  const server = createServer().listen(join(root, "sock.png"));
  server.unref();
  return {
    base,
    root,
    close(): void {
      server.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
