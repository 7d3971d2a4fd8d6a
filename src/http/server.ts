import type { Server } from "node:http";
import { type HttpBindings, createAdaptorServer } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { type Clock, systemClock } from "../core/clock.ts";
import type { HttpHandler, HttpMount, MountOptions } from "../core/host.ts";
import { GatewayError, asError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { shortBody } from "../core/short-body.ts";
import { crossSite, embedded, isLoopback, knownHost, originOf, SAFE_METHODS } from "./guards.ts";
import { LOGIN_CSS, loginPage } from "./login-page.ts";
import { type PasswordDoor, openDoor } from "./password.ts";

export type HttpOptions = {
  /** The address to listen on: "127.0.0.1", "0.0.0.0", "::". */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Asked of everybody where it is set; it must be set where others than this machine can reach the server. */
  readonly password?: string;
  /** Where people come from through a proxy, "https://chat.example.org"; the first is the one that they are told. */
  readonly origins?: readonly string[];
  readonly log: Log;
  /** Answers /healthz: 200 while `ok`, 503 otherwise. Whoever has not shown a set password sees `ok` alone. */
  health(): Health | Promise<Health>;
  /** Answers /readyz in the same way: whether what comes in now can be taken and worked on. */
  ready?(): Promise<Health>;
  /** Answers /metrics, where there are any; behind a password it is asked for as "Authorization: Bearer <password>". */
  readonly metrics?: { text(): Promise<string>; readonly contentType: string };
  readonly clock?: Clock;
};

export type Health = { readonly ok: boolean; readonly [detail: string]: unknown };

export type HttpServer = HttpMount & {
  /** Where this machine reaches it, whatever stands before it for others. */
  readonly local: string;
  /** Ends every open request, event streams too, and frees the port. */
  close(): Promise<void>;
};

// Ten files of 50 MB over a slow line take longer than Node's five minutes.
const REQUEST_TIMEOUT_MS = 60 * 60 * 1000;
const LOGIN_BODY_BYTES = 4096;

type Mounted = { readonly handler: HttpHandler } & Partial<MountOptions>;

const OWN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics", "/login", "/login.css"]);

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  // blob: lets a page show what a person is about to send.
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; " +
    "img-src 'self' blob:; media-src 'self' blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // With "no-referrer" browsers send `Origin: null` with the form of the login page, as a page of another site does.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
};

/**
 * Starts the one server that channels mount their pages and webhooks on.
 * @throws GatewayError "http.port_in_use"; "config.invalid" for an address that is not this machine's, or one that
 *   others can reach without a password.
 */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const { host, log, clock = systemClock, origins = [] } = options;
  // Behind a proxy the address is this machine's own and the people are not.
  const loopback = isLoopback(host) && origins.length === 0;
  if (!loopback && !options.password)
    throw new GatewayError(
      "config.invalid",
      `the web server at ${host}:${options.port} can be reached by others than this machine and has no password; ` +
        "set http.password, or http.host to 127.0.0.1",
    );
  const door = options.password ? await openDoor(options.password, clock) : undefined;
  const mounts = new Map<string, Mounted>();

  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(SECURITY_HEADERS))
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
  });
  app.use(async (c, next) => {
    const mounted = closestMount(mounts, c.req.path);
    return mounted?.ownDoor ? mounted.handler(c.req.raw) : next();
  });
  app.use(async (c, next) => {
    const asked = c.req.header("host") ?? "";
    if (!knownHost(asked, { loopback, host, origins, port: portOf(server) })) {
      log.warn({ asked: asked.slice(0, 100) }, "request for an unknown host name refused");
      return c.text(
        `This server does not go by the name ${asked}. Add its address to http.origins if it should.\n`,
        421,
      );
    }
    const { headers } = c.req.raw;
    if (SAFE_METHODS.has(c.req.method) ? embedded(headers) : crossSite(headers, origins))
      return c.text("This request came from another site's page and was refused.\n", 403);
    return next();
  });
  const shown = (c: Asked, health: Health): Response =>
    c.json(door && !door.knows(c.req.header("cookie")) ? { ok: health.ok } : health, health.ok ? 200 : 503, {
      "cache-control": "no-store",
    });
  app.get("/healthz", async (c) => shown(c, await options.health()));
  app.get("/readyz", async (c) => shown(c, await (options.ready?.() ?? options.health())));
  const { metrics } = options;
  if (metrics)
    app.get("/metrics", async (c) => {
      if (door && !isKnown(c, door)) return c.text("Send the password as a bearer token.\n", 401);
      return c.body(await metrics.text(), 200, { "content-type": metrics.contentType });
    });
  if (door) mountDoor(app, door);
  app.all("*", async (c) => {
    const mounted = closestMount(mounts, c.req.path);
    return mounted ? mounted.handler(c.req.raw) : c.text("Nothing is here.\n", 404);
  });
  app.onError((error, c) => {
    log.error({ err: error, path: c.req.path }, "a request failed");
    return c.text("Something went wrong on the server; its log says what.\n", 500);
  });

  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: { requestTimeout: REQUEST_TIMEOUT_MS },
  }) as Server; // without createServer of our own it is node:http's
  await listen(server, host, options.port);

  return {
    origin: origins[0] ?? originOf(host, portOf(server)),
    local: originOf(host, portOf(server)),
    loopback,
    mount(path, handler, how) {
      if (mounts.has(path) || OWN_PATHS.has(path))
        throw new GatewayError(
          "config.invalid",
          `two channels want the web path ${path}; keep one of them in perch.yaml`,
        );
      const mounted = { handler, ...how };
      mounts.set(path, mounted);
      return () => {
        if (mounts.get(path) === mounted) mounts.delete(path);
      };
    },
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

type Asked = Context<{ Bindings: HttpBindings }>;

/** By the cookie of a page, or the password itself as programs send it. */
function isKnown(c: Asked, door: PasswordDoor): boolean {
  if (door.knows(c.req.header("cookie"))) return true;
  const [, given] = /^Bearer (.+)$/.exec(c.req.header("authorization") ?? "") ?? [];
  return given !== undefined && door.enter(given, addressOf(c)).kind === "entered";
}

function addressOf(c: Asked): string {
  return c.env.incoming.socket.remoteAddress ?? "unknown";
}

function mountDoor(app: Hono<{ Bindings: HttpBindings }>, door: PasswordDoor): void {
  app.get("/login.css", (c) => c.body(LOGIN_CSS, 200, { "content-type": "text/css; charset=utf-8" }));
  app.get("/login", (c) => c.html(loginPage(localPath(c.req.query("next")))));
  app.post("/login", async (c) => {
    const body = await shortBody(c.req.raw, LOGIN_BODY_BYTES);
    const form = new URLSearchParams(body?.toString("utf8"));
    const next = localPath(form.get("next") ?? undefined);
    const outcome = door.enter(form.get("password") ?? "", addressOf(c));
    switch (outcome.kind) {
      case "wrong":
        return c.html(loginPage(next, "That is not the password."), 403);
      case "wait":
        return c.html(loginPage(next, `Too many tries. Please wait ${outcome.seconds} s.`), 429, {
          "retry-after": String(outcome.seconds),
        });
      case "entered": {
        const secure = c.req.header("origin")?.startsWith("https:") ? "; Secure" : "";
        return c.body(null, 303, { location: next, "set-cookie": outcome.cookie + secure });
      }
    }
  });
  app.use(async (c, next) => {
    if (door.knows(c.req.header("cookie"))) return next();
    const wantsPage = c.req.method === "GET" && (c.req.header("accept") ?? "").includes("text/html");
    if (!wantsPage) return c.text("Log in at /login first.\n", 401);
    return c.redirect(`/login?next=${encodeURIComponent(localPath(c.req.path))}`, 303);
  });
}

function closestMount<T>(mounts: ReadonlyMap<string, T>, path: string): T | undefined {
  for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const found = mounts.get(at);
    if (found) return found;
  }
  return mounts.get("/");
}

/** A redirect's target stays on this server: "//evil.example" and "/\evil.example" would not. */
function localPath(next: string | undefined): string {
  return next !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : "/";
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)));
    server.listen(port, host, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): GatewayError {
  if (error.code === "EADDRINUSE")
    return new GatewayError(
      "http.port_in_use",
      `another program listens on ${host}:${port}; stop it, or set http.port to a free port`,
      { cause: error },
    );
  return new GatewayError(
    "config.invalid",
    `the web server cannot listen on ${host}:${port} (${error.code ?? asError(error).message}); ` +
      "set http.host to an address of this machine and http.port to one of 1024 to 65535",
    { cause: error },
  );
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}
