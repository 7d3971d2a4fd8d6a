import { withoutC1 } from "./encodings.ts";

// Colours and cursor movements of a terminal.
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const ESCAPES = /\u001b(?:\[[\d;?]{0,40}[ -/]?[@-~]|\][^\u0007\u001b]{0,200}(?:\u0007|\u001b\\))/g;
// Controls but tab and line feed; marks that turn the direction of what stands around them, which only deceive in text
// that is read in its logical order (those of a single character, U+200E and U+200F, stay); marks of byte order.
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const UNSEEN = /[\0-\u0008\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g;
/** Tags spell words that nobody sees; behind a black flag they are the flag of a region. */
const TAGS = /(\u{1f3f4})?[\u{e0000}-\u{e007f}]+/gu;

/** Text as it may be shown: lines end in "\n", well-formed, without characters that nobody sees and a model reads. */
export function tidy(text: string): string {
  const tidied = withoutC1(text)
    .replaceAll(/\r\n?|[\v\f]/g, "\n")
    .replaceAll(ESCAPES, "")
    .replaceAll(UNSEEN, "")
    .replaceAll(TAGS, (all, flag?: string) => (flag === undefined ? "" : all.length <= 18 ? all : flag));
  return tidied.toWellFormed();
}
