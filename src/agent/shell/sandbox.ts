import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, lstat, mkdir } from "node:fs/promises";
import { basename, delimiter, join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { Output } from "./output.ts";

/** What commands are run in; found once. */
export type Sandbox = {
  readonly bwrap: string;
  /** Absent where it is not there: then the shell sets what limits it knows. */
  readonly prlimit: string | undefined;
};

export type Ran = {
  readonly output: string;
  /** Undefined where it was ended for its time. */
  readonly exit: number | undefined;
};

const SECONDS = 60;
const MEMORY_BYTES = 1_073_741_824;
const FILE_BYTES = 268_435_456;
const PROCESSES = 256;
const SCRATCH_BYTES = 67_108_864;

/** Names the sandbox of a chat: two of them are never one. */
export function sandboxOf(folder: string): { readonly id: string } {
  return { id: `bwrap:${basename(folder)}` };
}

/** Looks for bubblewrap on a PATH and tries it; undefined where there is none, or where this machine forbids it. */
export async function findSandbox(path: string, clock: Clock): Promise<Sandbox | undefined> {
  const bwrap = await find("bwrap", path);
  if (bwrap === undefined) return undefined;
  const prlimit = await find("prlimit", path);
  const sandbox = {
    bwrap,
    prlimit: prlimit?.startsWith("/usr/") || prlimit?.startsWith("/bin/") ? prlimit : undefined,
  };
  const tried = await finished(spawned(sandbox, [...HOUSE, ...limited(sandbox, "exit 42")]), clock);
  return tried.exit === 42 ? sandbox : undefined;
}

/**
 * Runs a command of the agent's with the folder of its chat and nothing else of the machine: no network, no environment,
 * no other process, nothing to write to but its own. All that it started is ended when it ends, after 60 s at the latest.
 * @throws the reason of `signal`.
 */
export async function runIn(
  sandbox: Sandbox,
  folder: string,
  command: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal | undefined },
): Promise<Ran> {
  signal?.throwIfAborted();
  return await finished(
    spawned(sandbox, [...HOUSE, ...(await chatAt(folder)), ...limited(sandbox, command)]),
    clock,
    signal,
  );
}

/** The machine as a command sees it: its programs, and empty places. */
const HOUSE: readonly string[] = [
  "--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try --disable-userns",
  "--uid 1000 --gid 1000 --hostname chat --die-with-parent --new-session --cap-drop ALL",
  "--ro-bind /usr /usr",
  ...["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/alternatives", "/etc/ld.so.cache"].map(
    (path) => `--ro-bind-try ${path} ${path}`,
  ),
  "--proc /proc --dev /dev",
  `--size ${SCRATCH_BYTES} --tmpfs /dev/shm --size ${SCRATCH_BYTES} --tmpfs /tmp`,
  "--clearenv --setenv PATH /usr/local/bin:/usr/bin:/bin --setenv HOME /tmp --setenv LANG C.UTF-8",
].flatMap((options) => options.split(" "));

/** @throws GatewayError "data.unusable" where a folder of the chat is a link: it could lead to anywhere. */
async function chatAt(folder: string): Promise<readonly string[]> {
  const results = join("workspace", "results");
  for (const name of ["uploads", "workspace", "outputs", results]) {
    const path = join(folder, name);
    await mkdir(path, { recursive: true, mode: 0o700 });
    if (!(await lstat(path)).isDirectory())
      throw new GatewayError(
        "data.unusable",
        `${name} of a chat is a link; commands are run in folders only`,
      );
  }
  return [
    ["--ro-bind", join(folder, "uploads"), "/chat/uploads"],
    ["--bind", join(folder, "workspace"), "/chat/workspace"],
    // Long results are written there from outside: what it is must not change meanwhile.
    ["--ro-bind", join(folder, results), "/chat/workspace/results"],
    ["--bind", join(folder, "outputs"), "/chat/outputs"],
    ["--ro-bind-try", join(folder, "history"), "/chat/history"],
    // As its file tools name them.
    ...["uploads", "workspace", "outputs", "history"].map((name) => [
      "--symlink",
      `chat/${name}`,
      `/${name}`,
    ]),
    ["--chdir", "/chat/workspace"],
  ].flat();
}

function limited({ prlimit }: Sandbox, command: string): readonly string[] {
  const closed = ["--remount-ro", "/dev", "--remount-ro", "/", "--"];
  if (prlimit === undefined) {
    const kilobytes = MEMORY_BYTES / 1_024;
    const limits = `ulimit -d ${kilobytes}; ulimit -f ${FILE_BYTES / 512}; ulimit -c 0; exec sh -c "$1"`;
    return [...closed, "sh", "-c", limits, "sh", command];
  }
  const limits = [`--data=${MEMORY_BYTES}`, `--fsize=${FILE_BYTES}`, `--nproc=${PROCESSES}`, "--core=0"];
  return [...closed, prlimit, ...limits, "--", "sh", "-c", command];
}

function spawned({ bwrap }: Sandbox, args: readonly string[]): ChildProcess {
  return spawn(bwrap, args, { env: {}, stdio: ["ignore", "pipe", "pipe"], detached: true });
}

/** Ends the process, and with it everything in its namespace, for its time or for the signal. */
async function finished(child: ChildProcess, clock: Clock, signal?: AbortSignal): Promise<Ran> {
  const output = new Output();
  child.stdout?.on("data", (chunk: Uint8Array) => output.add(chunk));
  child.stderr?.on("data", (chunk: Uint8Array) => output.add(chunk));
  let late = false;
  const end = (): void => {
    // The whole group; whatever has left it is in the namespace, which dies with its first process.
    if (child.pid !== undefined) tryKill(-child.pid);
    child.kill("SIGKILL");
  };
  const timer = clock.after(SECONDS * 1_000, () => {
    late = true;
    end();
  });
  signal?.addEventListener("abort", end, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    signal?.throwIfAborted();
    return { output: output.text(), exit: late ? undefined : (code ?? 137) };
  } finally {
    timer.cancel();
    signal?.removeEventListener("abort", end);
  }
}

function tryKill(group: number): void {
  try {
    process.kill(group, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

async function find(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter((entry) => entry.startsWith("/"))) {
    const candidate = join(folder, name);
    const there = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (there) return candidate;
  }
  return undefined;
}
