import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Transcriber } from "../../src/core/agent.ts";
import type { Recording } from "../../src/media/recording.ts";
import { transcribe } from "../../src/media/transcribe.ts";
import { BYTES_A_SECOND, WAV_HEADER_BYTES, wavHeader } from "../../src/media/pcm.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { startTranscriber, TRANSCRIBER_KEY, type TranscriberServer } from "../support/transcriber.ts";

let server: TranscriberServer;
let folder: string;

beforeAll(async () => {
  server = await startTranscriber();
});
afterAll(() => server.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-transcribe-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A WAV of silence that takes no room on the disk. */
async function recordingOf(seconds: number): Promise<Recording> {
  const path = join(folder, "sound.wav");
  const data = Math.round(seconds * BYTES_A_SECOND);
  const file = await open(path, "w");
  await file.write(wavHeader(data));
  await file.truncate(WAV_HEADER_BYTES + data);
  await file.close();
  return { wav: { path, bytes: WAV_HEADER_BYTES + data }, seconds };
}

function setUp(transcriber: Transcriber = server.transcriber, environment: Record<string, string> = {}) {
  const logged: LoggedLine[] = [];
  const clock: ManualClock = manualClock();
  const uploaded = server.uploads.length;
  const ending = new AbortController();
  const programs = { environment, ffmpeg: undefined };
  const ask = (recording: Recording): Promise<string | undefined> =>
    transcribe(recording, transcriber, { clock, log: memoryLog(logged), programs }, ending.signal);
  return { ask, clock, logged, ending, uploads: () => server.uploads.slice(uploaded) };
}

describe("an OpenAI-compatible server", () => {
  it("is sent the model, the language, JSON as the form of the answer, and the key in the header alone", async () => {
    const { ask, uploads } = setUp({ ...server.transcriber, model: "large-v3", language: "de" });
    server.reply("Guten Tag");
    expect(await ask(await recordingOf(1))).toBe("Guten Tag");
    const [upload] = uploads();
    expect(upload?.fields).toEqual({ model: "large-v3", response_format: "json", language: "de" });
    expect(upload?.headers["authorization"]).toBe(`Bearer ${TRANSCRIBER_KEY}`);
    expect(upload?.file).toMatchObject({ name: "sound.wav", mimeType: "audio/wav", bytes: 32_044 });
  });

  it("is sent no key where there is none, and found behind a slash", async () => {
    const { apiKey: _none, ...keyless } = server.transcriber;
    const { ask, uploads } = setUp({ ...keyless, baseUrl: `${keyless.baseUrl}/` });
    server.reply("yes");
    expect(await ask(await recordingOf(1))).toBe("yes");
    expect(uploads()[0]?.headers["authorization"]).toBeUndefined();
  });

  it.each([
    ["answers 429", { status: 429 }, 1_000],
    ["answers 500", { status: 500 }, 1_000],
    ["answers 503 and says when", { status: 503, retryAfter: "7" }, 7_000],
    [
      "answers 429 and says when by a date",
      { status: 429, retryAfter: "Tue, 14 Nov 2023 22:13:29 GMT" },
      9_000,
    ],
    ["resets the connection", { fault: "reset" }, 1_000],
    ["answers something else than JSON", { body: "<html>" }, 1_000],
    ["answers JSON without a text", { body: '{"text":7}' }, 1_000],
  ] as const)("that %s is asked once more after a wait", async (_what, reply, afterMs) => {
    const { ask, clock, uploads } = setUp();
    server.reply(reply, "the second time");
    const asking = ask(await recordingOf(1));
    await clock.whenTimer(afterMs);
    expect(uploads()).toHaveLength(1);
    await clock.advance(afterMs);
    expect(await asking).toBe("the second time");
    expect(uploads()).toHaveLength(2);
  });

  it("that fails twice is not asked a third time", async () => {
    const { ask, clock, uploads, logged } = setUp();
    server.reply({ status: 500 }, { status: 502 }, "the third time");
    const asking = ask(await recordingOf(1));
    await clock.whenTimer(1_000);
    await clock.advance(1_000);
    expect(await asking).toBeUndefined();
    expect(uploads()).toHaveLength(2);
    expect(logged.map(({ fields }) => fields)).toEqual([
      { failed: "the server answered 500", attempt: 1 },
      { failed: "the server answered 502", attempt: 2 },
    ]);
    server.reply(); // the third answer is still there
    expect(await ask(await recordingOf(1))).toBe("the third time");
  });

  it.each([400, 401, 404, 413, 302])("that answers %i is not asked again", async (status) => {
    const { ask, uploads, logged } = setUp();
    server.reply({ status });
    expect(await ask(await recordingOf(1))).toBeUndefined();
    expect(uploads()).toHaveLength(1);
    expect(JSON.stringify(logged)).not.toContain(TRANSCRIBER_KEY);
  });

  it("that asks for a longer wait than anybody has is not waited for", async () => {
    const { ask, uploads } = setUp();
    server.reply({ status: 429, retryAfter: "3600" });
    expect(await ask(await recordingOf(1))).toBeUndefined();
    expect(uploads()).toHaveLength(1);
  });

  it("is given a minute and twice the length of the sound, and no second try after that", async () => {
    const { ask, clock, uploads, logged } = setUp();
    server.reply({ fault: "silence" });
    const asking = ask(await recordingOf(5));
    await server.whenUploads(server.uploads.length + 1);
    await clock.advance(69_000);
    expect(logged).toEqual([]);
    await clock.advance(1_000);
    expect(await asking).toBeUndefined();
    expect(uploads()).toHaveLength(1);
    expect(logged[0]?.fields["failed"]).toBe("no answer within 70 s");
  });

  it("that nobody runs is a failure without an address in the log", async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => void closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as AddressInfo; // listening on TCP
    await new Promise((resolve) => closed.close(resolve));
    const { ask, clock, logged } = setUp({
      ...server.transcriber,
      baseUrl: `http://user:word@127.0.0.1:${port}/v1`,
    });
    const asking = ask(await recordingOf(1));
    await clock.whenTimer(1_000);
    await clock.advance(1_000);
    expect(await asking).toBeUndefined();
    expect(logged[1]?.fields["failed"]).toBe("no answer (ECONNREFUSED)");
    expect(JSON.stringify(logged)).not.toContain("word");
  });

  it("is let go of when the gateway stops", async () => {
    const { ask, ending } = setUp();
    server.reply({ fault: "silence" });
    const asking = ask(await recordingOf(1));
    await server.whenUploads(server.uploads.length + 1);
    ending.abort(new Error("stopping"));
    await expect(asking).rejects.toThrow("stopping");
  });

  it("is sent a long sound in pieces that it takes, and what they say is joined in their order", async () => {
    const { ask, uploads } = setUp();
    server.reply("one", " two ", "", "three");
    const recording = await recordingOf(1_900);
    const original = { path: "/nowhere", mimeType: "audio/ogg", bytes: 900_000 };
    expect(await ask({ ...recording, original })).toBe("one\ntwo\nthree");
    const pieces = uploads().map(({ file }) => file);
    expect(pieces.map(({ bytes }) => bytes)).toEqual(
      [600, 600, 600, 100].map((seconds) => 44 + seconds * 32_000),
    );
    expect(pieces.map(({ head }) => head.readUInt32LE(40) / 32_000)).toEqual([600, 600, 600, 100]);
  });

  it("is not asked for the rest when a piece fails", async () => {
    const { ask, uploads } = setUp();
    server.reply("one", { status: 400 });
    expect(await ask(await recordingOf(1_900))).toBeUndefined();
    expect(uploads()).toHaveLength(2);
  });
});

describe("a command", () => {
  const node = (script: string, ...args: readonly string[]): Transcriber => ({
    use: "command",
    command: [process.execPath, "-e", script, ...args],
  });

  it("is handed the WAV's path in place of {file}, without a shell, and only what it needs of the environment", async () => {
    const script = `
      const { readFileSync } = require("node:fs");
      const [path, text] = process.argv.slice(1);
      console.log(readFileSync(path).length, text, Object.keys(process.env).sort().join());`;
    const { ask } = setUp(node(script, "{file}", "$(touch x); {file"), { PATH: "/bin", LANG: "C.UTF-8" });
    expect(await ask(await recordingOf(1))).toBe("32044 $(touch x); {file LANG,PATH\n");
  });

  it("that fails is run once more", async () => {
    const flag = join(folder, "flag");
    const script = `
      const { existsSync, writeFileSync } = require("node:fs");
      if (existsSync(process.argv[1])) console.log("second"); else { writeFileSync(process.argv[1], ""); process.exit(3); }`;
    const { ask, clock, logged } = setUp(node(script, flag));
    const asking = ask(await recordingOf(1));
    await clock.whenTimer(1_000);
    await clock.advance(1_000);
    expect(await asking).toBe("second\n");
    expect(logged[0]?.fields["failed"]).toBe("the program ended with 3");
  });

  it.each([
    ["is not there", ["/no/such/program"], "ENOENT"],
    ["is given more than a program can be", [process.execPath, "x".repeat(4_000_000)], "E2BIG"],
    ["is given what no program can be", [process.execPath, "a\0b"], "fault"],
  ] as const)("that %s is named by its fault alone", async (_what, [program, ...args], fault) => {
    const { ask, logged } = setUp({ use: "command", command: [program, ...args] });
    expect(await ask(await recordingOf(1))).toBeUndefined();
    expect(logged[0]?.fields["failed"]).toBe(`the program does not start (${fault})`);
  });

  it("that writes without end is ended", async () => {
    const { ask, logged } = setUp(node(`setInterval(() => process.stdout.write("x".repeat(500000)), 0)`));
    expect(await ask(await recordingOf(1))).toBeUndefined();
    expect(logged[0]?.fields["failed"]).toBe("the program wrote more than 4 MB");
  });

  it("that hangs is ended with all that it has started", async () => {
    const pids = join(folder, "pids");
    await writeFile(pids, "");
    const script = `
      const { spawn } = require("node:child_process");
      const { appendFileSync } = require("node:fs");
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
      appendFileSync(process.argv[1], process.pid + " " + child.pid);
      setInterval(() => {}, 1000);`;
    const { ask, clock, logged } = setUp(node(script, pids));
    const asking = ask(await recordingOf(1));
    await clock.whenTimer(62_000);
    const running = await until(async () =>
      (await readFile(pids, "utf8")).split(" ").filter((pid) => pid !== ""),
    );
    await clock.advance(62_000);
    expect(await asking).toBeUndefined();
    expect(logged[0]?.fields["failed"]).toBe("no answer within 62 s");
    for (const pid of running) await gone(Number(pid));
  });
});

/** Looks until there are two. */
async function until(look: () => Promise<readonly string[]>): Promise<readonly string[]> {
  for (;;) {
    const found = await look();
    if (found.length === 2) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Resolves when a process has ended: it is gone, or waits only for its parent to notice. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "gone");
    if (status === "gone" || / Z /.test(status)) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
