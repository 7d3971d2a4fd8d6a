import { SystemMessage } from "@langchain/core/messages";
import { isDeferred, nameOfTool } from "../tools/deferring.ts";
import { type Shelved, shownOf } from "../tools/shelf.ts";
import { TOOL_SEARCH } from "../tools/tool-search.ts";
import { isApproved } from "./approved.ts";
import type { AroundModel, AroundTool, StageParts } from "./stage.ts";
import { refused } from "./tools.ts";

/** More names than that are only counted. */
const MOST_NAMES = 300;

/**
 * Shows the model of its deferred tools those that it has searched for, and the names of all: always the same text, so that
 * caches of providers hold. Where they are few and small, it is shown them all. Tools of servers are added here, for
 * LangGraph does not know what comes and goes.
 */
export function withDeferred({ shelf }: Pick<StageParts, "shelf">): AroundModel {
  if (shelf === undefined) return async (asking, next) => await next(asking);
  return async (asking, next) => {
    const shelved = shelf.now();
    const others = asking.tools.filter((tool) => !isDeferred(tool) && nameOfTool(tool) !== TOOL_SEARCH);
    const shown = shownOf(shelved, asking.state.promoted);
    if (!shelved.hidden) return await next({ ...asking, tools: [...others, ...shown] });
    const search = asking.tools.filter((tool) => nameOfTool(tool) === TOOL_SEARCH);
    const system = new SystemMessage(
      [asking.system.text.trim(), wordsFor(shelved)].filter(Boolean).join("\n\n"),
    );
    return await next({ ...asking, system, tools: [...others, ...search, ...shown] });
  };
}

/** Lets a deferred tool be called once it was searched for; before that the model has not seen what it takes. */
export function deferredBlocked({ shelf }: Pick<StageParts, "shelf">): AroundTool {
  if (shelf === undefined) return async (calling, next) => await next(calling);
  return async (calling, next) => {
    const { call, state } = calling;
    const shelved = shelf.now();
    const item = shelved.items.find(({ name }) => name === call.name);
    if (item === undefined) return await next(calling);
    // What somebody has said yes to was searched for then, whatever other tools have come and gone since.
    if (!isApproved(calling) && !shownOf(shelved, state.promoted).includes(item.tool)) {
      const how = `Call ${TOOL_SEARCH} with "select:${call.name}", and then call it again.`;
      return refused(call, `Error: ${call.name} has to be searched for before it is called. ${how}`);
    }
    return await next({ ...calling, tool: item.tool });
  };
}

function wordsFor({ items }: Shelved): string {
  const named = items.slice(0, MOST_NAMES).map(({ name }) => name);
  const more = items.length > named.length ? `, and ${items.length - named.length} more` : "";
  return `There are more tools, which you can call once ${TOOL_SEARCH} has found them: ${named.join(", ")}${more}.`;
}
