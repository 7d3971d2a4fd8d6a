import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import type { InboundEvent } from "../../../src/core/events.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "./loopback.ts";
import type { Person } from "./person.ts";
import { Seen } from "./seen.ts";

const here = (name: string): string => join(import.meta.dirname, name);

/**
 * Where the process ends: a message was journalled; read, and its ratchet not yet turned; the ratchet has turned, and no
 * receipt is out; the receipt is out, and nobody has heard of the message; what it says is kept; it is about to be
 * committed; is committed; and is about to be taken out of the journal.
 */
export const KILL_POINTS = [
  "journalled",
  "read",
  "turned",
  "told",
  "kept",
  "accepting",
  "accepted",
  "forgetting",
] as const;
export type KillPoint = (typeof KILL_POINTS)[number];

type Line = {
  readonly accepted?: InboundEvent;
  readonly stands?: string;
  readonly step?: { readonly kind: string; readonly text?: string; readonly why?: string };
};

/** One process, of which every line is heard. */
type Running = {
  readonly child: ChildProcess;
  readonly lines: Seen<Line>;
  readonly ended: Promise<void>;
};

/** An account whose process is killed and started again, on the same files. */
export class ReceiverRun {
  readonly wa: LoopbackWhatsApp;
  readonly device: LinkedDevice;
  readonly owner: Person;
  readonly #folder: string;
  readonly #runs: Running[];

  private constructor(parts: Pick<ReceiverRun, "wa" | "device" | "owner">, folder: string, running: Running) {
    ({ wa: this.wa, device: this.device, owner: this.owner } = parts);
    this.#folder = folder;
    this.#runs = [running];
  }

  /** Everything that was ever committed, each event once. */
  get accepted(): readonly InboundEvent[] {
    const events = this.#runs.flatMap(({ lines }) => lines.items.flatMap(({ accepted }) => accepted ?? []));
    return [...new Map(events.map((event) => [JSON.stringify(event), event])).values()];
  }

  get #running(): Running {
    return this.#runs.at(-1) as Running; // begins with one
  }

  static async start(): Promise<ReceiverRun> {
    const wa = await startWhatsApp();
    const owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
    const folder = await mkdtemp(join(tmpdir(), "perch-receiver-"));
    await writeFile(join(folder, "ca.pem"), wa.ca);
    const running = spawnReceiver(wa, folder);
    await running.lines.when(({ stands }) => stands === "unpaired");
    running.child.send("pair");
    const qr = await running.lines.when(({ step }) => step?.kind === "qr");
    const device = await wa.scan(owner, qr.step?.text ?? "");
    await running.lines.when(({ stands }) => stands === "open");
    return new ReceiverRun({ wa, device, owner }, folder, running);
  }

  /** Ends the process and starts one that is killed at `point`, at the `after`-th time; without, one that goes on. */
  async restart(kill?: { readonly point: KillPoint; readonly after: number }): Promise<void> {
    this.#running.child.kill("SIGKILL");
    await this.#running.ended;
    this.#runs.push(spawnReceiver(this.wa, this.#folder, kill));
    // A kill may come while it still connects.
    await Promise.race([this.#running.lines.when(({ stands }) => stands === "open"), this.#running.ended]);
  }

  /** Resolves when the process is gone. */
  whenKilled(): Promise<void> {
    return this.#running.ended;
  }

  /** Resolves when this many messages of others were committed, by their text. */
  async whenHeard(texts: readonly string[]): Promise<void> {
    await Promise.all(
      texts.map((text) =>
        this.#running.lines.when(({ accepted }) => accepted !== undefined && textOf(accepted) === text),
      ),
    );
  }

  async close(): Promise<void> {
    this.#running.child.kill("SIGTERM");
    await this.#running.ended;
    await this.wa.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export function textOf(event: InboundEvent): string {
  const [first] = "content" in event ? event.content : [];
  return first?.type === "text" ? first.text : "";
}

function spawnReceiver(
  wa: LoopbackWhatsApp,
  folder: string,
  kill?: { readonly point: KillPoint; readonly after: number },
): Running {
  const child = spawn(
    process.execPath,
    ["--import", pathToFileURL(here("trust-preload.mjs")).href, here("receiver-process.mjs")],
    {
      env: {
        PATH: process.env["PATH"] ?? "",
        PERCH_FOLDER: folder,
        WA_URL: wa.url,
        WA_CA: join(folder, "ca.pem"),
        WA_TEST_ROOT: wa.rootKeyHex,
        ...(kill ? { PERCH_KILL_AT: kill.point, PERCH_KILL_AFTER: String(kill.after) } : {}),
      },
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    },
  );
  const lines = new Seen<Line>();
  if (!child.stdout) throw new Error("the process has no output");
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.add(JSON.parse(line) as Line)); // as the process prints it
  const ended = new Promise<void>((resolve) => reader.on("close", resolve));
  return { child, lines, ended };
}
