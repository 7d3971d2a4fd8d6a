import { oneLine } from "../../../src/core/words.ts";
import type { CloudSettings } from "../settings.ts";
import type { Graph } from "./graph.ts";

/** The business's own number as Meta knows it. `digits` is the number as links have it. */
export type OwnNumber = { readonly digits: string; readonly name: string; readonly quality: string };

/** @throws GraphError. */
export async function askNumber(
  graph: Graph,
  { phoneNumberId }: Pick<CloudSettings, "phoneNumberId">,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<OwnNumber> {
  const path = `${phoneNumberId}?fields=display_phone_number,verified_name,quality_rating`;
  const said = await graph.call({ method: "GET", path, deadlineMs, ...(signal ? { signal } : {}) });
  const words = (name: string): string => (typeof said[name] === "string" ? oneLine(said[name]) : "");
  return {
    digits: words("display_phone_number").replaceAll(/\D/g, ""),
    name: words("verified_name"),
    quality: words("quality_rating").toLowerCase(),
  };
}
