import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { findSandbox, runIn, type Ran, sandboxOf } from "../../../src/agent/shell/sandbox.ts";
import { manualClock } from "../../support/clock.ts";
import { NO_SANDBOX, SANDBOX } from "../../support/sandbox.ts";

let root: string;
let folder: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "perch-shell-"));
  folder = join(root, "chats", "7");
});
afterAll(() => rm(root, { recursive: true, force: true }));

const run = async (command: string, inside = SANDBOX): Promise<Ran> =>
  await runIn(inside, folder, command, { clock: systemClock, signal: undefined });

describe.skipIf(NO_SANDBOX)("a command in a sandbox", () => {
  it("works in the folder of its chat, by both names of it", async () => {
    await mkdir(join(folder, "uploads"), { recursive: true });
    await writeFile(join(folder, "uploads", "note.txt"), "hello\n");
    const { output, exit } = await run(
      "cat /uploads/note.txt; pwd; tr a-z A-Z < /chat/uploads/note.txt > loud.txt",
    );
    expect({ output, exit }).toEqual({ output: "hello\n/chat/workspace\n", exit: 0 });
    expect(await readFile(join(folder, "workspace", "loud.txt"), "utf8")).toBe("HELLO\n");
    expect(await run("echo 'a;b' > /outputs/table.csv; exit 3")).toEqual({ output: "", exit: 3 });
    expect(await readFile(join(folder, "outputs", "table.csv"), "utf8")).toBe("a;b\n");
  });

  it.each([
    ["touch /chat/uploads/x"],
    ["rm /uploads/note.txt"],
    ["touch /usr/bin/x"],
    ["touch /x"],
    ["mkdir /chat/other"],
    ["touch /dev/x"],
    ["touch /chat/workspace/results/x"],
    ["mv /chat/workspace/results /chat/workspace/other"],
    ["mv /chat/workspace /chat/other"],
    ["rmdir /chat/workspace/results"],
  ])("cannot change anything but its own: %s", async (command) => {
    expect((await run(command)).exit).not.toBe(0);
  });

  it.each([
    ["the people of the machine", "cat /etc/passwd"],
    ["the settings of the machine", "ls /etc/ssh /etc/ssl"],
    ["homes", "ls /root /home"],
    ["other chats", "ls /chat/../8 /var /srv"],
    ["what is in the data folder", "cat /chat/../../perch.db"],
    ["processes of the machine", `ls /proc/${process.pid}/cwd`],
    ["the environment of who started it", "cat /proc/1/environ | grep -a PERCH_SECRET"],
    ["the file system of the first process", "ls /proc/1/root/home"],
  ])("does not see %s", async (_what, command) => {
    await mkdir(join(root, "chats", "8"), { recursive: true });
    process.env["PERCH_SECRET"] = "PERCH_SECRET_VALUE";
    try {
      const { exit, output } = await run(command);
      expect(exit).not.toBe(0);
      expect(output).not.toContain("PERCH_SECRET_VALUE");
    } finally {
      delete process.env["PERCH_SECRET"];
    }
  });

  it("has a path, a home and a language, and nothing else of an environment", async () => {
    const { output } = await run("env | cut -d= -f1 | grep -v -e PWD -e _ -e OLDPWD -e SHLVL | sort");
    expect(output.trim().split("\n")).toEqual(["HOME", "LANG", "PATH"]);
  });

  it("reaches no server, not even of this machine", async () => {
    let asked = 0;
    const server: Server = createServer((_request, response) => {
      asked += 1;
      response.end();
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo; // listening on TCP
    const reach = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port} && printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3 && cat <&3'`;
    expect((await run(reach)).exit).not.toBe(0);
    // The same outside: it is the sandbox that keeps it from there.
    const outside = spawn("bash", ["-c", reach]);
    await new Promise((resolve) => outside.on("close", resolve));
    server.close();
    expect(asked).toBe(1);
  });

  it("follows links to nothing of the machine, and leaves none that do outside", async () => {
    const secret = join(root, "secret.txt");
    await writeFile(secret, "the secret");
    await symlink(secret, join(folder, "workspace", "planted"));
    const { exit, output } = await run("cat planted; cat /chat/workspace/planted");
    expect(exit).not.toBe(0);
    expect(output).not.toContain("the secret");
    // Written through a link of its own: what it leads to is in the sandbox, and gone with it.
    await run(`ln -s ${secret} mine; echo gone > mine; ln -s /tmp/x there; echo x > there`);
    expect(await readFile(secret, "utf8")).toBe("the secret");
    await rm(join(folder, "workspace", "planted"));
  });

  it("is not run where a folder of its chat is a link", async () => {
    const other = join(root, "chats", "9");
    await mkdir(other, { recursive: true });
    await symlink(root, join(other, "workspace"));
    await expect(
      runIn(SANDBOX, other, "ls", { clock: systemClock, signal: undefined }),
    ).rejects.toMatchObject({
      code: "data.unusable",
    });
    expect(await readdir(dirname(other))).toContain("9");
  });

  it("cannot end a process of the machine", async () => {
    const other = spawn("sleep", ["1000"]);
    const { output } = await run(`kill -9 ${other.pid}; kill -9 ${process.pid}; kill -9 -1; echo unreached`);
    expect(output).not.toContain("permitted");
    expect(other.exitCode).toBeNull();
    other.kill();
  });

  it("becomes nobody by programs that would give it rights, nor by a namespace of its own", async () => {
    expect((await run("unshare -U -r true")).exit).not.toBe(0);
    expect((await run("mount -t tmpfs x /tmp")).exit).not.toBe(0);
    expect((await run("grep -q 'CapEff:.*0000000000000000' /proc/self/status")).exit).toBe(0);
    expect((await run("grep -q 'NoNewPrivs:.*1' /proc/self/status")).exit).toBe(0);
  });

  it("ends with everything that it has started", async () => {
    const { output, exit } = await run(
      "setsid sleep 1004 & sleep 1005 & readlink /proc/$!/exe > /dev/null; echo left",
    );
    expect({ output, exit }).toEqual({ output: "left\n", exit: 0 });
    expect(await processesOf("1004")).toEqual([]);
    expect(await processesOf("1005")).toEqual([]);
  });

  it("is ended after a minute, with everything in it", async () => {
    const clock = manualClock();
    const running = runIn(SANDBOX, folder, "echo begun; (trap '' TERM; sleep 1001) & sleep 1002", {
      clock,
      signal: undefined,
    });
    await clock.whenTimer(60_000);
    await begun("1001");
    await clock.advance(60_000);
    expect(await running).toEqual({ output: "begun\n", exit: undefined });
    expect(await processesOf("1001")).toEqual([]);
  });

  it("is ended with its turn", async () => {
    const turn = new AbortController();
    const running = runIn(SANDBOX, folder, "sleep 1003", { clock: systemClock, signal: turn.signal });
    await begun("1003");
    turn.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
    expect(await processesOf("1003")).toEqual([]);
  });

  it("is kept in bounds: what it prints, writes and takes of memory and processes", async () => {
    const { output } = await run("yes perch | head -c 5000000; echo; echo the end");
    expect(output.length).toBeLessThan(101_000);
    expect(output.slice(0, 6)).toBe("perch\n");
    expect(output.slice(-8)).toBe("the end\n");
    expect((await run("head -c 400000000 /dev/zero > big")).exit).not.toBe(0);
    expect((await run("head -c 100000000 /dev/zero > /tmp/big")).exit).not.toBe(0);
    expect((await run("head -c 100000000 /dev/zero > /dev/shm/big")).exit).not.toBe(0);
    expect((await run("dd if=/dev/zero of=/dev/null bs=3G count=1")).exit).not.toBe(0);
    // The kernel heeds it for everybody but root.
    expect((await run("grep 'Max processes' /proc/self/limits")).output).toMatch(/Max processes +256 +256/);
    await run("rm -f big");
  });

  it("keeps its limits where there is no prlimit", async () => {
    const plain = { ...SANDBOX, prlimit: undefined };
    expect((await run("echo well", plain)).output).toBe("well\n");
    expect((await run("dd if=/dev/zero of=/dev/null bs=3G count=1", plain)).exit).not.toBe(0);
  });
});

describe("a machine", () => {
  it("without bubblewrap has no sandbox", async () => {
    expect(await findSandbox(join(root, "nothing-here"), systemClock)).toBeUndefined();
    expect(await findSandbox("", systemClock)).toBeUndefined();
  });

  it("that forbids namespaces has none either", async () => {
    const bin = join(root, "bin");
    await mkdir(bin);
    await writeFile(
      join(bin, "bwrap"),
      "#!/bin/sh\necho 'No permissions to create new namespace' >&2; exit 1\n",
      { mode: 0o755 },
    );
    expect(await findSandbox(bin, systemClock)).toBeUndefined();
  });

  it("has one for each chat", () => {
    expect(sandboxOf("/data/chats/7")).not.toEqual(sandboxOf("/data/chats/8"));
  });
});

/** Of this machine, by what stands in their command line. */
async function processesOf(word: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(join("/proc", pid, "cmdline"), "utf8").catch(() => "");
    if (line.split("\0").includes(word)) found.push(line);
  }
  return found;
}

async function begun(word: string): Promise<void> {
  while ((await processesOf(word)).length === 0) await new Promise((resolve) => setImmediate(resolve));
}
