import { statSync, watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { basename, dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";

import type { Clock, Timer } from "../core/clock.ts";
import { asError } from "../core/errors.ts";
import type { ChannelId } from "../core/identity.ts";
import type { ChannelConfig } from "./channels.ts";
import type { Config, LoadResult } from "./load.ts";

// Editors write, rename and touch within some tens of milliseconds.
const QUIET_MS = 200;

export type ConfigWatch = { close(): void };

/**
 * Loads again when one of the files changes, appears or goes, and hands on what came of it, one after another.
 * `files` are a configuration's own; a later one's take their place. Folders are watched rather than files, since
 * editors put a new file in the old one's place.
 */
export function watchConfig(options: {
  readonly files: readonly string[];
  readonly load: () => Promise<LoadResult>;
  readonly clock: Clock;
  readonly onChange: (result: LoadResult) => void;
}): ConfigWatch {
  const { load, clock, onChange } = options;
  let files = options.files;
  let watchers: readonly FSWatcher[] = [];
  let timer: Timer | undefined;
  let loading = false;
  let again = false;
  let closed = false;

  function arm(): void {
    for (const watcher of watchers) watcher.close();
    // What is not there yet is noticed through the folder above it.
    const folders = new Set(files.flatMap((file) => [dirname(file), ...(isFolder(file) ? [file] : [])]));
    watchers = [...folders].flatMap((folder) => watchFolder(folder));
  }

  function watchFolder(folder: string): readonly FSWatcher[] {
    try {
      const listed = files.includes(folder);
      const names = new Set(files.filter((file) => dirname(file) === folder).map((file) => basename(file)));
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        // In an agents' folder every name counts, for a new one may be an agent.
        if (listed || name === null || names.has(name)) touch();
      });
      // A folder that goes away under its watcher is a change.
      watcher.on("error", touch);
      return [watcher];
    } catch {
      // Not there, or no folder: load says so if that is a fault.
      return [];
    }
  }

  function touch(): void {
    if (closed) return;
    timer?.cancel();
    timer = clock.after(QUIET_MS, () => void reload()); // reload never rejects
  }

  async function reload(): Promise<void> {
    if (loading) {
      again = true;
      return;
    }
    loading = true;
    let result: LoadResult;
    let known: readonly string[];
    // Until what was watched during the load is what was read, so that no change falls between the two.
    do {
      if (closed) return;
      arm();
      known = files;
      result = await load().catch(unreadable);
      files = result.ok ? result.config.files : result.files;
    } while (!isDeepStrictEqual(files, known));
    loading = false;
    if (closed) return;
    onChange(result);
    if (again) {
      again = false;
      touch();
    }
  }

  function unreadable(error: unknown): LoadResult {
    const problem = `the configuration cannot be read: ${asError(error).message}`;
    const fault = { file: files[0] ?? "", path: "", problem, remedy: "Mend the file and save it again" };
    return { ok: false, faults: [fault], files };
  }

  arm();
  return {
    close() {
      closed = true;
      timer?.cancel();
      for (const watcher of watchers) watcher.close();
    },
  };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

type ChannelChanges = {
  readonly added: readonly ChannelId[];
  readonly removed: readonly ChannelId[];
  readonly changed: readonly ChannelId[];
};

/**
 * What must be connected, closed, or closed and connected again. Only how a channel is connected counts: rules and
 * agents are replaced without it. A channel that is off counts as not there.
 */
export function changedChannels(before: Config, after: Config): ChannelChanges {
  const old = connected(before);
  const now = connected(after);
  return {
    added: [...now.keys()].filter((id) => !old.has(id)),
    removed: [...old.keys()].filter((id) => !now.has(id)),
    changed: [...now].flatMap(([id, channel]) => {
      const was = old.get(id);
      const same =
        was === undefined ||
        (was.kind === channel.kind &&
          isDeepStrictEqual(was.settings, channel.settings) &&
          isDeepStrictEqual(commandsOf(before, id), commandsOf(after, id)));
      return same ? [] : [id];
    }),
  };
}

/** Names of the agents that are new, gone or otherwise than before, for whoever has saved a file. */
export function changedAgents({ rules: before }: Config, { rules: after }: Config): readonly string[] {
  const names = new Set([...before.agents.keys(), ...after.agents.keys()]);
  return [...names].filter((name) => !isDeepStrictEqual(before.agents.get(name), after.agents.get(name)));
}

/** What a platform is told of the rules when a connection is opened: which commands people can give. */
function commandsOf({ rules }: Config, id: ChannelId): unknown {
  const of = rules.channels.get(id);
  return [of?.commands, of?.strangers === "pair"];
}

function connected(config: Config): ReadonlyMap<ChannelId, ChannelConfig> {
  return new Map([...config.channels].filter(([, channel]) => channel.off === undefined));
}
