import type { Migration } from "../migration.ts";

export const budgets: Migration = {
  version: 9,
  name: "budgets",
  async up() {},
};
