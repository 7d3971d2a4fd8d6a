import type { ChannelKind } from "../core/channel.ts";
import type { Fault } from "./faults.ts";
import type { Path } from "./path.ts";
import { child } from "./yaml-source.ts";
import type { YamlSource } from "./yaml-source.ts";

/** What stands for a person under a channel and cannot be an id of its platform: it would let in nobody, or another. */
export function peopleFaults(
  value: unknown,
  source: YamlSource,
  channel: Path,
  { pattern, example }: NonNullable<ChannelKind["people"]>,
): readonly Fault[] {
  return [...people(value)].flatMap(([where, who]) => {
    const path = [...channel, ...where];
    if (pattern.test(who) || source.spoiledUnder(path)) return [];
    const problem = /\p{L}/u.test(who)
      ? "a name can change hands, so people are known by their ids alone"
      : "no person has such an id here";
    return [source.fault(path, problem, `Write the id, such as "${example}"`)];
  });
}

/** Every place where a person can stand; what is no text and no number has been told of by the schema. */
function* people(value: unknown): Generator<readonly [Path, string]> {
  const lists: Path[] = [["allow"], ["deny"]];
  yield* person(value, ["owner"]);
  for (const chat of keysOf(child(value, "chats"))) {
    lists.push(["chats", chat, "allow"]);
    const senders: Path = ["chats", chat, "senders"];
    for (const sender of keysOf(at(value, senders))) yield [[...senders, sender], sender];
  }
  for (const path of lists) {
    const list = at(value, path);
    if (Array.isArray(list)) for (const n of list.keys()) yield* person(value, [...path, n]);
  }
}

function* person(value: unknown, path: Path): Generator<readonly [Path, string]> {
  const there = at(value, path);
  if (typeof there === "string" || typeof there === "number") yield [path, String(there)];
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(child, value);
}

function keysOf(value: unknown): readonly string[] {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
}
