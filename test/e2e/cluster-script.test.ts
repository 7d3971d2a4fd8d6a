import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { freePort, NO_OWN_POSTGRES } from "../support/postgres.ts";
import { NO_OWN_REDIS } from "../support/redis.ts";

const REPOSITORY = new URL("../../", import.meta.url);

it.skipIf(NO_OWN_REDIS || NO_OWN_POSTGRES).each(["SIGINT", "SIGTERM"] as const)(
  "is started by one script, twice, which ends all of it at a %s, Perch before its database",
  { timeout: 120_000 },
  async (signal) => {
    const data = await mkdtemp(join(tmpdir(), "perch-cluster-"));
    onTestFinished(() => rm(data, { recursive: true, force: true }));
    await chmod(data, 0o755); // PostgreSQL runs as a user of its own
    const [redis, postgres, http] = await Promise.all([freePort(), freePort(), freePort()]);
    for (let time = 1; time <= 2; time += 1) {
      const child = spawn("bash", ["deploy/cluster.sh", "1"], {
        cwd: REPOSITORY,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
        env: {
          PATH: process.env["PATH"],
          PERCH_CLUSTER_DATA: data,
          PERCH_REDIS_PORT: String(redis),
          PERCH_POSTGRES_PORT: String(postgres),
          PERCH_HTTP_PORT: String(http),
          TELEGRAM_TOKEN: "",
        },
      });
      let output = "";
      const ended = once(child, "exit");
      const isReady = new Promise<void>((resolve) => {
        for (const stream of [child.stdout, child.stderr])
          stream.on("data", (chunk: Buffer) => {
            output += chunk.toString("utf8");
            if (output.split("Perch is ready.").length > 2) resolve();
          });
      });
      await Promise.race([isReady, ended]);
      // A terminal's Ctrl-C reaches all of its foreground group.
      process.kill(signal === "SIGINT" ? -(child.pid ?? 0) : (child.pid ?? 0), signal);
      await ended;
      expect(output).not.toContain('"level":"warn"');
      expect(output.split("Stopping").length).toBe(3);
      expect(await Promise.all([redis, postgres, http].map(isListening))).toEqual([false, false, false]);
    }
  },
);

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
