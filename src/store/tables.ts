import type { Kysely } from "kysely";
import type { AgentTables } from "./agent-tables.ts";
import type { BudgetTables } from "./budget-tables.ts";
import type { ApprovalTables } from "./approval-tables.ts";
import type { FactTables } from "./fact-tables.ts";
import type { ScheduleTables } from "./schedule-tables.ts";
import type { ThreadTables } from "./thread-tables.ts";

/** Every table, as both dialects give it back: integers as numbers, bytes as Uint8Array, JSON as text. */
export interface Tables
  extends FactTables, AgentTables, BudgetTables, ApprovalTables, ScheduleTables, ThreadTables {}

/** What a query is asked of: the database, or the transaction that is open on it. */
export type Queries = Kysely<Tables>;
