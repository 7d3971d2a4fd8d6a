import { type Lexer, Tokenizer, type TokenizerObject } from "marked";
import { multiplies, opensBeside } from "./emphasis.ts";

// From each sign anew the parser looks to the end of the text for what may not be there, so that hostile texts take the
// square of their length. These bounds are far beyond what people write.

/** How far plain text is read in one step. */
export const LOOK_AHEAD = 1_000;
const LONGEST_ADDRESS = 8_000;
const ADDRESS_BEGIN = /^(?:https?:|ftp:|www\.|mailto:|xmpp:|[\w.+-]{1,64}@)/i; // RFC 5321: 64 before the @
/** As many open brackets in an address as cmark takes. */
const DEEP_ADDRESS = /^!?\[(?:[^[\]\\]|\\.)*\]\((?:[^\s()\\]*\(){32}/;
/** So many characters of one answer are searched in vain for the end of an emphasis. */
const VAIN_CHARACTERS = 4_000_000;

/** Steps in front of marked's own readers, which take over at `false`. */
export const bounds: TokenizerObject = {
  emStrong(source, masked, before = "") {
    if (multiplies(source, before)) return undefined;
    const beside = opensBeside(source, before) ? "" : before;
    return emphasis(this.lexer, source, () =>
      Tokenizer.prototype.emStrong.call(this, source, masked, beside),
    );
  },
  del(source, masked, before) {
    return emphasis(this.lexer, source, () => Tokenizer.prototype.del.call(this, source, masked, before));
  },
  url(source) {
    if (!ADDRESS_BEGIN.test(source)) return undefined;
    // A picture right behind an address is none of it.
    const [near = ""] = source.slice(0, LONGEST_ADDRESS).split(/\[?!\[/, 1);
    return Tokenizer.prototype.url.call(this, near);
  },
  link: (source) => (DEEP_ADDRESS.test(source) ? undefined : false),
  inlineText(source) {
    if (source.length <= LOOK_AHEAD) return false;
    const near = source.slice(0, LOOK_AHEAD);
    // Ends at a blank, so that no address is cut.
    const blank = near.lastIndexOf(" ");
    return Tokenizer.prototype.inlineText.call(this, blank > 0 ? near.slice(0, blank) : near);
  },
};

/** By the lexer of an answer. */
const searchedInVain = new WeakMap<Lexer, number>();

function emphasis<T>(lexer: Lexer, source: string, read: () => T | undefined): T | undefined {
  if (!/^[*_~]/.test(source)) return undefined;
  const searched = searchedInVain.get(lexer) ?? 0;
  if (searched > VAIN_CHARACTERS) return undefined;
  const found = read();
  if (found === undefined) searchedInVain.set(lexer, searched + source.length);
  return found;
}
