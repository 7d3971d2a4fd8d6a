import type { Migration } from "../migration.ts";

export const cluster: Migration = {
  version: 12,
  name: "cluster",
  async up() {},
};
