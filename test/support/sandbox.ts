import { findSandbox, type Sandbox } from "../../src/agent/shell/sandbox.ts";
import { systemClock } from "../../src/core/clock.ts";

const found = await findSandbox(process.env["PATH"] ?? "", systemClock);

if (found === undefined) {
  if (process.env["PERCH_TESTS_COMPLETE"])
    throw new Error("no bubblewrap is on the PATH, or this machine forbids it, and a complete run needs it");
  console.warn(
    "No bubblewrap is on the PATH, or this machine forbids it: commands in a sandbox are not tested.",
  );
}

/** What is asked of a suite that needs bubblewrap: `describe.skipIf(NO_SANDBOX)`. */
export const NO_SANDBOX = found === undefined;

/** This machine's; only for suites that are skipped without one. */
export const SANDBOX = found as Sandbox; // as the suites are skipped
