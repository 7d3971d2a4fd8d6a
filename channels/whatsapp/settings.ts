import { z } from "zod";
import { isLoopback } from "./loopback.ts";

/**
 * A person is a phone number in E.164, or "lid:" and the number that WhatsApp itself knows them by, or of the Cloud API the
 * id that one business knows them by ("US.1349…"); a group ends in @g.us.
 */
export const ID = /^(\+[1-9]\d{6,14}|lid:\d{1,20}|[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}|[\d-]{5,40}@g\.us)$/;

/** The keys of a WhatsApp connection in perch.yaml, beside those that all channels have. */
export const settings = z
  .strictObject({
    transport: z
      .enum(["baileys", "cloud"])
      .default("baileys")
      .describe("A linked device of an ordinary account (unofficial), or Meta's Cloud API."),
    stateKey: z
      .string()
      .min(32, "is shorter than 32 characters; Make one with: openssl rand -base64 32")
      .exactOptional()
      .describe("Seals the account's keys on the disk; whoever has them is the account."),
    proxy: z
      .url({ protocol: /^(https?|socks5h?)$/ })
      .exactOptional()
      .describe("A proxy through which WhatsApp is reached: http://, https:// or socks5://."),
    version: z
      .string()
      .regex(/^\d+\.\d+\.\d+$/, "a version is three numbers; Write one such as 2.3000.1043857760")
      .exactOptional()
      .describe("The version of WhatsApp Web that is told, where the built-in one is refused as too old."),
    device: z
      .string()
      .min(1)
      .max(40)
      .default("Perch")
      .describe("What stands under Linked devices on the phone."),
    selfChat: z
      .boolean()
      .default(false)
      .describe("Whether the agent answers what the account's own person writes to themselves."),
    readReceipts: z
      .boolean()
      .default(true)
      .describe("Whether people see that their message was read, once the agent takes it up."),
    calls: z
      .enum(["ignore", "reject"])
      .default("ignore")
      .describe("Whether calls ring on, or are refused with a sentence."),
    chatSeconds: z
      .number()
      .min(0)
      .max(60)
      .default(1)
      .describe("Seconds between two messages to one chat; lower is seen as a machine."),
    perMinute: z
      .int()
      .min(1)
      .max(100_000)
      .default(20)
      .describe("Messages a minute to all chats together; more is seen as a machine."),
    testServer: z
      .strictObject({
        url: z.url({ protocol: /^wss?$/ }).refine(isLoopback, {
          message: "is not on this machine; Take testServer out: it is for Perch's own tests",
        }),
        ca: z.string(),
      })
      .exactOptional()
      .describe("For Perch's own tests: a WhatsApp on this machine."),
    cloud: z
      .strictObject({
        phoneNumberId: z
          .string()
          .regex(/^\d{5,20}$/, "is no phone number id; Copy it from the app's API setup"),
        token: z.string().min(20),
        appSecret: z
          .string()
          .regex(/^[0-9a-f]{32}$/, "is no app secret; Copy it from the app's basic settings"),
        verifyToken: z.string().min(16),
        graphVersion: z
          .string()
          .regex(/^v\d+\.\d+$/)
          .default("v24.0"),
        graphRoot: z
          .url({ protocol: /^https?$/ })
          .refine(
            (root) => root.startsWith("https:") || isLoopback(root),
            "would send the token in the clear; Write an address that begins with https",
          )
          .default("https://graph.facebook.com"),
      })
      .exactOptional()
      .describe("What Meta's Cloud API needs."),
  })
  .refine((value) => value.transport !== "cloud" || value.cloud !== undefined, {
    message: "needs phoneNumberId, token, appSecret and verifyToken; Write them under cloud",
    path: ["cloud"],
  });

export type WhatsAppSettings = z.output<typeof settings>;
export type CloudSettings = NonNullable<WhatsAppSettings["cloud"]>;
