import type { AgentDefinition } from "../../core/agent.ts";
import { withWindow } from "../window/compaction.ts";
import { approvalsAsked } from "./approvals.ts";
import { approvedFirst } from "./approved.ts";
import { withBreaker } from "./breaker.ts";
import { bounded } from "./bounded.ts";
import { budgeted } from "./budget.ts";
import { deferredBlocked, withDeferred } from "./deferred.ts";
import { effectsOnce } from "./effects.ts";
import { failuresNamed } from "./errors.ts";
import { givenKept } from "./given.ts";
import { withFallbacks } from "./fallback.ts";
import { folderTurns } from "./folder-turns.ts";
import { followedModel, followedTool } from "./followed.ts";
import { withoutForeign } from "./foreign.ts";
import { guarded } from "./guard.ts";
import { withKnown } from "./known.ts";
import { withLocal } from "./local.ts";
import { withMeanwhile } from "./meanwhile.ts";
import { withMedia } from "./media.ts";
import { withPromptCache } from "./prompt-cache.ts";
import { withRecalled } from "./recalled.ts";
import { withRepair } from "./repair.ts";
import { retried } from "./retry.ts";
import { withoutThinking } from "./thoughts.ts";
import { withReadableCalls } from "./unreadable.ts";
import { viewed } from "./viewed.ts";
import { accounted } from "./accounting.ts";
import { graded } from "./rubric.ts";
import { keptToList } from "./todo-guard.ts";
import { subagentsLimited } from "./subagent-limit.ts";
import { withoutLoops } from "./loops.ts";
import { withSafety } from "./safety.ts";
import type { AroundModel, AroundTool, StageParts } from "./stage.ts";
import { knownTools, plainResults, withToolsIfTaken } from "./tools.ts";

type Named<Stage> = readonly (readonly [name: string, stage: Stage])[];

/** What happens around each call of the model, the outermost first. */
export function aroundModel(definition: AgentDefinition, parts: StageParts): Named<AroundModel> {
  return [
    // The model is not asked for it: all that follows is about its answers.
    ["approved call", approvedFirst],
    ["what came meanwhile", withMeanwhile(parts)],
    ["what was given", givenKept],
    ["window", withWindow(definition, parts)],
    // Within the window, so that they are there in the very request that it has shortened.
    ["local context", withLocal(definition, parts)],
    ["recalled", withRecalled],
    ["repair", withRepair],
    ["viewed files", viewed],
    ["deferred tools", withDeferred(parts)],
    ["rubric", graded(definition, parts)],
    ["todos", keptToList(definition, parts)],
    ["loops", withoutLoops(definition, parts)],
    ["safety", withSafety(definition, parts)],
    ["readable calls", withReadableCalls],
    ["no thoughts", withoutThinking],
    ["failures", failuresNamed],
    ["fallbacks", withFallbacks(definition, parts)],
    ["breaker", withBreaker(parts)],
    ["retries", retried(definition, parts)],
    ["followed", followedModel(parts)],
    ["no foreign blocks", withoutForeign],
    ["accounting", accounted(definition)],
    ["media", withMedia(definition, parts)],
    ["tools if taken", withToolsIfTaken(definition.prompt, parts)],
    // Behind the tools: a model without any is told the same, but for skills.
    ["known files", withKnown(definition, parts)],
    ["prompt cache", withPromptCache],
    // The innermost: what may be used is asked about each request that is really sent.
    ["allowance", bounded(definition)],
  ];
}

/** What happens around each call of a tool, the outermost first. */
export function aroundTool(definition: AgentDefinition, parts: StageParts): Named<AroundTool> {
  return [
    // It brings the tools that LangGraph does not know, so it stands before what asks whether there is one.
    ["deferred block", deferredBlocked(parts)],
    ["known tools", knownTools(parts)],
    ["guard", guarded(definition, parts)],
    ["approvals", approvalsAsked(definition)],
    ["subagent limit", subagentsLimited(definition)],
    ["effects", effectsOnce],
    ["followed", followedTool(parts)],
    ["folder turns", folderTurns],
    // Within the effects: what is kept of one is as short as what the model has seen of it.
    ["output budget", budgeted(parts)],
    ["plain results", plainResults(parts)],
  ];
}
