import type { Examination, Finding } from "../../../src/core/channel.ts";
import type { CloudSettings, WhatsAppSettings } from "../settings.ts";
import { asGraphError, graphOf } from "./graph.ts";
import { openLine } from "./line.ts";
import { askNumber } from "./number.ts";

const CALL_MS = 10_000;

/** Whether Meta knows the number and takes the token. Changes nothing there. */
export async function examineCloud(
  settings: CloudSettings,
  { proxy }: Pick<WhatsAppSettings, "proxy">,
  { clock }: Pick<Examination, "clock">,
): Promise<readonly Finding[]> {
  const line = await openLine(proxy);
  const graph = graphOf({ settings, line, clock, heard: () => {} });
  try {
    const { name, quality } = await askNumber(graph, settings, CALL_MS);
    const rated = quality === "" || quality === "unknown" ? "" : `, whose quality Meta rates ${quality}`;
    return [{ kind: "fact", text: `it is the number of “${name}”${rated}` }];
  } catch (thrown) {
    const { failure } = asGraphError(thrown);
    const remedy =
      failure.kind === "refused"
        ? "set cloud.token and cloud.phoneNumberId to what the app's API setup shows"
        : "see that this machine reaches graph.facebook.com; where it does not by itself, set proxy";
    return [{ kind: "fault", text: `it could not be asked: ${failure.why}`, remedy }];
  } finally {
    line.idle();
  }
}
