import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** What other programs of this machine are run with. */
export type Programs = {
  /** All that they are given of our environment, which holds keys and tokens. */
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute path of ffmpeg where there is one; without it some sounds and all videos stay closed. */
  readonly ffmpeg: string | undefined;
};

const GIVEN = ["PATH", "HOME", "LANG"];

/** Looks for them once, on the PATH of an environment. */
export async function programsOn(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Programs> {
  const given = GIVEN.flatMap((name) => {
    const value = environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    environment: Object.fromEntries(given),
    ffmpeg: await find("ffmpeg", environment["PATH"] ?? ""),
  };
}

async function find(name: string, path: string): Promise<string | undefined> {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  for (const folder of path.split(delimiter).filter((entry) => entry !== "")) {
    const candidate = join(folder, file);
    if (
      await access(candidate, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return candidate;
  }
  return undefined;
}
