import { vi } from "vitest";
import { onPostgresAgain } from "../support/database.ts";

// Each of these makes a schema of its own.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

onPostgresAgain(async () => {
  await import("./pairing.test.ts");
  await import("./choices.test.ts");
  await import("./memberships.test.ts");
  await import("./commands.test.ts");
  await import("./quota.test.ts");
  await import("./edits.test.ts");
  await import("./deletions.test.ts");
  await import("./reactions.test.ts");
  await import("./own.test.ts");
});
