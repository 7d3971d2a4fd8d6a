import type { Path } from "./path.ts";

// Bot API tokens, the keys of OpenAI, Anthropic and Google as they print them, and a password in a server's address.
const SECRET_TEXT =
  /\d{6,}:[\w-]{30,}|\bsk-[\w-]{16,}|\bAIza[\w-]{30,}|(?<=\b(?:postgres(?:ql)?|rediss?):\/\/[^\s/:@]*:)[^\s/]+(?=@)/g;
const SECRET_KEY = /^(?:token|secret|password|apiKey)$|(?:Token|Secret|Password|ApiKey)$/;
const PEOPLE_KEYS = new Set(["owner", "allow", "deny", "chats", "senders"]);
const LONGEST_SHOWN = 60; // characters

/** Keys named token, secret, password, apiKey, or ending so (appSecret), hold what must not stand in the file. */
export function holdsSecret(path: Path): boolean {
  const key = path.findLast((step) => typeof step === "string");
  return key !== undefined && SECRET_KEY.test(key);
}

export function looksSecret(text: string): boolean {
  return text.search(SECRET_TEXT) !== -1;
}

// What a program or server of others calls its secrets.
const SECRET_NAME =
  /(?:^|[_-])(?:token|secret|password|passwd|pass|key|auth|authorization|credentials?|cookie)$/i;

/** Environment and headers of a server of tools: some of it is secret, and what is not may stand in the file. */
export function mayHoldSecret(path: Path): boolean {
  return path[0] === "mcp" && (path[2] === "env" || path[2] === "headers") && path.length > 3;
}

/** A name under which a secret is handed on, such as GITHUB_TOKEN or Authorization. */
export function namesSecret(path: Path): boolean {
  return mayHoldSecret(path) && SECRET_NAME.test(String(path.at(-1)));
}

// What stands before an @ in a server's address may be a password, also where the address is not written as one.
const ADDRESSES: ReadonlySet<string> = new Set(["store.url", "cluster.redis"]);

/** What a fault may show of the value at a path; `undefined` where that is nothing. */
export function showable(written: string, path: Path, type: "text" | "number"): string | undefined {
  if (holdsSecret(path) || mayHoldSecret(path)) return undefined;
  const hidden = hideSecrets(written);
  if (ADDRESSES.has(path.join(".")) && hidden === written && written.includes("@")) return undefined;
  const person = type === "text" || path.some((step) => typeof step === "string" && PEOPLE_KEYS.has(step));
  const masked = person ? maskDigits(hidden) : hidden;
  const short = masked.length > LONGEST_SHOWN ? `${masked.slice(0, LONGEST_SHOWN)}…` : masked;
  return type === "text" ? JSON.stringify(short) : short;
}

/** Takes what looks like a secret, and the given secrets, out of a text. */
export function hideSecrets(text: string, secrets: readonly string[] = []): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "…"), text.replaceAll(SECRET_TEXT, "…"));
}

/** Seven digits and more, however they are grouped, may be somebody's number: only their ends are shown. */
export function maskDigits(text: string): string {
  return text.replaceAll(/\d(?:[ ()-]?\d){6,}/g, (digits) => `${digits.slice(0, 2)}…${digits.slice(-2)}`);
}
