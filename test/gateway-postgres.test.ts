import { vi } from "vitest";
import { onPostgresAgain } from "./support/database.ts";

// Each of these makes a schema of its own.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

onPostgresAgain(async () => {
  await import("./gateway.test.ts");
  await import("./gateway-others.test.ts");
});
