import { createHash, createHmac, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import type { Clock } from "../core/clock.ts";

export type PasswordDoor = {
  /** Whether a Cookie header carries a session that still holds. */
  knows(cookies: string | undefined): boolean;
  /** `from` is the caller's address; wrong passwords are counted by it. */
  enter(password: string, from: string): Entry;
};

export type Entry =
  | { readonly kind: "entered"; readonly cookie: string }
  | { readonly kind: "wrong" }
  | { readonly kind: "wait"; readonly seconds: number };

const COOKIE = "perch_session";
const SESSION_SECONDS = 30 * 24 * 60 * 60;
const TRIES = 5;
const WINDOW_MS = 60_000;
const COUNTED_ADDRESSES = 1000;

/**
 * A session is its own expiry, signed with a key drawn from the password: it outlives a restart and ends with the
 * password. The key takes scrypt's time to draw, so a stolen cookie is no cheap test for guesses.
 */
export async function openDoor(password: string, clock: Clock): Promise<PasswordDoor> {
  const key = await (promisify(scrypt) as DrawKey)(password, "perch session", 32);
  const wrong = new Map<string, { count: number; readonly until: number }>();

  function knows(cookies: string | undefined): boolean {
    for (const cookie of (cookies ?? "").split(/; */)) {
      const [, expires, signature] = /^perch_session=(\d{1,12})\.([\w-]+)$/.exec(cookie) ?? [];
      if (expires === undefined || signature === undefined) continue;
      if (same(signature, sign(expires)) && Number(expires) * 1000 > clock.now()) return true;
    }
    return false;
  }

  function enter(given: string, from: string): Entry {
    const now = clock.now();
    for (const [address, tries] of wrong) if (tries.until <= now) wrong.delete(address);
    const tries = wrong.get(from) ?? { count: 0, until: now + WINDOW_MS };
    // With very many addresses at once it is one guesser with many machines: all of them wait.
    const crowded = wrong.size >= COUNTED_ADDRESSES && !wrong.has(from);
    if (crowded || tries.count >= TRIES)
      return { kind: "wait", seconds: Math.ceil((tries.until - now) / 1000) };
    if (!same(given, password)) {
      tries.count += 1;
      wrong.set(from, tries);
      return { kind: "wrong" };
    }
    const expires = String(Math.floor(now / 1000) + SESSION_SECONDS);
    return {
      kind: "entered",
      cookie: `${COOKIE}=${expires}.${sign(expires)}; Path=/; Max-Age=${SESSION_SECONDS}; HttpOnly; SameSite=Strict`,
    };
  }

  function sign(expires: string): string {
    return createHmac("sha256", key).update(expires).digest("base64url");
  }

  return { knows, enter };
}

// promisify loses which overload of scrypt is meant.
type DrawKey = (password: string, salt: string, bytes: number) => Promise<Buffer>;

/** Compares digests, so that neither content nor length shows in the time it takes. */
function same(a: string, b: string): boolean {
  return timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
}
