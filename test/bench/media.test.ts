import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { answerOf } from "../../bench/answers.ts";
import { holding } from "../../bench/holds.ts";
import { longAnswers } from "../../bench/long-answers.ts";
import { Family } from "../../bench/proc.ts";

describe("the media bench", () => {
  it("writes answers of the length that is asked for, the same for the same seed", () => {
    const answers = [1, 2, 1].map((seed) => answerOf(seed, 2_000));
    expect(answers.map(({ length }) => length)).toEqual([2_000, 2_000, 2_000]);
    expect(answers[0]).toBe(answers[2]);
    expect(answers[0]).not.toBe(answers[1]);
  });

  it.each(Object.keys(longAnswers(0)))("writes %s as long as it is asked for", (what) => {
    expect(longAnswers(9_000)[what]?.length).toBeGreaterThanOrEqual(9_000);
  });

  it("sees how long a piece of work holds the event loop", async () => {
    const { gives, hold } = await holding(async () => {
      for (const end = performance.now() + 60; performance.now() < end;);
      return "done";
    });
    expect(gives).toBe("done");
    expect(hold.longest).toBeGreaterThan(55);
    // Of the 60 ms a busy machine may give another process some.
    expect(hold.own).toBeGreaterThan(0);
    expect(hold.own).toBeLessThanOrEqual(hold.longest);
  });

  // What a process takes is read from /proc.
  it.runIf(process.platform === "linux")("counts what a process starts as its children", async () => {
    const big = `Buffer.alloc(128e6, 1); process.stdout.write("there"); process.stdin.resume()`;
    const parent = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(big)}], { stdio: "inherit" })`;
    const child = spawn(process.execPath, ["-e", parent], { stdio: ["pipe", "pipe", "ignore"] });
    try {
      const family = new Family(child.pid ?? NaN);
      await once(child.stdout, "data");
      const { childrenMb, grownMb, cpuMs } = family.end();
      expect(childrenMb).toBeGreaterThan(120);
      expect(grownMb).toBeLessThan(120);
      expect(cpuMs).toBeGreaterThan(0);
    } finally {
      child.stdin.end(); // ends the grandchild, and with it the child
      await once(child, "exit");
    }
  });
});
