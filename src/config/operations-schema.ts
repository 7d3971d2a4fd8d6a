import { z } from "zod";

/** Where the facts are. */
export const storeSchema = z
  .strictObject({
    url: z
      .url({
        protocol: /^postgres(?:ql)?$/,
        error:
          "is no address of a PostgreSQL server; Write one such as postgres://perch@127.0.0.1:5432/perch",
      })
      .exactOptional()
      .describe("A PostgreSQL server for the facts; without it they are in a file in data.folder."),
  })
  .prefault({});

/** How several processes work together. Their facts are in one database: `store.url`. */
export const clusterSchema = z
  .strictObject({
    redis: z
      .url({
        protocol: /^rediss?$/,
        hostname: /./,
        error: "is no address of a Redis; Write one such as redis://127.0.0.1:6379",
      })
      .describe("Who works on what is told over this Redis, and a turn's signs of life."),
    prefix: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,39}$/, "a prefix is 1–40 lower-case letters, digits and hyphens; Rename it")
      .default("perch")
      .describe("What all its keys begin with, where several Perches share one Redis."),
  })
  .describe("Several processes as one Perch: `perch start --role channels`, `--role workers`, `--role web`.");

export const telemetrySchema = z
  .strictObject({
    metrics: z.boolean().default(false).describe("Whether /metrics shows numbers for Prometheus."),
    traces: z
      .url({ protocol: /^https?$/ })
      .exactOptional()
      .describe("An OpenTelemetry collector's address for traces: http://127.0.0.1:4318/v1/traces."),
  })
  .prefault({});

export const bucketSchema = z
  .strictObject({
    name: z.string().min(1).describe("The bucket, which must be there."),
    region: z.string().min(1).default("us-east-1"),
    endpoint: z
      .url({ protocol: /^https?$/ })
      .exactOptional()
      .describe("A server that speaks like S3; without it, AWS."),
    prefix: z.string().default("perch/").describe("What the names of all objects begin with."),
    keyId: z.string().min(1).describe("The access key's id."),
    secret: z.string().min(1).describe("The secret access key."),
  })
  .describe("Media are kept in an S3 bucket; the data folder then holds what was used lately.");
