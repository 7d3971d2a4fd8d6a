import { lookup as dnsLookup, type LookupAddress } from "node:dns";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { type Clock, deadline } from "../core/clock.ts";
import { asError, GatewayError } from "../core/errors.ts";

/** What is fetched over the net for an answer, and from where. */
export type RemoteRules = {
  /** Names of hosts, in lower case; their subdomains are others. */
  readonly hosts: readonly string[];
  readonly clock: Clock;
  /** Stand-ins for the net's names and for what is public in it. */
  readonly lookup?: LookupFunction;
  readonly isPublic?: (address: string) => boolean;
};

const MOST_REDIRECTS = 3;
/** From the first question to the last byte. */
const FETCH_MS = 30_000;

/** Whether a reference of an answer is fetched instead of staying a link. */
export function isAllowed(url: string, hosts: readonly string[]): boolean {
  return hosts.length > 0 && parse(url, hosts) !== undefined;
}

/**
 * Fetches a file from one of the hosts that the operator allows, and hands its bytes to `take`. Every address on the way
 * is asked for once, must be a public one, and is the one that is connected to; redirects, three at most, lead to allowed
 * hosts and never from https to http.
 * @throws GatewayError "media.outside_root" where it leads elsewhere, "media.unavailable" where nothing came. What
 * `take` throws.
 */
export async function fetchRemote<T>(
  address: string,
  rules: RemoteRules,
  signal: AbortSignal,
  take: (chunks: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<{ readonly taken: T; readonly filename: string }> {
  const late = new GatewayError("media.unavailable", `it took longer than ${FETCH_MS / 1_000} s`);
  const time = deadline(rules.clock, FETCH_MS, late);
  const ended = new AbortController();
  const end = (): void => ended.abort(signal.aborted ? signal.reason : time.signal.reason);
  signal.addEventListener("abort", end, { once: true });
  time.signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    const { response, url } = await follow(address, rules, ended.signal);
    const taken = await take(bodyOf(response, ended.signal));
    return { taken, filename: nameIn(url) };
  } finally {
    time.clear();
    signal.removeEventListener("abort", end);
    // Lets go of the connection, also where not all was wanted.
    ended.abort();
  }
}

async function follow(
  address: string,
  rules: RemoteRules,
  signal: AbortSignal,
): Promise<{ readonly response: IncomingMessage; readonly url: URL }> {
  let url = parse(address, rules.hosts);
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    if (url === undefined) throw refused("it leads to a host that is not allowed");
    const response = await ask(url, rules, signal);
    const status = response.statusCode ?? 0;
    const to = response.headers.location;
    if (status === 200) return { response, url };
    response.destroy();
    if (status < 300 || status >= 400 || to === undefined)
      throw new GatewayError("media.unavailable", `${url.hostname} answered ${status}`);
    const next: URL | undefined = URL.canParse(to, url.href)
      ? parse(new URL(to, url).href, rules.hosts)
      : undefined;
    if (url.protocol === "https:" && next?.protocol === "http:") throw refused("it leads from https to http");
    url = next;
  }
  throw new GatewayError("media.unavailable", `it leads on more than ${MOST_REDIRECTS} times`);
}

/** The address, if it is one that may be asked: http or https, an allowed host, no name and password. */
function parse(address: string, hosts: readonly string[]): URL | undefined {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  const plain = url.username === "" && url.password === "";
  return plain && hosts.includes(url.hostname.replace(/\.$/, "")) ? url : undefined;
}

function ask(url: URL, rules: RemoteRules, signal: AbortSignal): Promise<IncomingMessage> {
  const isPublic = rules.isPublic ?? isPublicAddress;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve, reject) => {
    const fail = (thrown: unknown): void => {
      const words = `${url.hostname} could not be reached`;
      if (signal.aborted) reject(asError(signal.reason));
      else if (thrown instanceof GatewayError) reject(thrown);
      else reject(new GatewayError("media.unavailable", words, { cause: thrown }));
    };
    if (signal.aborted) return fail(signal.reason);
    // A name is not asked for where the address stands there itself.
    if (isIP(host) !== 0 && !isPublic(host)) return fail(refused("its address is not a public one"));
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = send(url, {
      // A connection of its own, to the very address that was looked at.
      agent: false,
      lookup: onlyPublic(rules.lookup ?? dnsLookup, isPublic),
      headers: { accept: "image/*, audio/*, video/*, application/*;q=0.5", "user-agent": "Perch" },
      signal,
    });
    request.once("response", (response) => {
      // Whoever reads it is told; without a listener an error while nobody reads would end the process.
      response.on("error", () => {});
      resolve(response);
    });
    request.on("error", fail);
    request.end();
  });
}

/** A resolver that gives nothing when any of a name's addresses is not public. */
function onlyPublic(lookup: LookupFunction, isPublic: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, [], 0);
      const addresses: readonly LookupAddress[] =
        typeof found === "string" ? [{ address: found, family: isIP(found) }] : found;
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isPublic(address)))
        return callback(refused("its address is not a public one"), [], 0);
      if (options.all) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };
}

async function* bodyOf(response: IncomingMessage, signal: AbortSignal): AsyncIterable<Uint8Array> {
  try {
    yield* response as AsyncIterable<Uint8Array>; // no encoding is set, so chunks are buffers
  } catch (error) {
    if (signal.aborted) throw asError(signal.reason);
    throw new GatewayError("media.unavailable", "the download broke off", { cause: error });
  }
}

function nameIn({ pathname }: URL): string {
  const last = pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function refused(why: string): GatewayError {
  return new GatewayError("media.outside_root", `the address is not fetched: ${why}`);
}

// Addresses that are not of the public net, by the IANA registries of special-purpose addresses; with them those that
// an IPv6 address only wraps (NAT64, 6to4, Teredo), for what they lead to is looked at by nobody.
const PRIVATE = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const)
  PRIVATE.addSubnet(net, bits, "ipv4");
// Of IPv6 only what is given out is public.
const GIVEN_OUT = new BlockList();
GIVEN_OUT.addSubnet("2000::", 3, "ipv6");
for (const [net, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  PRIVATE.addSubnet(net, bits, "ipv6");

/** Whether an address belongs to the public net. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !PRIVATE.check(address, "ipv4");
    case 6:
      return GIVEN_OUT.check(address, "ipv6") && !PRIVATE.check(address, "ipv6");
    default:
      return false;
  }
}
