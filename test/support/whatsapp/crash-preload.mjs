// Loaded before Perch in a crash test of WhatsApp: ends the process, as a power cut would, at the place whose name stands in
// the file that PERCH_CRASH_AT names, while there is such a file.
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import Database from "better-sqlite3";

const { PERCH_CRASH_AT: armed = "" } = process.env;

function at(place) {
  if (wanted() === place) process.kill(process.pid, "SIGKILL");
}

function wanted() {
  try {
    return readFileSync(armed, "utf8");
  } catch {
    return "";
  }
}

/** A message was decrypted, and its ratchet has not turned since. */
let decrypted = false;
/** Ids of messages that WhatsApp has taken, which was not kept since. */
const taken = new Set();
/** What the transaction that is open has written. */
let written = [];

const prepare = Database.prototype.prepare;
// Statements are kept and run many times, so it is their runs that are watched.
Database.prototype.prepare = function (sql, ...rest) {
  const prepared = prepare.call(this, sql, ...rest);
  for (const verb of ["run", "all"]) {
    const call = prepared[verb].bind(prepared);
    Object.defineProperty(prepared, verb, {
      value: (...values) => {
        if (sql.startsWith("insert into entry") && values[0].startsWith("plain/")) {
          // Nothing of what was read is on the disk yet.
          at("decrypted");
          decrypted = true;
        }
        const result = call(...values);
        if (/^begin\b/i.test(sql)) written = [];
        if (/^insert into "(channel_state|inbox)"/.test(sql)) written.push([sql, values.flat()]);
        if (/^commit\b/i.test(sql)) committed(written.splice(0));
        return result;
      },
    });
  }
  return prepared;
};

function committed(rows) {
  const holds = (key) => rows.some(([, values]) => values.some((value) => key.test(String(value))));
  if (decrypted && holds(/^auth\/(session|sender-key)\//)) {
    at("turned");
    decrypted = false;
  }
  for (const id of taken)
    if (holds(new RegExp(`^sent/${id}$`))) {
      at("kept");
      taken.delete(id);
    }
  if (rows.some(([sql]) => sql.startsWith('insert into "inbox"'))) at("committed");
}

const emit = EventEmitter.prototype.emit;
EventEmitter.prototype.emit = function (name, told, ...rest) {
  // The receipt has been written, and nobody has heard of the message yet.
  if (name === "event" && told?.["messages.upsert"]?.messages.some(({ key }) => !key.fromMe)) at("told");
  if (name === "CB:ack,class:message") {
    at("acknowledged");
    taken.add(told.attrs.id);
  }
  return emit.call(this, name, told, ...rest);
};
