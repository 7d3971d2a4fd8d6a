import { afterEach, expect, it } from "vitest";
import { type World, world } from "../support/telegram-perch.ts";

let at: World;
afterEach(() => at.close());

it("ends where its database is away, also while Redis is looked for, so that it is begun again", async () => {
  at = await world({
    root: [
      'store: { url: "postgres://perch@127.0.0.1:9/perch" }',
      'cluster: { redis: "redis://127.0.0.1:9" }',
    ].join("\n"),
  });
  const { code, output } = await at.perch("start", "--role", "workers");
  expect(code).toBe(1);
  expect(output).toContain(
    "PostgreSQL at 127.0.0.1:9/perch: nothing listens there; start it, or mend store.url.",
  );
});
