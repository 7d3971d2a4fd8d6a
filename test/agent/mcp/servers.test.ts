import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ToolServers } from "../../../src/agent/mcp/servers.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { memoryLog } from "../../support/channel-host.ts";
import { stdioTools } from "../../support/mcp/stdio.ts";
import { folderOf, lives, pidsIn } from "./set-up.ts";

function pool(): ToolServers {
  const servers = new ToolServers({ clock: systemClock, log: memoryLog([]) });
  onTestFinished(() => servers.close());
  return servers;
}

it("agents that name the same server share it, also after a reload that says the same", () => {
  const servers = pool();
  const [one] = servers.of({ mcp: [stdioTools()] });
  expect(servers.of({ mcp: [stdioTools()] })).toEqual([one]);
  expect(servers.of({ mcp: [stdioTools({ OTHER: "1" })] })[0]).not.toBe(one);
  expect(servers.of({})).toEqual([]);
});

it("those that nobody names any more are ended, and the others go on as the same process", async () => {
  const folder = folderOf();
  const server = (name: string) => stdioTools({ PIDS: join(folder, name) }, name);
  const servers = pool();
  const [gone, kept] = servers.of({ mcp: [server("gone"), server("kept")] });
  await Promise.all([gone?.ready(), kept?.ready()]);
  const [ended = 0] = pidsIn(join(folder, "gone"));
  const [going = 0] = pidsIn(join(folder, "kept"));
  await servers.keep([{ mcp: [server("kept")] }, {}]);
  expect([lives(ended), lives(going)]).toEqual([false, true]);
  await servers.close();
  expect(lives(going)).toBe(false);
});
