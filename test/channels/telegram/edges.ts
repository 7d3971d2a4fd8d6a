import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createNetServer,
  type Server,
  type Socket,
} from "node:net";

/** Something between Perch and Telegram, on a free port of this machine. */
export type Edge = {
  /** "http://127.0.0.1:…" */
  readonly url: string;
  readonly port: number;
  /** What went through it, in order: paths, or the "host:port" that tunnels lead to. */
  readonly passed: readonly string[];
  /** Connections that are open now. */
  readonly open: () => number;
  close(): Promise<void>;
};

/** Passes requests on to `target`, but for those that `answer` answers itself: true where it has. */
export async function relay(
  target: string,
  answer: (request: IncomingMessage, response: ServerResponse) => boolean,
): Promise<Edge> {
  const passed: string[] = [];
  const server = createServer((asked, response) => {
    passed.push(asked.url ?? "");
    if (answer(asked, response)) return;
    const { method, headers } = asked;
    const onward = request(target + asked.url, { method: method ?? "GET", headers }, (from) => {
      response.writeHead(from.statusCode ?? 502, from.headers);
      from.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    asked.pipe(onward);
  });
  return await listening(server, passed);
}

/** What a CONNECT gets. */
export type Verdict = "pass" | "silence" | "break" | { readonly status: number };

/** A proxy that takes CONNECT. With a password it asks for "perch:<password>". */
export async function httpProxy(
  options: { readonly password?: string; readonly verdict?: () => Verdict } = {},
): Promise<Edge> {
  const passed: string[] = [];
  const server = createServer((_asked, response) => void response.writeHead(400).end());
  server.on("connect", (asked: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on("error", () => {});
    const basic = `Basic ${Buffer.from(`perch:${options.password}`).toString("base64")}`;
    const known = options.password === undefined || asked.headers["proxy-authorization"] === basic;
    const verdict = known ? (options.verdict?.() ?? "pass") : { status: 407 };
    socket.on("end", () => socket.end());
    if (verdict === "silence") return void socket.resume(); // or it would not notice that the client goes
    if (verdict === "break") return void socket.destroy();
    if (verdict !== "pass")
      return void socket.end(`HTTP/1.1 ${verdict.status} No\r\ncontent-length: 0\r\n\r\n`);
    const to = asked.url ?? "";
    passed.push(to);
    const onward = connect(Number(to.split(":")[1]), to.split(":")[0] ?? "", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.write(head);
      joined(socket, onward);
    });
    onward.on("error", () => socket.destroy());
  });
  return await listening(server, passed);
}

/** SOCKS5 as RFC 1928 and 1929 say; with a password it asks for "perch" and that. */
export async function socksProxy(
  options: { readonly password?: string; readonly silent?: true } = {},
): Promise<Edge> {
  const passed: string[] = [];
  const server = createNetServer((socket) => {
    socket.on("error", () => {});
    if (options.silent) return;
    // The client waits for each answer, so that each of its words comes in one piece.
    const next = (): Promise<Buffer> => new Promise((resolve) => socket.once("data", resolve));
    void (async () => {
      await next();
      socket.write(Buffer.from([5, options.password === undefined ? 0 : 2]));
      if (options.password !== undefined) {
        const given = await next();
        const user = given.subarray(2, 2 + (given[1] ?? 0)).toString();
        const password = given.subarray(3 + (given[1] ?? 0)).toString();
        const isRight = user === "perch" && password === options.password;
        socket.write(Buffer.from([1, isRight ? 0 : 1]));
        if (!isRight) return void socket.end();
      }
      const asked = await next();
      const isName = asked[3] === 3;
      const host = isName
        ? asked.subarray(5, 5 + (asked[4] ?? 0)).toString()
        : [...asked.subarray(4, 8)].join(".");
      const port = asked.readUInt16BE(asked.length - 2);
      passed.push(`${host}:${port}`);
      const onward = connect(port, host, () => {
        socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        joined(socket, onward);
      });
      onward.on("error", () => void socket.end(Buffer.from([5, 5, 0, 1, 0, 0, 0, 0, 0, 0])));
    })();
  });
  return await listening(server, passed);
}

function joined(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  one.on("close", () => other.destroy());
  other.on("close", () => one.destroy());
}

async function listening(server: Server, passed: readonly string[]): Promise<Edge> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    passed,
    open: () => sockets.size,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
