import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { say } from "../../src/core/sentences.ts";
import { bench, definition, turn } from "./set-up.ts";

const graph = fileURLToPath(new URL("../fixtures/graphs/circle.js", import.meta.url));
const never = new AbortController().signal;

describe("a graph of the operator's that runs in a circle", () => {
  it.each([false, true])(
    "ends with a sentence, and answers the next message (streamed: %s)",
    async (streams) => {
      const { runner } = bench();
      const agent = definition({ graph });
      const ask = async (id: string, said: string): Promise<string> => {
        const asked = { ...turn(agent, id, said), language: "de" as const };
        return (await runner.run(streams ? { ...asked, onText: () => {} } : asked, never)).markdown;
      };
      expect(await ask("1", "round")).toBe(say("turn.too_many_steps", "de"));
      expect(await ask("2", "hello")).toBe("heard: hello");
    },
  );
});
