import { ToolMessage } from "@langchain/core/messages";
import type { AroundModel, AroundTool, StageParts } from "./stage.ts";

/** Tells whoever follows the way of the message of each request to a model: tries, fallbacks and all. */
export function followedModel({ clock }: Pick<StageParts, "clock">): AroundModel {
  return async (asking, next) => {
    const onStep = asking.turn?.onStep;
    if (!onStep) return await next(asking);
    const { provider, name } = asking.choice;
    const step = { kind: "model", name: `${provider}:${name}`, from: clock.now() } as const;
    let failed = true;
    try {
      const said = await next(asking);
      failed = false;
      return said;
    } finally {
      onStep({ ...step, until: clock.now(), failed });
    }
  };
}

/** The same of each call of a tool. */
export function followedTool({ clock }: Pick<StageParts, "clock">): AroundTool {
  return async (calling, next) => {
    const onStep = calling.turn?.onStep;
    if (!onStep) return await next(calling);
    const step = { kind: "tool", name: calling.call.name, from: clock.now() } as const;
    let failed = true;
    try {
      const called = await next(calling);
      failed = ToolMessage.isInstance(called) && called.status === "error";
      return called;
    } finally {
      onStep({ ...step, until: clock.now(), failed });
    }
  };
}
