import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { demoAssets } from "../agent/demo-assets.ts";
import { createAgentRunner } from "../agent/runner.ts";
import { changedAgents, changedChannels, watchConfig } from "../config/watch.ts";
import { faultSentence } from "../config/faults.ts";
import { type Config, loadConfig, type LoadResult } from "../config/load.ts";
import { Connections } from "../connections.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { isChannels, type Role } from "../core/role.ts";
import type { Rules } from "../core/rules.ts";
import { Gateway } from "../gateway.ts";
import { connectionsHandler } from "../http/connections.ts";
import { type Health, startHttp } from "../http/server.ts";
import { FileBlobs } from "../store/blobs.ts";
import { openStore } from "../store/open.ts";
import { Workspaces } from "../store/workspace.ts";
import { inChildren } from "../media/children.ts";
import { sharing } from "../media/sharing.ts";
import { programsOn } from "../media/programs.ts";
import { studioIn } from "../media/studio.ts";
import { lockFolder } from "../store/lock.ts";
import { threadStore } from "../store/threads.ts";
import { EXIT } from "./exit.ts";
import { kinds } from "./kinds.ts";
import { measured } from "./measured.ts";
import { warnOfFaults } from "./live.ts";
import { OwnerLinks } from "./owner-links.ts";
import { together } from "./together.ts";
import { welcome } from "./welcome.ts";

export type StartOptions = {
  readonly file?: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly print: (line: string) => void;
  /** Aborts when the process is to end. */
  readonly stop: AbortSignal;
  /** What this process does of a Perch of several; everything without it. */
  readonly role?: Role;
  /** Where its pages are instead of `http.port`: several processes may be on one machine. */
  readonly port?: number;
  /** Called when its pages are there, with where this machine reaches them. */
  readonly up?: (origin: string) => void;
};

/** Runs the gateway until `stop`; gives the exit code. */
export async function start(options: StartOptions): Promise<number> {
  const { clock, log, print } = options;
  const load = (): Promise<LoadResult> =>
    loadConfig({
      folder: options.folder,
      env: options.env,
      kinds,
      ...(options.file ? { file: options.file } : {}),
    });
  const loaded = await load();
  if (!loaded.ok) {
    for (const fault of loaded.faults) print(faultSentence(fault));
    return EXIT.config;
  }
  const first = loaded.config;
  let config = first;
  const { dataFolder } = config;
  const { role = "all" } = options;
  const self = randomUUID();
  const { cluster, ...shared } = await together(config, role, { clock, log });
  // Several processes share a data folder; which of them may do what there, leases say.
  const lock = cluster ? undefined : lockFolder(dataFolder, clock.now());
  const database = await openStore(config);
  const blobs = await blobsOf(config, clock);
  const children = inChildren({
    entry: new URL("../media/worker.js", import.meta.url),
    blobsFolder: join(dataFolder, "blobs"),
    workSeconds: config.media.workSeconds,
    path: options.env["PATH"],
    clock,
    log,
  });
  const workshop = config.bucket ? sharing(children, blobs) : children;
  const programs = await programsOn(options.env);
  const numbers = await measured(config, {
    database,
    clock,
    connections: () => connections.list(config.channels),
    running: () => gateway.health().turns,
  });
  const runner = createAgentRunner({
    blobs,
    clock,
    log,
    ...(options.env["PATH"] === undefined ? {} : { path: options.env["PATH"] }),
    saver: async ({ limits }) => {
      const { ThreadSaver } = await import("../agent/threads.ts");
      return new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: limits.mediaTurns });
    },
  });
  const gateway = new Gateway({
    database,
    blobs,
    runner,
    workspaces: new Workspaces(join(dataFolder, "chats"), blobs),
    workshop,
    programs,
    rules: withDemo(config.rules),
    media: config.media,
    answers: config.answers,
    turnsAtOnce: config.turns.concurrent,
    connections: () => connections.list(config.channels),
    dispatcher: shared.dispatcher,
    ...(cluster ? { cluster } : {}),
    ...numbers.told,
    clock,
    log,
    owner: self,
    // Nothing keeps a second process from the same server.
    others: config.store.url !== undefined,
  });
  const health = (): Health => ({ ...gateway.health(), faults: Object.fromEntries(connections.faults) });
  const http = await startHttp({
    ...config.http,
    ...(options.port === undefined ? {} : { port: options.port }),
    log,
    clock,
    health,
    ready: () => gateway.ready(),
    ...numbers.shown,
  });
  const connections = new Connections({
    gateway,
    database,
    blobs,
    dataFolder,
    studio: studioIn({ workshop, blobs, programs, limits: config.media, clock, log }),
    http,
    clock,
    log,
    owner: self,
    kind: (name) => kinds.load(name),
    ...(cluster ? { shared: { role } } : {}),
  });
  const links = new OwnerLinks({ config: () => config, connections, database, ...options });
  await gateway.start();
  if (role !== "workers")
    await Promise.all([...config.channels].map(([id, channel]) => connections.open(id, channel)));
  // It never rejects. What was in flight at a crash may take its time, and nobody waits for that here.
  void gateway.begin();
  void warnOfFaults(config, clock, log);
  let taken = Promise.resolve();
  // One after another, or a connection that the next change takes away could still be opened by this one.
  const onChange = (result: LoadResult): void => {
    taken = taken
      .then(() => changed(result))
      .catch((err: unknown) => log.error({ err }, "a changed configuration could not be taken up whole"));
  };
  const watch = watchConfig({ files: config.files, load, clock, onChange });
  if (isChannels(role))
    http.mount(
      "/connections",
      connectionsHandler({
        list: () => connections.list(config.channels),
        pair: (id, wish, signal) => connections.get(id)?.pair?.(wish, signal),
      }),
    );
  options.up?.(http.local);
  print((await welcome(config, role, connections, http.origin, links, clock.now())).join("\n"));
  await aborted(options.stop);
  print("Stopping: running turns may end, the rest is taken up at the next start.");
  watch.close();
  connections.stopTrying();
  await taken;
  await gateway.stop(config.turns.graceSeconds * 1_000);
  await connections.release();
  await shared.close();
  await runner.close();
  workshop.close();
  await http.close();
  await numbers.close();
  await database.close();
  lock?.release();
  return EXIT.ok;

  /** Takes a changed configuration up; connections that it does not touch stay as they are. */
  async function changed(result: LoadResult): Promise<void> {
    if (!result.ok) {
      log.error(
        { faults: result.faults.map(faultSentence) },
        "the changed configuration is not taken up; the last good one stays",
      );
      return;
    }
    const before = config;
    config = result.config;
    await shared.use(config);
    gateway.use(withDemo(config.rules));
    // What they are doing for a turn that still runs fails; nothing is waited for.
    void runner.keep(config.rules.agents.values());
    const { added, removed, changed: touched } = changedChannels(before, config);
    for (const id of [...removed, ...touched]) await connections.close(id);
    for (const id of [...added, ...touched]) {
      const channel = config.channels.get(id);
      if (channel && role !== "workers") await connections.open(id, channel);
    }
    const now = readOnce(config);
    const keys = Object.entries(readOnce(first)).flatMap(([key, value]) =>
      isDeepStrictEqual(value, now[key]) ? [] : [key],
    );
    if (keys.length > 0) log.warn({ keys }, "these settings hold from the next start on");
    const agents = changedAgents(before, config);
    log.info({ added, removed, changed: touched, agents }, "the changed configuration is taken up");
    for (const id of [...added, ...touched]) void links.offer(id);
  }
}

/** What running work was begun with and keeps until the process ends, by the keys of perch.yaml. */
function readOnce(config: Config): Readonly<Record<string, unknown>> {
  const { dataFolder, bucket, store, cluster, telemetry, http, media, answers, turns } = config;
  return {
    "data.folder": dataFolder,
    "data.bucket": bucket,
    store,
    cluster,
    telemetry,
    http,
    media,
    answers,
    "turns.concurrent": turns.concurrent,
  };
}

/** Where media are: in the data folder, or in a bucket, of which the folder then holds what was used lately. */
async function blobsOf({ dataFolder, bucket }: Config, clock: Clock): Promise<FileBlobs> {
  const folder = join(dataFolder, "blobs");
  if (!bucket) return new FileBlobs(folder);
  const { BucketBlobs } = await import("../store/bucket-blobs.ts");
  const { openBucket } = await import("../store/bucket.ts");
  const { name, ...where } = bucket;
  return new BucketBlobs(folder, openBucket({ bucket: name, ...where }, clock));
}

/** The demo has a picture of its own to send, where the operator gives it no folder. */
function withDemo(rules: Rules): Rules {
  const agents = [...rules.agents].map(([name, agent]) => {
    const bare = agent.model.provider === "demo" && agent.graph === undefined && agent.assets === undefined;
    return [name, bare ? { ...agent, assets: demoAssets() } : agent] as const;
  });
  return { ...rules, agents: new Map(agents) };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
