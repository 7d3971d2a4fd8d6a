import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["dist/**", "node_modules/**"],
    // Tests that start processes and browsers share two cores with everything else.
    maxWorkers: 2,
    testTimeout: process.env["PERCH_LONG"] ? 600_000 : 30_000,
  },
});
