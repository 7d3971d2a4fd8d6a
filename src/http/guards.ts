import { isIP } from "node:net";

export const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether only this machine can reach what listens on `host`. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Where this machine reaches what listens there. */
export function originOf(host: string, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

export type Reach = {
  readonly loopback: boolean;
  readonly host: string;
  readonly port: number;
  readonly origins: readonly string[];
};

/**
 * Whether a Host header names this server. A page of another site can point its own name at our address (DNS rebinding)
 * and would then be of our origin; it cannot make an IP address or our own names its own.
 */
export function knownHost(asked: string, reach: Reach): boolean {
  const { name, port } = splitHost(asked.toLowerCase());
  if (reach.origins.some((origin) => hostOf(origin) === asked.toLowerCase())) return true;
  const ownPort = (port === "" ? 80 : Number(port)) === reach.port;
  if (name === "localhost" || name === "127.0.0.1" || name === "::1") return ownPort;
  if (reach.loopback) return name === reach.host && ownPort;
  // A container's published port differs from the one inside, so the port is not looked at here.
  return isIP(name) !== 0 || name === reach.host;
}

/** Whether a state-changing request comes from a page of another site. Programs that are no browser send no Origin. */
export function crossSite(headers: Headers, origins: readonly string[]): boolean {
  const origin = headers.get("origin");
  if (origin === null) {
    const site = headers.get("sec-fetch-site");
    return site !== null && site !== "same-origin" && site !== "none";
  }
  if (origins.includes(origin)) return false;
  const host = headers.get("host");
  return host === null || hostOf(origin) !== host.toLowerCase();
}

/**
 * Whether a page of another site loads something here. It could not read it, but would hold connections open and learn
 * what there is. Following a link to us is no such thing.
 */
export function embedded(headers: Headers): boolean {
  const site = headers.get("sec-fetch-site");
  const elsewhere = site === "cross-site" || site === "same-site";
  return elsewhere && headers.get("sec-fetch-mode") !== "navigate";
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function splitHost(asked: string): { readonly name: string; readonly port: string } {
  const [, bracketed, plain, port = ""] =
    /^(?:\[([0-9a-f:.]+)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(asked) ?? [];
  return { name: bracketed ?? plain ?? "", port };
}
