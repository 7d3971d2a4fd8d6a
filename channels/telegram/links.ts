/**
 * The address as Telegram takes it for a link, or undefined: http, https, tg and ton; a host needs a dot.
 * The server refuses the whole message over one link that it does not accept.
 */
export function acceptableLink(url: string): string | undefined {
  const scheme = /^(https?|tg|ton):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  // A single label ("localhost"), an empty one ("a..b") and an IPv6 address are no hosts to Telegram.
  const dotted = /^[^.[\]]+(?:\.[^.[\]]+)+$/.test(hostname);
  if (scheme.startsWith("http") && !dotted) return undefined;
  // What stands for itself in a URL stays; blanks and brackets that break it do not.
  return url.replaceAll(/[\s"<>`{}|\\^]/g, (sign) => encodeURIComponent(sign));
}
