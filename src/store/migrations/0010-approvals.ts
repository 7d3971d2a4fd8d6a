import type { Migration } from "../migration.ts";

export const approvals: Migration = {
  version: 10,
  name: "approvals",
  async up() {},
};
