import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type OperatorFolder, spawnPerch } from "./perch-process.ts";
import type { TelegramEmulator } from "./telegram/emulator.ts";

const PRELOAD = pathToFileURL(join(import.meta.dirname, "crash-preload.mjs")).href;

/** A statement that is about to be run, or that was committed; nothing of both where the test itself ends the process. */
export type Statement = { readonly before?: string; readonly after?: string };

/** A Perch that ends itself with SIGKILL at a statement, as long as it is armed. */
export type ArmedPerch = {
  arm(): void;
  disarm(): void;
  start(): ReturnType<typeof spawnPerch>;
  /** Resolves when something holds that is looked at after each call of the Bot API. */
  seen(holds: () => boolean): Promise<void>;
  /** Where commands of an agent write `workspace/log`, in whichever chat; undefined before they do. */
  log(): string | undefined;
};

export function armedPerch(
  folder: OperatorFolder,
  telegram: TelegramEmulator,
  { before, after }: Statement,
): ArmedPerch {
  const armed = join(folder.path, "armed");
  const env = {
    TOKEN: telegram.token,
    KEY: "none",
    PERCH_LOG: "warn",
    PERCH_CRASH_IF: armed,
    ...(before === undefined ? {} : { PERCH_CRASH_BEFORE: before }),
    ...(after === undefined ? {} : { PERCH_CRASH_AFTER: after }),
  };
  return {
    arm: () => writeFileSync(armed, ""),
    disarm: () => rmSync(armed, { force: true }),
    start: () => spawnPerch({ folder: folder.path, env, node: ["--import", PRELOAD] }),
    seen: (holds) =>
      new Promise((resolve) => {
        const look = (): void => (holds() ? resolve() : undefined);
        telegram.on("afterCommit", look);
        look();
      }),
    log() {
      const found = readdirSync(folder.path, { recursive: true, encoding: "utf8" }).find((path) =>
        path.endsWith(join("workspace", "log")),
      );
      return found === undefined ? undefined : join(folder.path, found);
    },
  };
}
