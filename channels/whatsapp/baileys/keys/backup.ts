import { z } from "zod";
import type { KeepsakeHost } from "../../../../src/core/host.ts";
import { asError, GatewayError } from "../../../../src/core/errors.ts";
import type { WhatsAppSettings } from "../../settings.ts";
import { decodeCreds, encode } from "./auth-codec.ts";
import { accountRows, CREDS, typeOf } from "./auth-rows.ts";
import { type Seal, sealWith, STATE } from "./seal.ts";

/**
 * What belongs to a moment of one conversation: used a second time, a ratchet gives keys away and the other side reads
 * nothing. Without them both sides begin anew by themselves.
 */
const OF_THE_MOMENT = new Set(["session", "sender-key", "sender-key-memory", "device-list"]);

/**
 * Numbers of one-time keys that are left out when a backup is restored, so that none which was given out since stands for
 * another key. The library sees that the newest is missing and gives WhatsApp new ones. They are numbers of 24 bits.
 */
const NUMBERS_LEFT_OUT = 10_000;

const PLACE = "backup";
const LEASE_MS = 60_000;

/** A backup as JSON; `content` is its rows, sealed where there is a key: `{"auth/creds": "<JSON>", …}`. */
const file = z.strictObject({
  perch: z.literal("whatsapp account"),
  version: z.literal(1),
  /** ISO 8601. */
  madeAt: z.string(),
  content: z.string(),
});
type KeptBy = Pick<WhatsAppSettings, "transport" | "stateKey">;

const contentRows = z.record(z.string().startsWith("auth/"), z.string());

/**
 * The account of a connection and its long-lived keys, also while it is connected elsewhere.
 * @throws GatewayError "data.unusable" where no account is linked, or its keys cannot be opened; "config.invalid" for the
 * Cloud API.
 */
export async function backup(settings: KeptBy, { id, state, clock }: KeepsakeHost): Promise<Uint8Array> {
  const seal = await sealOf(settings);
  const content: Record<string, string> = {};
  for await (const page of accountRows(state))
    for (const [row, text] of page)
      if (!OF_THE_MOMENT.has(typeOf(row))) content[row] = opened(seal, row, text, id);
  // Once more, and last: credentials that are newer than their keys mend themselves, older ones do not.
  const creds = (await state.get([CREDS])).get(CREDS);
  if (creds === undefined)
    throw new GatewayError(
      "data.unusable",
      `${id} is not linked with an account, so there is nothing to back up; link it with perch pair ${id}`,
    );
  content[CREDS] = opened(seal, CREDS, creds, id);
  const whole: z.infer<typeof file> = {
    perch: "whatsapp account",
    version: 1,
    madeAt: new Date(clock.now()).toISOString(),
    content: seal.seal(Buffer.from(JSON.stringify(content)), PLACE),
  };
  return Buffer.from(`${JSON.stringify(whole, null, 2)}\n`);
}

/**
 * Puts a backup in the place of whatever account the connection has.
 * @throws GatewayError "config.invalid" for bytes that are no such backup, or one that was sealed with another key;
 * "data.in_use" while a process is this connection.
 */
export async function restore(
  settings: KeptBy,
  { id, state }: KeepsakeHost,
  bytes: Uint8Array,
): Promise<void> {
  const seal = await sealOf(settings);
  const content = contentOf(bytes, seal);
  const lease = await state.lease(LEASE_MS);
  if (!lease)
    throw new GatewayError("data.in_use", `a running process is connected as ${id}; stop it, and try again`);
  try {
    const entries: Record<string, string | undefined> = {};
    for await (const page of accountRows(state)) for (const [row] of page) entries[row] = undefined;
    for (const [row, text] of Object.entries(content)) entries[row] = seal.seal(Buffer.from(text), row);
    await lease.set(entries);
  } finally {
    await lease.release();
  }
}

async function sealOf({ transport, stateKey }: KeptBy): Promise<Seal> {
  if (transport === "cloud")
    throw new GatewayError(
      "config.invalid",
      "a connection of the Cloud API has no account of its own to keep; what it needs stands in perch.yaml and .env",
    );
  return await sealWith(stateKey, STATE);
}

/** The rows of a backup, ready to go on with. */
function contentOf(bytes: Uint8Array, seal: Seal): Readonly<Record<string, string>> {
  try {
    const { content } = file.parse(JSON.parse(Buffer.from(bytes).toString("utf8")));
    const rows = contentRows.parse(JSON.parse(seal.open(content, PLACE).toString("utf8")));
    const creds = decodeCreds(Buffer.from(rows[CREDS] ?? ""));
    const next = creds.nextPreKeyId + NUMBERS_LEFT_OUT;
    const goingOn = { ...creds, nextPreKeyId: next, firstUnuploadedPreKeyId: next };
    return { ...rows, [CREDS]: encode(goingOn).toString("utf8") };
  } catch (thrown) {
    const cause = asError(thrown);
    const why =
      cause instanceof GatewayError
        ? `this backup cannot be opened: ${cause.message}`
        : "this is no backup of a WhatsApp account; name a file that perch backup has written";
    throw new GatewayError("config.invalid", why, { cause });
  }
}

function opened(seal: Seal, row: string, text: string, id: string): string {
  try {
    return seal.open(text, row).toString("utf8");
  } catch (thrown) {
    const cause = asError(thrown);
    throw new GatewayError("data.unusable", `the account of ${id} cannot be opened: ${cause.message}`, {
      cause,
    });
  }
}
