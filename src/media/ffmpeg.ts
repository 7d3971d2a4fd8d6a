import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// The containers that sound and video come in. Playlists and scripts, which name other files, are not among them.
const FORMATS =
  "mov,mp4,matroska,webm,ogg,mp3,wav,w64,flac,aac,amr,amrnb,amrwb,caf,aiff,au,ac3,eac3,ape,wv,asf,avi,flv,mpeg,mpegts,mpegvideo";
const CAREFUL = [
  "-nostdin -hide_banner -nostats -threads 1 -filter_threads 1",
  `-protocol_whitelist file -format_whitelist ${FORMATS}`,
  "-max_pixels 16777216", // 4,096 a side
  "-max_alloc 134217728", // at once: a picture of that size takes 100 MB, and sound that says a wrong rate a gigabyte
].flatMap((options) => options.split(" "));

export type FfmpegRun = {
  readonly program: string;
  /** Read and nothing else. */
  readonly path: string;
  /** Options of the input, before it. */
  readonly input?: readonly string[];
  /** Options of what is made of it, without its place; nothing where only `told` is asked for. */
  readonly output: readonly string[];
  /** Of the processor, not of the clock: a busy machine changes nothing. Where it is used up, what came is kept. */
  readonly cpuSeconds: number;
  /** Each chunk of the output; the next is read when it resolves. False ends it. */
  readonly take: (chunk: Buffer) => Promise<boolean> | boolean;
  /** Each line that it says. */
  readonly told?: (line: string) => void;
};

/**
 * Runs ffmpeg on one file: without a shell, network, other files or our environment, on one thread. Gives whether it
 * ended as it should; what came before is taken either way.
 */
export async function ffmpeg(run: FfmpegRun): Promise<boolean> {
  const child = spawn(
    run.program,
    [
      ...CAREFUL,
      "-timelimit",
      String(run.cpuSeconds),
      ...(run.input ?? []),
      "-i",
      `file:${run.path}`,
      ...(run.output.length === 0 ? [] : [...run.output, "-threads", "1", "pipe:1"]),
    ],
    { stdio: ["ignore", "pipe", "pipe"], env: {} },
  );
  const ended = new Promise<boolean>((resolve) => {
    child.on("error", () => resolve(false));
    child.on("close", (code) => resolve(code === 0));
  });
  const lines = createInterface({ input: child.stderr });
  lines.on("line", (line) => run.told?.(line));
  try {
    for await (const chunk of child.stdout) {
      if (await run.take(chunk as Buffer)) continue; // no encoding is set
      child.kill("SIGKILL");
      break;
    }
    return await ended;
  } finally {
    child.kill("SIGKILL");
    lines.close();
  }
}

/** What a file says of itself. */
export type Probed = {
  readonly seconds?: number;
  /** Of the first moving picture, as it is coded: before it is turned. */
  readonly sides?: { readonly width: number; readonly height: number };
  readonly sound: boolean;
};

/** Reads what ffmpeg says of a file; it is decoded no further than that takes. */
export async function probe(program: string, path: string, cpuSeconds: number): Promise<Probed> {
  let seconds: number | undefined;
  let sides: Probed["sides"];
  let sound = false;
  // Without an output it ends with a complaint, after it has said all.
  await ffmpeg({
    program,
    path,
    output: [],
    cpuSeconds,
    take: () => true,
    told(line) {
      const length = /^\s*Duration: (\d+):(\d\d):(\d\d(?:\.\d+)?)/.exec(line);
      if (length) seconds ??= Number(length[1]) * 3_600 + Number(length[2]) * 60 + Number(length[3]);
      if (/^\s*Stream #.*: Audio: /.test(line)) sound = true;
      const picture = /^\s*Stream #.*: Video: .*?, (\d{1,6})x(\d{1,6})\b/.exec(line);
      if (picture && !line.includes("(attached pic)"))
        sides ??= { width: Number(picture[1]), height: Number(picture[2]) };
    },
  });
  return { ...(seconds === undefined ? {} : { seconds }), ...(sides ? { sides } : {}), sound };
}
