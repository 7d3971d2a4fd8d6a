import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { BucketSettings } from "../../src/store/bucket.ts";

const PAGE = 2;

/** A server that speaks as much of S3 as is used, checks signatures and sums, and fails as it is told. */
export type BucketServer = {
  readonly settings: BucketSettings;
  readonly objects: Map<string, { readonly bytes: Buffer; putAt: number }>;
  /** "GET /media/perch/ab/…", as they came. */
  readonly calls: string[];
  /** The next calls end like this instead. */
  readonly faults: ("reset" | "reset after" | number)[];
  close(): Promise<void>;
};

export async function startBucket(): Promise<BucketServer> {
  const objects: BucketServer["objects"] = new Map();
  const calls: string[] = [];
  const faults: BucketServer["faults"] = [];
  const settings = {
    bucket: "media",
    region: "eu-central-1",
    prefix: "perch/",
    keyId: "AKIATEST",
    secret: "secret",
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      calls.push(`${request.method} ${request.url}`);
      const fault = faults.shift();
      if (fault === "reset") return void request.socket.destroy();
      if (typeof fault === "number") return answer(response, fault, error("SlowDown"));
      answerTo(request, response, Buffer.concat(chunks), fault === "reset after");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // TCP servers have no other address

  function answerTo(request: IncomingMessage, response: ServerResponse, body: Buffer, resets: boolean): void {
    const url = new URL(request.url ?? "/", `http://127.0.0.1:${port}`);
    if (request.headers.authorization !== signatureOf(request, url, settings))
      return answer(response, 403, error("SignatureDoesNotMatch"));
    const [, bucket, ...rest] = url.pathname.split("/");
    if (bucket !== settings.bucket) return answer(response, 404, error("NoSuchBucket"));
    const key = decodeURIComponent(rest.join("/"));
    const object = objects.get(key);
    switch (request.method) {
      case "PUT": {
        const sum = createHash("sha256").update(body).digest("base64");
        if (request.headers["x-amz-checksum-sha256"] !== sum)
          return answer(response, 400, error("BadDigest"));
        objects.set(key, { bytes: body, putAt: Date.now() });
        return resets ? void request.socket.destroy() : answer(response, 200, "");
      }
      case "DELETE":
        objects.delete(key);
        return answer(response, 204, "");
      case "HEAD":
      case "GET":
        if (key === "") return answer(response, 200, listing(url));
        if (!object) return answer(response, 404, request.method === "GET" ? error("NoSuchKey") : "");
        response.writeHead(200, {
          "content-length": object.bytes.length,
          "last-modified": new Date(object.putAt).toUTCString(),
        });
        return void response.end(request.method === "GET" ? object.bytes : undefined);
      default:
        return answer(response, 405, error("MethodNotAllowed"));
    }
  }

  function listing(url: URL): string {
    const prefix = url.searchParams.get("prefix") ?? "";
    const after = url.searchParams.get("continuation-token") ?? "";
    const all = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
    const page = all.slice(0, PAGE);
    const more = all.length > PAGE ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
    const contents = page.map(
      (key) =>
        `<Contents><Key>${key}</Key><LastModified>${new Date(objects.get(key)?.putAt ?? 0).toISOString()}</LastModified></Contents>`,
    );
    return `<ListBucketResult><IsTruncated>${all.length > PAGE}</IsTruncated>${more}${contents.join("")}</ListBucketResult>`;
  }

  return {
    settings: { ...settings, endpoint: `http://127.0.0.1:${port}` },
    objects,
    calls,
    faults,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/xml" }).end(body);
}

function error(code: string): string {
  return `<Error><Code>${code}</Code></Error>`;
}

/** AWS Signature Version 4 of a request, by the headers that it says are signed. */
function signatureOf(
  { headers, method }: IncomingMessage,
  url: URL,
  { region, keyId, secret }: { readonly region: string; readonly keyId: string; readonly secret: string },
): string {
  const [, signed = ""] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? "") ?? [];
  const at = String(headers["x-amz-date"]);
  const scope = `${at.slice(0, 8)}/${region}/s3/aws4_request`;
  const query = [...url.searchParams]
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .toSorted()
    .join("&");
  const canonical = [
    method,
    url.pathname,
    query,
    ...signed.split(";").map((name) => `${name}:${String(headers[name]).trim()}`),
    "",
    signed,
    headers["x-amz-content-sha256"],
  ].join("\n");
  const hmac = (by: string | Buffer, text: string): Buffer => createHmac("sha256", by).update(text).digest();
  const toSign = ["AWS4-HMAC-SHA256", at, scope, createHash("sha256").update(canonical).digest("hex")].join(
    "\n",
  );
  const signing = scope.split("/").reduce<string | Buffer>((by, part) => hmac(by, part), `AWS4${secret}`);
  const signature = createHmac("sha256", signing).update(toSign).digest("hex");
  return `AWS4-HMAC-SHA256 Credential=${keyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
}
