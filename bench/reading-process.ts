import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rootSchema } from "../src/config/schema.ts";
import type { Unfetched } from "../src/core/blocks.ts";
import { pause, systemClock } from "../src/core/clock.ts";
import { inChildren } from "../src/media/children.ts";
import { programsOn } from "../src/media/programs.ts";
import type { Reading } from "../src/media/reading.ts";
import { takeIn } from "../src/media/take-in.ts";
import { inThisProcess } from "../src/media/workshop.ts";
import { FileBlobs } from "../src/store/blobs.ts";
import { memoryLog } from "../test/support/channel-host.ts";
import { answer } from "./helper.ts";
import { holding } from "./holds.ts";

// A process that takes media in as the gateway does, with the settings as they come.

// What a child runs is built with the gateway; dist/bench/bench is where this file runs.
const WORKER = pathToFileURL(join(import.meta.dirname, "../../src/media/worker.js"));

let reading: Reading | undefined;

export type Opening = {
  readonly folder: string;
  /** Where jobs are done. */
  readonly workshop: "children" | "here";
  readonly ffmpeg: boolean;
};

const questions = {
  open: async ({ folder, workshop, ffmpeg }: Opening) => {
    const blobsFolder = join(folder, "blobs");
    const blobs = new FileBlobs(blobsFolder);
    const limits = rootSchema.shape.media.parse(undefined);
    const log = memoryLog([]);
    const path = process.env["PATH"];
    const programs = await programsOn(process.env);
    const { workSeconds } = limits;
    reading = {
      open: async (ref) => createReadStream(ref),
      blobs,
      workshop:
        workshop === "children"
          ? inChildren({ entry: WORKER, blobsFolder, workSeconds, path, clock: systemClock, log })
          : inThisProcess(blobs),
      limits,
      clock: systemClock,
      senses: { images: true, pdf: true, audio: false },
      // Decoding is measured; who writes down what was decoded takes no time.
      transcriber: { use: "command", command: ["echo", "heard"] },
      programs: ffmpeg ? programs : { ...programs, ffmpeg: undefined },
      log,
      listening: (work) => work(),
    };
    return { ffmpeg: programs.ffmpeg !== undefined };
  },

  /** Takes a file in: how long it took, and the longest hold of the event loop meanwhile. */
  read: async (unfetched: Unfetched) => {
    const by = reading;
    if (!by) throw new Error("it is not open");
    const { gives, ms, hold } = await holding(() => takeIn(unfetched, by, new AbortController().signal));
    if (gives.notice) throw new Error(`${unfetched.ref} was no use: ${gives.notice.key}`);
    return { ms, hold };
  },

  /** The longest hold while nothing is done. */
  idle: async ({ ms }: { readonly ms: number }) => (await holding(() => pause(systemClock, ms))).hold,

  close: async () => {
    reading?.workshop.close();
    return null;
  },
};

export type ReadingQuestions = typeof questions;

answer(questions);
