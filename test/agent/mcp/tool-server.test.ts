import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startHttpTools } from "../../support/mcp/http.ts";
import { stdioTools } from "../../support/mcp/stdio.ts";
import { manualClock } from "../../support/clock.ts";
import { folderOf, lives, pidsIn, toolServer } from "./set-up.ts";

const words = (result: { readonly content: readonly unknown[] }): string => JSON.stringify(result.content);
const message = async (promise: Promise<unknown>): Promise<string> =>
  await promise.then(
    () => "nothing was thrown",
    (error: unknown) => String(error),
  );

describe("a server of tools that is a program", () => {
  it("is connected when it is asked for, lists its tools, and answers", async () => {
    const { server } = toolServer(stdioTools());
    expect(server.tools).toEqual([]);
    await server.ready();
    expect(server.tools.map(({ name }) => name)).toContain("echo");
    expect(server.tools.find(({ name }) => name === "echo")?.readOnly).toBe(true);
    expect(server.tools.find(({ name }) => name === "add_note")?.readOnly).toBe(false);
    expect(words(await server.call("echo", { text: "hi" }, undefined))).toContain("echo: hi");
  });

  it("finds PATH and what it is given in its environment, and nothing of ours", async () => {
    const { server } = toolServer(stdioTools({ NOTES_TOKEN: "t", MORE: "0" }));
    const found = words(await server.call("environment", {}, undefined));
    expect(found).toContain('"MORE NOTES_TOKEN PATH"');
  });

  it("may be given a home of its own", async () => {
    const { server } = toolServer(stdioTools({ HOME: "/nowhere" }));
    expect(words(await server.call("environment", {}, undefined))).toContain('"HOME PATH"');
  });

  it("that names no tool, or no arguments of one, has its other tools", async () => {
    const { server } = toolServer(stdioTools());
    await server.ready();
    expect(server.unavailable).toBe(false);
    expect(server.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["no_schema", "odd_schema"]));
    expect(server.tools.every(({ name }) => name !== "")).toBe(true);
  });

  it("that dies in the middle of a call fails that call alone, and is begun again for the next", async () => {
    const folder = folderOf();
    const pids = join(folder, "pids");
    const { server } = toolServer(stdioTools({ PIDS: pids }));
    expect(await message(server.call("die", {}, undefined))).toBe(
      'ServerError: the server "tools" was lost during the call; what it has done is not known',
    );
    expect(server.unavailable).toBe(false);
    expect(words(await server.call("echo", { text: "again" }, undefined))).toContain("echo: again");
    expect(new Set(pidsIn(pids)).size).toBe(2);
  });

  it("that dies each time is tried at growing intervals, and takes its tools away when it does not come back", async () => {
    const folder = folderOf();
    const pids = join(folder, "pids");
    const clock = manualClock();
    const { server, lines } = toolServer(stdioTools({ KIND: "crash", PIDS: pids }), clock);
    await server.ready();
    expect(server.unavailable).toBe(true);
    expect(server.tools).toEqual([]);
    await server.ready();
    expect(pidsIn(pids)).toHaveLength(1);
    await clock.advance(1_000);
    await server.ready();
    expect(pidsIn(pids)).toHaveLength(2);
    await clock.advance(1_000);
    await server.ready();
    expect(pidsIn(pids)).toHaveLength(2);
    await clock.advance(1_000);
    await server.ready();
    expect(pidsIn(pids)).toHaveLength(3);
    expect(await message(server.call("echo", {}, undefined))).toContain("is not there now");
    expect(lines.filter(({ level }) => level === "warn").map(({ sentence }) => sentence)).toEqual([
      "a server of tools failed, again in 1 s",
      "a server of tools failed, again in 2 s",
      "a server of tools failed, again in 4 s",
    ]);
  });

  it.each(["garbage", "hang"])(
    "that speaks no protocol (%s) is given up after its time, and ended",
    async (kind) => {
      const folder = folderOf();
      const pids = join(folder, "pids");
      const clock = manualClock();
      const { server, lines } = toolServer(stdioTools({ KIND: kind, PIDS: pids }), clock);
      const ready = server.ready();
      await expect.poll(() => pidsIn(pids).length).toBe(1);
      await clock.advance(20_000);
      await ready;
      expect(server.unavailable).toBe(true);
      expect(lines.at(-1)?.fields["server"]).toBe("tools");
    },
  );

  it("that never answers a call is given up, and begun again after the second time", async () => {
    const folder = folderOf();
    const pids = join(folder, "pids");
    const { server } = toolServer(stdioTools({ PIDS: pids }, "tools", 1));
    const never = 'ServerError: the server "tools" did not answer in 1 s; what it has done is not known';
    await server.ready();
    const [first = 0] = pidsIn(pids);
    expect(await message(server.call("never", {}, undefined))).toBe(never);
    expect(words(await server.call("echo", { text: "still" }, undefined))).toContain("still");
    expect(await message(server.call("never", {}, undefined))).toBe(never);
    expect(await message(server.call("never", {}, undefined))).toBe(never);
    await expect.poll(() => lives(first), { timeout: 10_000 }).toBe(false);
    expect(words(await server.call("echo", { text: "anew" }, undefined))).toContain("anew");
  });

  it("is told when nobody waits for a call any more", async () => {
    const { server } = toolServer(stdioTools());
    await server.ready();
    const turn = new AbortController();
    const call = message(server.call("never", {}, turn.signal));
    turn.abort(new Error("the turn is over"));
    expect(await call).toBe("Error: the turn is over");
    expect(words(await server.call("echo", { text: "on" }, undefined))).toContain("on");
  });

  it("has other tools when it says so", async () => {
    const later = join(folderOf(), "later");
    const { server } = toolServer(stdioTools({ LATER: later }));
    await server.ready();
    expect(server.tools.some(({ name }) => name === "later_echo")).toBe(false);
    const { writeFile } = await import("node:fs/promises");
    await writeFile(later, "");
    await server.call("say_changed", {}, undefined);
    await expect.poll(() => server.tools.some(({ name }) => name === "later_echo")).toBe(true);
  });

  it("is ended when it is closed, and does nothing from then on", async () => {
    const folder = folderOf();
    const pids = join(folder, "pids");
    const { server } = toolServer(stdioTools({ PIDS: pids }));
    await server.ready();
    const [pid = 0] = pidsIn(pids);
    await server.close();
    expect(lives(pid)).toBe(false);
    expect(server.tools).toEqual([]);
    await server.ready();
    expect(await message(server.call("echo", {}, undefined))).toContain("is not there now");
    expect(pidsIn(pids)).toHaveLength(1);
  });

  it("complains to the debug log, a few lines of it", async () => {
    const { server, lines } = toolServer(stdioTools());
    await server.ready();
    await expect
      .poll(() => lines.filter(({ level, fields }) => level === "debug" && "line" in fields))
      .toEqual([expect.objectContaining({ fields: { server: "tools", line: "the server has begun" } })]);
  });

  it("that cannot be started is named, without what stands in its command", async () => {
    const { server, lines } = toolServer({ ...stdioTools(), command: "/no/such/program" } as never);
    await server.ready();
    expect(server.unavailable).toBe(true);
    expect(JSON.stringify(lines)).not.toContain("/no/such");
  });
});

describe("a server of tools that is an address", () => {
  it("is sent its headers, and answers", async () => {
    const http = await startHttpTools({ token: "s3cret" });
    onTestFinished(() => http.close());
    const { server } = toolServer({
      use: "http",
      name: "web",
      timeoutSeconds: 20,
      url: http.url,
      headers: { Authorization: "Bearer s3cret" },
    });
    expect(words(await server.call("echo", { text: "hi" }, undefined))).toContain("echo: hi");
    expect(server.tools.map(({ name }) => name)).toContain("picture");
  });

  it("that refuses us is named with its status, and without its address or headers", async () => {
    const http = await startHttpTools({ token: "s3cret" });
    onTestFinished(() => http.close());
    const { server, lines } = toolServer({
      use: "http",
      name: "web",
      timeoutSeconds: 20,
      url: `${http.url}?key=k3y`,
      headers: { Authorization: "Bearer wr0ng" },
    });
    await server.ready();
    expect(server.unavailable).toBe(true);
    const said = JSON.stringify(lines);
    expect(said).toContain("HTTP 401");
    expect(said).not.toMatch(/k3y|wr0ng|127\.0\.0\.1/);
  });

  it("that says nothing is given up after its time", async () => {
    const http = await startHttpTools({ silent: true });
    onTestFinished(() => http.close());
    const clock = manualClock();
    const { server, lines } = toolServer(
      { use: "http", name: "web", timeoutSeconds: 7, url: http.url, headers: {} },
      clock,
    );
    const ready = server.ready();
    await expect.poll(() => http.asked.length).toBe(1);
    await clock.advance(7_000);
    await ready;
    expect(server.unavailable).toBe(true);
    expect(lines.at(-1)?.fields["why"]).toBe("no answer in 7 s");
  });

  it("that nobody listens at is named as that, and without its address", async () => {
    const http = await startHttpTools();
    await http.close();
    const { server, lines } = toolServer({
      use: "http",
      name: "web",
      timeoutSeconds: 20,
      url: http.url,
      headers: {},
    });
    await server.ready();
    const why = "it could not be reached, or does not speak the protocol";
    expect(lines).toEqual([expect.objectContaining({ level: "warn", fields: { server: "web", why } })]);
  });

  it("that was gone and is back answers again", async () => {
    const http = await startHttpTools();
    const { server } = toolServer({
      use: "http",
      name: "web",
      timeoutSeconds: 20,
      url: http.url,
      headers: {},
    });
    await server.ready();
    await http.close();
    expect(await message(server.call("echo", { text: "x" }, undefined))).toContain(
      "was lost during the call",
    );
    const back = await startHttpTools({ port: http.port });
    onTestFinished(() => back.close());
    expect(words(await server.call("echo", { text: "back" }, undefined))).toContain("echo: back");
  });
});
