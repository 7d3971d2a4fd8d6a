import { afterEach, describe, expect, it } from "vitest";
import { type HttpServer, startHttp } from "../../src/http/server.ts";
import { memoryLog } from "../support/channel-host.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";

const PASSWORD = "correct horse";
const open: HttpServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function setUp(): Promise<{
  readonly origin: string;
  readonly clock: ManualClock;
  readonly logIn: (password: string, next?: string) => Promise<Response>;
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>;
}> {
  const clock = manualClock();
  const server = await startHttp({
    host: "127.0.0.1",
    port: 0,
    password: PASSWORD,
    log: memoryLog([]),
    health: () => ({ ok: true, channels: 2 }),
    metrics: { text: async () => "perch_turns_total 3\n", contentType: "text/plain" },
    clock,
  });
  open.push(server);
  server.mount("/", async () => new Response("the page"));
  const { origin } = server;
  return {
    origin,
    clock,
    logIn: (password, next = "/") =>
      fetch(`${origin}/login`, {
        method: "POST",
        redirect: "manual",
        body: new URLSearchParams({ password, next }),
      }),
    get: (path, headers = {}) => fetch(origin + path, { redirect: "manual", headers }),
  };
}

function cookieOf(response: Response): string {
  return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

describe("the password", () => {
  it("sends people to the login page and other programs away", async () => {
    const { get } = await setUp();
    const page = await get("/chat", { accept: "text/html" });
    expect([page.status, page.headers.get("location")]).toEqual([303, "/login?next=%2Fchat"]);
    expect((await get("/api/chats")).status).toBe(401);
  });

  it("opens a session that scripts cannot read and other sites cannot use", async () => {
    const { logIn, get } = await setUp();
    const entered = await logIn(PASSWORD, "/chat");
    expect([entered.status, entered.headers.get("location")]).toEqual([303, "/chat"]);
    expect(entered.headers.get("set-cookie")).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(await (await get("/", { cookie: cookieOf(entered) })).text()).toBe("the page");
  });

  it("ends a session after 30 days", async () => {
    const { logIn, get, clock } = await setUp();
    const cookie = cookieOf(await logIn(PASSWORD));
    await clock.advance(30 * 24 * 60 * 60 * 1000 + 1000);
    expect((await get("/", { cookie })).status).toBe(401);
  });

  it("does not take a session that it did not sign, nor one made longer", async () => {
    const { logIn, get } = await setUp();
    const cookie = cookieOf(await logIn(PASSWORD));
    const longer = cookie.replace(/=(\d+)\./, (_all, expires: string) => `=${Number(expires) + 1}.`);
    expect((await get("/", { cookie: longer })).status).toBe(401);
    expect((await get("/", { cookie: "perch_session=9999999999.AAAA" })).status).toBe(401);
  });

  it("lets nobody try more than five times a minute, also with the right one", async () => {
    const { logIn, clock } = await setUp();
    const wrong: number[] = [];
    for (let n = 0; n < 5; n += 1) wrong.push((await logIn(`guess ${n}`)).status);
    expect(wrong).toEqual([403, 403, 403, 403, 403]);
    const held = await logIn(PASSWORD);
    expect([held.status, held.headers.get("retry-after")]).toEqual([429, "60"]);
    await clock.advance(60_000);
    expect((await logIn(PASSWORD)).status).toBe(303);
  });

  it.each(["https://evil.example", "//evil.example", "/\\evil.example", "/a\r\nset-cookie: x=1"])(
    "does not send people on to %j",
    async (next) => {
      const { logIn } = await setUp();
      expect((await logIn(PASSWORD, next)).headers.get("location")).toBe("/");
    },
  );

  it("writes what it was asked to come back to as text", async () => {
    const { origin } = await setUp();
    const page = await (await fetch(`${origin}/login?next=${encodeURIComponent('/"><script>')}`)).text();
    expect(page).not.toContain("<script>");
  });

  it("tells strangers whether it is well, and no more", async () => {
    const { get, logIn } = await setUp();
    expect(await (await get("/healthz")).json()).toEqual({ ok: true });
    const cookie = cookieOf(await logIn(PASSWORD));
    expect(await (await get("/healthz", { cookie })).json()).toEqual({ ok: true, channels: 2 });
  });
  it("shows numbers to who sends the password as a program does, and counts wrong ones", async () => {
    const { get } = await setUp();
    const bearer = (password: string) => get("/metrics", { authorization: `Bearer ${password}` });
    expect((await get("/metrics")).status).toBe(401);
    expect(await (await bearer(PASSWORD)).text()).toBe("perch_turns_total 3\n");
    for (let tries = 0; tries < 5; tries += 1) expect((await bearer("guess")).status).toBe(401);
    expect((await bearer(PASSWORD)).status).toBe(401);
  });
});
