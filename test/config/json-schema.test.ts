import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

import type { KindSettings } from "../../src/config/check.ts";
import { jsonSchema } from "../../src/config/json-schema.ts";
import { telegram, web } from "./support.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("jsonSchema", () => {
  it("is what config/perch.schema.json holds; `node dist/src/main.js schema` writes it anew", async () => {
    const kinds: KindSettings[] = [];
    for (const folder of await readdir(join(ROOT, "channels"))) {
      const index = join(ROOT, "channels", folder, "index.ts");
      if (!existsSync(index)) continue;
      // What a channel's index.ts exports by default is its kind.
      const module = (await import(index)) as { readonly default: KindSettings };
      kinds.push(module.default);
    }
    const file = await readFile(join(ROOT, "config/perch.schema.json"), "utf8");
    expect(JSON.parse(file)).toEqual(structuredClone(jsonSchema(kinds)));
  });

  it("speaks of the keys of each kind alone, beside those that all have", () => {
    const schema = jsonSchema([web, telegram]);
    const cases = "properties.channels.additionalProperties.allOf";
    expect(schema).toHaveProperty(`${cases}.0.if.properties.kind.const`, "telegram");
    expect(schema).toHaveProperty(`${cases}.0.then.required`, ["kind", "token"]);
    expect(schema).toHaveProperty(`${cases}.0.then.properties.agent`);
    expect(schema).toHaveProperty(`${cases}.1.then.properties.title`);
    expect(schema).not.toHaveProperty(`${cases}.1.then.properties.token`);
  });

  it("lets a variable stand for a number", () => {
    expect(jsonSchema([web])).toMatchObject({
      properties: {
        http: {
          properties: {
            port: {
              default: 7373,
              anyOf: [{ type: "integer", maximum: 65_535 }, { type: "string" }],
            },
          },
        },
      },
    });
  });

  it("is the same whatever the order of the kinds", () => {
    expect(JSON.stringify(jsonSchema([telegram, web]))).toBe(JSON.stringify(jsonSchema([web, telegram])));
  });
});
