import { type ClientTool, tool } from "@langchain/core/tools";
import { expect, it } from "vitest";
import { z } from "zod";
import { searched, Shelf, type Shelved } from "../../../src/agent/tools/shelf.ts";

function named(name: string, description = "Does it.", deferred = true) {
  return tool(() => "done", {
    name,
    description,
    schema: z.object({ text: z.string() }),
    metadata: { deferred },
  });
}

const CALENDAR = [
  named("create_event", "Puts an event into the calendar."),
  named("list_events", "Lists what the calendar holds."),
  named("send_mail", "Sends a letter; it may hold an event."),
  named("weather", "Rain or sun."),
];

function shelved(tools: readonly ClientTool[] = CALENDAR): Shelved {
  return new Shelf(tools, () => []).now();
}

it.each([
  ["select:weather,send_mail", ["send_mail", "weather"]],
  ["select: weather , nothing", ["weather"]],
  ["select:nothing", []],
  ["event", ["create_event", "list_events", "send_mail"]],
  ["calendar event", ["create_event", "list_events", "send_mail"]],
  ["event +calendar", ["create_event", "list_events"]],
  ["+letter", ["send_mail"]],
  ["EVENT +list", ["list_events"]],
  ["nothing whatever", []],
  ["+ , -", []],
])("finds by %j", (query, expected) => {
  expect(searched(shelved(), query).map(({ name }) => name)).toEqual(expected);
});

it("finds five at most", () => {
  const many = Array.from({ length: 12 }, (_, i) => named(`thing_${i}`));
  expect(searched(shelved(many), "thing")).toHaveLength(5);
  expect(searched(shelved(many), `select:${many.map(({ name }) => name).join(",")}`)).toHaveLength(5);
});

it("holds deferred tools alone, and hides them where showing all of them costs more than looking for them", () => {
  const shown = named("plain", "Is shown.", false);
  expect(shelved([shown, ...CALENDAR]).items.map(({ name }) => name)).toEqual([
    "create_event",
    "list_events",
    "send_mail",
    "weather",
  ]);
  expect(shelved().hidden).toBe(false);
  expect(shelved(Array.from({ length: 10 }, (_, i) => named(`thing_${i}`, "x".repeat(300)))).hidden).toBe(
    false,
  );
  expect(shelved(Array.from({ length: 40 }, (_, i) => named(`thing_${i}`, "x".repeat(300)))).hidden).toBe(
    true,
  );
});

it("has a hash of names and schemas, whatever their order and descriptions", () => {
  const [a, b] = [named("a", "One."), named("b")];
  const hash = shelved([a, b]).catalogue;
  expect(hash).toMatch(/^[0-9a-f]{16}$/);
  expect(shelved([b, named("a", "Other words.")]).catalogue).toBe(hash);
  expect(shelved([a]).catalogue).not.toBe(hash);
  const other: ClientTool = tool(() => "", {
    name: "b",
    description: "",
    schema: z.object({ n: z.number() }),
    metadata: { deferred: true },
  });
  expect(shelved([a, other]).catalogue).not.toBe(hash);
});

it("follows what comes and goes", () => {
  let more = [named("a")];
  const shelf = new Shelf([], () => more);
  const before = shelf.now();
  expect(shelf.now()).toBe(before);
  more = [named("a"), named("b")];
  expect(shelf.now().items.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(shelf.now().catalogue).not.toBe(before.catalogue);
});
