import type { Migration } from "../migration.ts";

export const schedules: Migration = {
  version: 11,
  name: "schedules",
  async up() {},
};
