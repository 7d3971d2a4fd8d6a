import { jsonSchema } from "../config/json-schema.ts";
import type { CommandOptions } from "./check.ts";
import { EXIT } from "./exit.ts";
import { kinds } from "./kinds.ts";

/** Prints the JSON Schema that editors check perch.yaml with. */
export async function schema({ print }: CommandOptions): Promise<number> {
  const known = await Promise.all(kinds.names.map((name) => kinds.load(name)));
  print(JSON.stringify(jsonSchema(known.filter((kind) => kind !== undefined)), undefined, 2));
  return EXIT.ok;
}
