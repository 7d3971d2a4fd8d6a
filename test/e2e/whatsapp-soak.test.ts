import { expect, it } from "vitest";
import { soak } from "../support/whatsapp/soak-run.ts";

const SIZE = process.env["PERCH_LONG"]
  ? { messages: 10_000, batch: 200, betweenBreaksMs: 65_000 }
  : { messages: 400, batch: 100, betweenBreaksMs: 0 };

it("x", { timeout: 3_600_000 }, async () => {
  const counts = await soak(SIZE);
  for (const h of counts.held) console.log(JSON.stringify(h));
  console.log(JSON.stringify({ ...counts, held: undefined }));
});
