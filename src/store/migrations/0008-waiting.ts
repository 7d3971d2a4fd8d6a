import type { Migration } from "../migration.ts";

export const waiting: Migration = {
  version: 8,
  name: "waiting",
  async up() {},
};
