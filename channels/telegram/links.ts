/**
 * The address as Telegram takes it for a link, or undefined: http, https, tg and ton. A host of the first two has a dot
 * and ends in letters, or is an IPv4 address; one of the others is a single word.
 * The server refuses the whole message over one link that it does not accept.
 */
export function acceptableLink(url: string): string | undefined {
  const [, scheme = "", user = "", host = "", port = ""] = PARTS.exec(url) ?? [];
  if (host === "" || url.length > LONGEST || !URL.canParse(url)) return undefined;
  const web = /^https?$/i.test(scheme);
  // A single label ("localhost"), an empty one ("a..b") and an IPv6 address are no hosts to Telegram.
  const known = web ? HOST.test(host) : /^[\w-]+$/.test(host) && user === "" && port === "";
  if (!known) return undefined;
  // What stands for itself in a URL stays; blanks and brackets that break it do not.
  return url.replaceAll(/[\s"<>`{}|\\^]/g, (sign) => encodeURIComponent(sign));
}

/** The entities of a message have room for some 9,500 bytes together, and are refused beyond. */
const LONGEST = 4096;
const PARTS = /^(https?|tg|ton):\/\/([^/?#@\s]*@)?([^/?#:@\s]+)(:\d{1,5})?(?=[/?#]|$)/i;
const HOST = /^(?:(?:[^.[\]\\"<>`{}|^%]+\.)+[^.[\]\\"<>`{}|^%\d]{2,}|(?:\d{1,3}\.){3}\d{1,3})$/u;
