import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { serve } from "../../dist/src/media/serve.js";

// A worker whose jobs do what no job should: `needs.do` says what.

serve(async ({ needs }) => {
  switch (needs.do) {
    case "hang":
      for (;;);
    case "wait":
      return await new Promise(() => {});
    case "eat": {
      const eaten = [];
      for (;;) {
        eaten.push(Buffer.alloc(10_000_000, 1));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    case "eat heap": {
      const eaten = [];
      for (;;) eaten.push({ of: [eaten.length] });
    }
    case "eat by a program": {
      // No more than twice what is allowed, where nobody ends it.
      const eats = "const e = []; setInterval(() => e.length < 160 && e.push(Buffer.alloc(1e7, 1)), 1)";
      spawn(process.execPath, ["-e", eats]);
      return await new Promise(() => {});
    }
    case "exit":
      return process.exit(0);
    case "crash":
      return process.kill(process.pid, "SIGSEGV");
    case "throw":
      throw new Error("unexpected token in\n    at TOP-SECRET-4271");
    case "find the disk full":
      throw Object.assign(new Error("ENOSPC: no space left, write '/TOP-SECRET-4271'"), {
        code: "ENOSPC",
        syscall: "write",
      });
    case "throw later":
      void Promise.reject(new Error("nobody looks"));
      setTimeout(() => void Promise.reject(new Error("nor here")), 0);
      return "done";
    case "start a program": {
      const program = spawn("sleep", ["600"]);
      writeFileSync(needs.file, String(program.pid));
      for (;;);
    }
    case "describe":
      return { pid: process.pid, environment: process.env, flags: process.execArgv };
    default:
      return needs;
  }
});
