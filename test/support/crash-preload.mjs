// Loaded before Perch in a crash test: ends the process, as a power cut would, right after a commit of the test's choice.
// PERCH_CRASH_AFTER="3 insert into \"inbox\"": after the third commit of a transaction with such a statement in it.
import Database from "better-sqlite3";

const [, count, statement] = /^(\d+) (.+)$/s.exec(process.env.PERCH_CRASH_AFTER ?? "") ?? [];

if (statement !== undefined) {
  let left = Number(count);
  let within = false;
  let seen = false;
  const prepare = Database.prototype.prepare;
  Database.prototype.prepare = function (sql, ...rest) {
    const prepared = prepare.call(this, sql, ...rest);
    const matches = sql.startsWith(statement);
    const ends = /^commit\b/i.test(sql);
    if (/^begin\b/i.test(sql)) [within, seen] = [true, false];
    if (/^rollback\b/i.test(sql)) within = false;
    if (matches) seen = true;
    if (!(ends && seen) && !(matches && !within)) return prepared;
    // What follows the run of this statement is durable.
    for (const verb of ["run", "all", "get"]) {
      const call = prepared[verb].bind(prepared);
      Object.defineProperty(prepared, verb, {
        value: (...values) => {
          const result = call(...values);
          if (ends) within = false;
          left -= 1;
          if (left === 0) process.kill(process.pid, "SIGKILL");
          return result;
        },
      });
    }
    return prepared;
  };
}
