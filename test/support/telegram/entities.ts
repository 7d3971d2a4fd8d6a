import type { MessageEntity } from "grammy/types";
import { badRequest } from "./refusal.ts";

type Span = { readonly type: string; readonly offset: number; readonly length: number };

/** May be cut in pieces, and overlap in any way. */
const STYLES = ["bold", "italic", "underline", "strikethrough", "spoiler"];
const QUOTES = ["blockquote", "expandable_blockquote"];
const CODES = ["pre", "code"];
/** May neither be cut nor overlap one another. */
const WHOLE = [...CODES, "text_link", "text_mention", "custom_emoji", "date_time"];
const ENTITIES_KEPT = 100; // Telegram ignores the rest silently

/** What a bot may mark; kinds that Telegram finds by itself ("url", "mention") are ignored. */
export function userEntities(given: unknown): readonly MessageEntity[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw badRequest("can't parse entities JSON object");
  return given.flatMap((entity: MessageEntity) => {
    for (const field of ["type", "offset", "length"] as const) {
      if (entity[field] === undefined) {
        throw badRequest(`can't parse MessageEntity: Can't find field "${field}"`);
      }
    }
    const { offset, length } = entity;
    if (offset < 0) throw badRequest(`receive an entity with incorrect offset ${offset}`);
    if (length < 0) throw badRequest(`receive an entity with incorrect length ${length}`);
    if (length === 0 || ![...STYLES, ...QUOTES, ...WHOLE].includes(entity.type)) return [];
    return [entity.type === "text_link" ? { ...entity, url: checkedLink(entity.url) } : entity];
  });
}

/** Puts entities into the order and nesting that Telegram keeps; what cannot nest is cut or dropped, never refused. */
export function fixEntities(entities: readonly MessageEntity[]): readonly MessageEntity[] {
  const sorted = inOrder(entities);
  if (nestsWell(sorted)) return sorted;
  const quotes = withoutOverlaps(sorted.filter((entity) => QUOTES.includes(entity.type)));
  const whole = withoutOverlaps(sorted.filter((entity) => WHOLE.includes(entity.type))).filter((entity) =>
    quotes.every((quote) => isApart(entity, quote) || isInside(entity, quote)),
  );
  const uncut = [...quotes, ...whole];
  const runs = STYLES.flatMap((type) => styleRuns(sorted.filter((entity) => entity.type === type)));
  const cuts = [
    ...uncut.flatMap(({ offset, length }) => [offset, offset + length]),
    ...runs.map((run) => run.offset),
  ];
  const pieces = runs
    .flatMap((run) => cutAt(run, cuts))
    .filter((piece) => !whole.some((entity) => CODES.includes(entity.type) && isInside(piece, entity)));
  return inOrder([...uncut, ...pieces]);
}

/** Those that cannot be cut come first when there are more than Telegram keeps; custom emoji do not count. */
export function withinHundred(entities: readonly MessageEntity[]): readonly MessageEntity[] {
  const emoji = entities.filter((entity) => entity.type === "custom_emoji");
  const counted = entities.filter((entity) => entity.type !== "custom_emoji");
  const styles = counted.filter((entity) => STYLES.includes(entity.type));
  const others = counted.filter((entity) => !STYLES.includes(entity.type));
  return inOrder([...emoji, ...[...others, ...styles].slice(0, ENTITIES_KEPT)]);
}

// At one place the longer comes first; of equally long ones the outer kind does.
function inOrder(entities: readonly MessageEntity[]): readonly MessageEntity[] {
  return entities.toSorted((a, b) => a.offset - b.offset || b.length - a.length || rank(a) - rank(b));
}

function rank(entity: MessageEntity): number {
  return [...QUOTES, ...WHOLE, ...STYLES].indexOf(entity.type);
}

function nestsWell(sorted: readonly MessageEntity[]): boolean {
  const open: MessageEntity[] = [];
  const endOf = new Map<string, number>();
  for (const entity of sorted) {
    while (open.length > 0 && entity.offset >= end(open.at(-1)!)) open.pop(); // length > 0
    const parent = open.at(-1);
    if (parent && !isInside(entity, parent)) return false;
    if (open.some((outer) => CODES.includes(outer.type) || sameKind(outer, entity))) return false;
    if (WHOLE.includes(entity.type) || QUOTES.includes(entity.type)) {
      if (open.some((outer) => WHOLE.includes(outer.type))) return false;
    }
    if (STYLES.includes(entity.type) && endOf.get(entity.type) === entity.offset) return false;
    endOf.set(entity.type, end(entity));
    open.push(entity);
  }
  return true;
}

function sameKind(a: Span, b: Span): boolean {
  return a.type === b.type || (QUOTES.includes(a.type) && QUOTES.includes(b.type));
}

function withoutOverlaps(sorted: readonly MessageEntity[]): readonly MessageEntity[] {
  let lastEnd = 0;
  return sorted.filter((entity) => {
    if (entity.offset < lastEnd) return false;
    lastEnd = end(entity);
    return true;
  });
}

function styleRuns(sorted: readonly MessageEntity[]): readonly MessageEntity[] {
  const runs: MessageEntity[] = [];
  for (const entity of sorted) {
    const last = runs.at(-1);
    if (last && entity.offset <= end(last)) {
      runs[runs.length - 1] = { ...last, length: Math.max(end(last), end(entity)) - last.offset };
    } else {
      runs.push(entity);
    }
  }
  return runs;
}

function cutAt(run: MessageEntity, cuts: readonly number[]): readonly MessageEntity[] {
  const inside = cuts.filter((cut) => cut > run.offset && cut < end(run));
  const bounds = [...new Set([run.offset, ...inside, end(run)])].toSorted((a, b) => a - b);
  return bounds.slice(1).map((to, i) => ({ ...run, offset: bounds[i]!, length: to - bounds[i]! })); // one bound more than pieces
}

function end(span: Span): number {
  return span.offset + span.length;
}

function isInside(inner: Span, outer: Span): boolean {
  return inner.offset >= outer.offset && end(inner) <= end(outer);
}

function isApart(a: Span, b: Span): boolean {
  return end(a) <= b.offset || end(b) <= a.offset;
}

const LINK = /^(?:([a-z][a-z\d+.-]*):\/\/)?((?:[^/?#@\s]*@)?)([^/?#:@\s]+)((?::\d{1,5})?)((?:[/?#]\S*)?)$/i;

/** A link as Telegram keeps it: http by default, and a host with a dot. @throws Refusal */
function checkedLink(url: unknown): string {
  const [, scheme = "http", user = "", host = "", port = "", rest = ""] = LINK.exec(String(url).trim()) ?? [];
  const kind = scheme.toLowerCase();
  if ((kind === "tg" || kind === "ton") && host !== "") return `${kind}://${host}${rest}`;
  if (!["http", "https"].includes(kind) || !/^[^.].*\.[^.\d]{2,}$/u.test(host)) {
    if (!/^(\d{1,3}\.){3}\d{1,3}$/.test(host)) throw badRequest(`entity URL '${String(url)}' is invalid`);
  }
  return `${kind}://${user}${host.toLowerCase()}${port}${rest.startsWith("/") ? rest : `/${rest}`}`;
}
