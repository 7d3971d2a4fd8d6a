import type { AgentDefinition } from "../../core/agent.ts";
import { corrected } from "./corrections.ts";
import { failuresNamed } from "./errors.ts";
import { withMedia } from "./media.ts";
import { withRepair } from "./repair.ts";
import type { AroundModel, AroundTool, StageParts } from "./stage.ts";
import { plainResults, withToolsIfTaken } from "./tools.ts";
import { windowed } from "./window.ts";

type Named<Stage> = readonly (readonly [name: string, stage: Stage])[];

/** What happens around each call of the model, the outermost first. */
export function aroundModel(definition: AgentDefinition, parts: StageParts): Named<AroundModel> {
  return [
    ["corrections", corrected],
    ["window", windowed(definition)],
    ["repair", withRepair],
    ["failures", failuresNamed],
    ["media", withMedia(definition, parts)],
    ["tools if taken", withToolsIfTaken(definition.prompt)],
  ];
}

/** What happens around each call of a tool, the outermost first. */
export function aroundTool(_definition: AgentDefinition, _parts: StageParts): Named<AroundTool> {
  return [["plain results", plainResults]];
}
