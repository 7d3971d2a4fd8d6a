import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { HumanMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { loadModel } from "../../src/agent/models.ts";
import { closeServers, served, type WireName } from "./model-servers.ts";
import { memoryBlobs } from "./set-up.ts";

afterEach(closeServers);

/** As LangGraph listens to a model whose words people are to see as they grow. */
class Streams extends BaseCallbackHandler {
  readonly name = "streams";
  readonly lc_prefer_streaming = true;
}

describe("why a streamed answer ended", () => {
  it.each([
    ["openai", "length", "finish_reason"],
    ["google", "MAX_TOKENS", "finishReason"],
  ] as const satisfies readonly (readonly [WireName, string, string])[])(
    "is said in the message, over %s",
    async (wire, finish, name) => {
      const { server, agent } = await served(wire);
      server.reply({ text: "one two", finish });
      const model = await loadModel(agent.model, memoryBlobs());
      const said = await model.invoke([new HumanMessage("count")], { callbacks: [new Streams()] });
      expect([said.text, said.response_metadata[name]]).toEqual(["one two", finish]);
      expect(server.requests[0]?.body["stream"] ?? true).toBe(true);
    },
  );
});
