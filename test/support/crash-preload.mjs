// Loaded before Perch in a crash test: ends the process, as a power cut would, right after a commit of the test's choice.
// PERCH_CRASH_AFTER="insert into \"inbox\"": after a commit of a transaction with such a statement in it, as soon as the
// file that PERCH_CRASH_IF names is there. PERCH_CRASH_BEFORE is the same before the statement is run.
import { existsSync } from "node:fs";
import Database from "better-sqlite3";

const { PERCH_CRASH_AFTER: statement, PERCH_CRASH_BEFORE: unrun, PERCH_CRASH_IF: armed } = process.env;

if (unrun !== undefined) {
  const prepare = Database.prototype.prepare;
  Database.prototype.prepare = function (sql, ...rest) {
    const prepared = prepare.call(this, sql, ...rest);
    if (!sql.startsWith(unrun)) return prepared;
    for (const verb of ["run", "all", "get"]) {
      const call = prepared[verb].bind(prepared);
      Object.defineProperty(prepared, verb, {
        value: (...values) => {
          if (!existsSync(armed)) return call(...values);
          process.kill(process.pid, "SIGKILL");
          for (;;); // nothing more happens in this process
        },
      });
    }
    return prepared;
  };
}

if (statement !== undefined) {
  let within = false;
  let seen = false;
  const prepare = Database.prototype.prepare;
  // Statements are kept and run many times, so it is their runs that are watched.
  Database.prototype.prepare = function (sql, ...rest) {
    const prepared = prepare.call(this, sql, ...rest);
    for (const verb of ["run", "all", "get"]) {
      const call = prepared[verb].bind(prepared);
      Object.defineProperty(prepared, verb, {
        value: (...values) => {
          if (/^begin\b/i.test(sql)) [within, seen] = [true, false];
          const result = call(...values);
          // What has run by now is durable, unless a transaction is open around it.
          const durable = sql.startsWith(statement) ? !within : /^commit\b/i.test(sql) && seen;
          if (sql.startsWith(statement)) seen = true;
          if (/^(commit|rollback)\b/i.test(sql)) within = false;
          if (durable && existsSync(armed)) process.kill(process.pid, "SIGKILL");
          return result;
        },
      });
    }
    return prepared;
  };
}
