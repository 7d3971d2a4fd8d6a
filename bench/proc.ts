import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { systemClock, type Timer } from "../src/core/clock.ts";

/** /proc counts CPU in hundredths of a second on every Linux that Node runs on (USER_HZ). */
const TICK_MS = 10;

/** MB of a process that are in memory. */
export function residentMb(pid: number): number {
  return megabytes(pid, "VmRSS");
}

/** Milliseconds of CPU since a process was started, its own and the system's for it. */
export function cpuMs(pid: number): number {
  const [user = 0, system = 0] = ticks(pid);
  return (user + system) * TICK_MS;
}

const LOOK_MS = 5;

/** Looks at a process and all that it starts, from another one: what that costs is not counted as theirs. */
export class Family {
  readonly #parent: number;
  readonly #before: { readonly cpuMs: number; readonly peakMb: number };
  /** Whether a process that has been seen belongs to it. */
  readonly #known = new Map<number, boolean>();
  #next: Timer | undefined;
  #childrenMb = 0;

  constructor(parent: number) {
    this.#parent = parent;
    resetPeak(parent);
    // Those that are there are not looked at one by one again; the parent's children are.
    for (const pid of this.#children()) resetPeak(pid);
    this.#before = { cpuMs: this.#cpuMs(), peakMb: megabytes(parent, "VmHWM") };
    this.#look();
  }

  /** What it took since it is looked at; nothing is looked at any more. */
  end(): { readonly cpuMs: number; readonly grownMb: number; readonly childrenMb: number } {
    this.#next?.cancel();
    this.#look();
    this.#next?.cancel();
    return {
      cpuMs: this.#cpuMs() - this.#before.cpuMs,
      grownMb: Math.max(0, megabytes(this.#parent, "VmHWM") - this.#before.peakMb),
      childrenMb: this.#childrenMb,
    };
  }

  #look(): void {
    // The peaks of those that live at the same time.
    const now = this.#children().reduce((sum, pid) => sum + (read(() => megabytes(pid, "VmHWM")) ?? 0), 0);
    this.#childrenMb = Math.max(this.#childrenMb, now);
    this.#next = systemClock.after(LOOK_MS, () => this.#look());
  }

  /** Of all that live and of those that were waited for. */
  #cpuMs(): number {
    const all = [this.#parent, ...this.#children()].flatMap((pid) => read(() => ticks(pid)) ?? []);
    return all.reduce((sum, count) => sum + count, 0) * TICK_MS;
  }

  #children(): readonly number[] {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 0 && this.#belongs(pid));
  }

  #belongs(pid: number): boolean {
    const known = this.#known.get(pid);
    if (known !== undefined) return known;
    const parent = read(() => Number(fields(pid)[1])) ?? 0;
    const belongs = parent === this.#parent || (parent > 1 && this.#belongs(parent));
    this.#known.set(pid, belongs);
    return belongs;
  }
}

function resetPeak(pid: number): void {
  // proc_pid_clear_refs(5): 5 sets the peak to what is in memory now.
  read(() => writeFileSync(`/proc/${pid}/clear_refs`, "5"));
}

function megabytes(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) / 1024;
}

/** Its own and the system's for it, and both of the children that it has waited for. */
function ticks(pid: number): readonly number[] {
  return fields(pid).slice(11, 15).map(Number);
}

/** What stands behind the program's name, which is in brackets and may hold blanks: the state, the parent, … */
function fields(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
}

/** Undefined where a process has just ended. */
function read<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
