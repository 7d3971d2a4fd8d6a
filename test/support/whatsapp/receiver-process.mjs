// The receiving half of a Perch in a process of its own: the real channel on the real store, of which what was committed is
// kept beside it, one entry for each event that is another. Ends as by a power cut where PERCH_KILL_AT says, at the
// PERCH_KILL_AFTER-th time, and prints one line of JSON for each thing that happens.
import { createHash } from "node:crypto";
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const dist = new URL("../../../dist/", import.meta.url);
const load = (path) => import(new URL(path, dist).href);
const { guardConsole } = await load("channels/whatsapp/baileys/life/console-guard.js");
guardConsole();
const [
  { openBaileys },
  { settings },
  { openSqlite },
  { openJournal },
  { channelState },
  { endLeases },
  { systemClock },
] = await Promise.all([
  load("channels/whatsapp/baileys/open.js"),
  load("channels/whatsapp/settings.js"),
  load("src/store/sqlite.js"),
  load("src/store/journal.js"),
  load("src/store/channel-state.js"),
  load("src/store/channel-lease.js"),
  load("src/core/clock.js"),
]);

const {
  PERCH_FOLDER: folder,
  PERCH_KILL_AT: point,
  PERCH_KILL_AFTER: times = "1",
  WA_URL: url,
  WA_CA: ca,
} = process.env;
const print = (line) => void process.stdout.write(`${JSON.stringify(line)}\n`);

let left = Number(times);
function at(here) {
  if (here === point && --left === 0) process.kill(process.pid, "SIGKILL");
}

// "told": the receipt is on its way, and nobody has heard of the message yet.
const emit = EventEmitter.prototype.emit;
EventEmitter.prototype.emit = function (name, told, ...rest) {
  if (name === "event" && told?.["messages.upsert"]?.messages.some(({ key }) => !key.fromMe)) at("told");
  return emit.call(this, name, told, ...rest);
};

function atWrites(journal) {
  return {
    ...journal,
    write(entries) {
      const keys = Object.keys(entries);
      if (keys.some((key) => entries[key] === undefined)) at("forgetting");
      journal.write(entries);
      if (keys.some((key) => key.startsWith("stanza/") && entries[key])) at("journalled");
      if (keys.some((key) => key.startsWith("plain/") && entries[key])) at("read");
    },
  };
}

function atSets(state) {
  return async (entries, options) => {
    await state.set(entries, options);
    const keys = Object.keys(entries);
    // The ratchet has turned: nothing can decrypt the message again.
    if (linked && keys.some((key) => /^auth\/(session|sender-key)\//.test(key))) at("turned");
    if (keys.some((key) => key.startsWith("said/"))) at("kept");
  };
}

const database = await openSqlite(join(folder, "perch.db"));
await database.db.transaction().execute(endLeases);
const accepted = openJournal(join(folder, "accepted.db"));
for (const [, value] of accepted.list("event/"))
  print({ accepted: JSON.parse(Buffer.from(value).toString()) });

let linked = false;
const state = channelState(database, "test", { owner: String(process.pid), clock: systemClock });
const quiet = { debug() {}, info() {}, warn() {}, error() {}, with: () => quiet };
const host = {
  id: "test",
  stateDir: folder,
  log: quiet,
  clock: systemClock,
  async accept(events) {
    at("accepting");
    const entries = events.map((event) => {
      const payload = JSON.stringify(event);
      const hash = createHash("sha256").update(payload).digest("hex");
      return [`event/${event.place?.chat ?? ""}/${event.id}/${hash}`, Buffer.from(payload), event];
    });
    accepted.write(Object.fromEntries(entries));
    at("accepted");
    for (const [, , event] of entries) print({ accepted: event });
    return new Map();
  },
  commands: () => [],
  state: {
    ...state,
    set: atSets(state),
    async lease(ms) {
      const lease = await state.lease(ms);
      return lease && { ...lease, set: atSets(lease) };
    },
  },
  journal: () => atWrites(openJournal(join(folder, "journal.db"))),
  failed: (error) => print({ failed: String(error) }),
  recovered() {},
  stands: ({ is }) => print({ stands: is }),
};

const channel = await openBaileys(
  settings.parse({ testServer: { url, ca: readFileSync(ca, "utf8") } }),
  host,
);
process.on("message", (asked) => void (asked === "pair" && link()));
linked = true;
process.on("SIGTERM", () => void end());

async function link() {
  for await (const step of channel.pair({}, new AbortController().signal)) print({ step });
}

async function end() {
  await channel.close();
  await database.close();
  process.exit(0);
}
