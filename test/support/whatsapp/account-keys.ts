import { join } from "node:path";
import { BufferJSON } from "@whiskeysockets/baileys";
import Database from "better-sqlite3";
import { sealWith, STATE } from "../../../channels/whatsapp/baileys/keys/seal.ts";

/**
 * Every key of the account that stands in a data folder, private and public, by its row and its place there:
 * "auth/creds.noiseKey.private". A gateway may be running on it.
 */
export async function accountKeys(
  dataFolder: string,
  stateKey: string | undefined,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const seal = await sealWith(stateKey, STATE);
  const file = new Database(join(dataFolder, "perch.db"), { readonly: true });
  try {
    const rows = file
      .prepare("select key, value from channel_state where key like 'auth/%'")
      .all() as readonly { readonly key: string; readonly value: string }[]; // as selected
    return new Map(
      rows.flatMap(({ key, value }) => {
        const read: unknown = JSON.parse(seal.open(value, key).toString(), BufferJSON.reviver);
        return keysWithin(read, key);
      }),
    );
  } finally {
    file.close();
  }
}

/** Signal's keys have 32 bytes, public ones one more before them; what is derived for a message has up to twice as many. */
const KEY_BYTES = { least: 32, most: 64 };
const BASE64 = /^[A-Za-z0-9+/]{43,86}={0,2}$/;

function keysWithin(value: unknown, place: string): readonly (readonly [string, Uint8Array])[] {
  if (typeof value === "string")
    return BASE64.test(value) ? keysWithin(Buffer.from(value, "base64"), place) : [];
  if (value instanceof Uint8Array) {
    if (value.length < KEY_BYTES.least) return [];
    if (value.length <= KEY_BYTES.most) return [[place, value]];
    // Sender keys are JSON in bytes, in which bytes are lists of numbers.
    return keysWithin(jsonIn(value), place);
  }
  if (isBytes(value)) return keysWithin(Uint8Array.from(value), place);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => keysWithin(part, `${place}.${name}`));
}

function isBytes(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) && value.length >= KEY_BYTES.least && value.every((byte) => typeof byte === "number")
  );
}

function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return undefined;
  }
}
