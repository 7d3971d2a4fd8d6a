import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { type Clock, pause } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";

/** Where objects are kept: S3, or a server that speaks like it. */
export type BucketSettings = {
  readonly bucket: string;
  readonly region: string;
  /** Absent for AWS itself. */
  readonly endpoint?: string;
  /** What all keys begin with: "perch/". */
  readonly prefix: string;
  readonly keyId: string;
  readonly secret: string;
};

export type Bucket = {
  /** Durable when it resolves. `sha256` is of the file's bytes, in hex: other bytes are not taken. */
  put(
    key: string,
    file: { readonly path: string; readonly bytes: number; readonly sha256: string },
  ): Promise<void>;
  /** Undefined where there is none. */
  get(key: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** When it was put last, epoch ms; undefined where there is none. */
  putAt(key: string): Promise<number | undefined>;
  remove(key: string): Promise<void>;
  /** All that there are, in lists. */
  list(): AsyncIterable<readonly { readonly key: string; readonly putAt: number }[]>;
  close(): void;
};

const TRIES = 3;
const FIRST_WAIT_MS = 200;

/** Every call is tried three times. @throws GatewayError "store.unavailable" where that does not help. */
export function openBucket(
  { bucket, region, endpoint, prefix, keyId, secret }: BucketSettings,
  clock: Clock,
): Bucket {
  const client = new S3Client({
    region,
    maxAttempts: TRIES,
    credentials: { accessKeyId: keyId, secretAccessKey: secret },
    // Names of buckets are no host names on servers of one's own.
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    // Servers that only speak like S3 do not know the newer sums; each object has its SHA-256, which all know.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  const at = (key: string): { readonly Bucket: string; readonly Key: string } => ({
    Bucket: bucket,
    Key: prefix + key,
  });

  return {
    async put(key, { path, bytes, sha256 }) {
      const ChecksumSHA256 = Buffer.from(sha256, "hex").toString("base64");
      // The library tries anew what it has in memory; a file it has read once is for us to open again.
      for (let tries = 1; ; tries += 1) {
        const body = createReadStream(path);
        const put = new PutObjectCommand({ ...at(key), Body: body, ContentLength: bytes, ChecksumSHA256 });
        try {
          return void (await named("written", () => client.send(put)));
        } catch (error) {
          if (tries === TRIES) throw error;
          await pause(clock, FIRST_WAIT_MS * 2 ** (tries - 1));
        } finally {
          body.destroy();
        }
      }
    },
    get: (key) =>
      named("read", async () => {
        const { Body } = await client.send(new GetObjectCommand(at(key)));
        return Body as Readable | undefined; // as it is on Node
      }),
    putAt: (key) =>
      named("looked for", async () =>
        (await client.send(new HeadObjectCommand(at(key)))).LastModified?.getTime(),
      ),
    remove: async (key) => void (await named("removed", () => client.send(new DeleteObjectCommand(at(key))))),
    async *list() {
      let from: string | undefined;
      do {
        const page = await named("listed", () =>
          client.send(
            new ListObjectsV2Command({
              Bucket: bucket,
              Prefix: prefix,
              ...(from === undefined ? {} : { ContinuationToken: from }),
            }),
          ),
        );
        yield (page?.Contents ?? []).flatMap(({ Key, LastModified }) =>
          Key === undefined ? [] : [{ key: Key.slice(prefix.length), putAt: LastModified?.getTime() ?? 0 }],
        );
        from = page?.NextContinuationToken;
      } while (from !== undefined);
    },
    close: () => client.destroy(),
  };

  /** Undefined for what is not there. Errors of the library name addresses and keys, so only their name is told. */
  async function named<T>(what: string, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
      if ($metadata?.httpStatusCode === 404 && name !== "NoSuchBucket") return undefined;
      const status = $metadata?.httpStatusCode ?? "no answer";
      throw new GatewayError(
        "store.unavailable",
        `media in the bucket "${bucket}" could not be ${what} (${name}, ${status}); look at its address and its keys`,
      );
    }
  }
}
