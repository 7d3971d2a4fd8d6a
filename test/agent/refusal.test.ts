import { afterEach, describe, expect, it } from "vitest";
import type { AgentAnswer } from "../../src/core/agent.ts";
import type { ContentBlock, MediaBlock } from "../../src/core/blocks.ts";
import { say } from "../../src/core/sentences.ts";
import type { Json, Reply } from "../support/models/server.ts";
import { base64, medium } from "./media-blocks.ts";
import { closeServers, served, type Served, type WireName } from "./model-servers.ts";
import { failure, turn } from "./set-up.ts";

afterEach(closeServers);

const PHOTO = { type: "image", mimeType: "image/jpeg" } as const;

const refused = (message: string, status = 400): Reply => ({ fault: "status", status, message });

/** A model that refuses a request with these letters in it, without saying which part it is. */
const cannotTake =
  (letters: string, message = "Could not process image"): Reply =>
  ({ body }) =>
    JSON.stringify(body).includes(base64(letters)) ? { fault: "status", status: 400, message } : "seen";

const pictures = (told: Served, ...names: readonly string[]): Promise<readonly MediaBlock[]> =>
  Promise.all(
    names.map((name) => medium(told.blobs, { ...PHOTO, filename: `${name}.jpg` }, { bytes: name })),
  );

const run = (told: Served, id: string, said: string | readonly ContentBlock[]): Promise<AgentAnswer> =>
  told.runner.run(turn(told.agent, id, said), new AbortController().signal);

/** Which of these pictures are in a request. */
const seen = (told: Served, names: readonly string[], request = -1): readonly string[] => {
  const body = JSON.stringify(told.server.requests.at(request)?.body);
  return names.filter((name) => body.includes(base64(name)));
};

describe("a medium that the model refuses", () => {
  it.each(["openai", "responses", "anthropic", "google", "ollama"] as const)(
    "is left out, told of once, and never sent again by the protocol of %s",
    async (wire) => {
      const told = await served(wire);
      const [bad] = await pictures(told, "BAD");
      told.server.reply(...Array.from({ length: 4 }, () => cannotTake("BAD")));
      expect(await run(told, "1", [bad!])).toMatchObject({
        markdown: "seen",
        replayed: false,
        refused: ["BAD.jpg"],
      });
      expect(told.sentText()).toContain("the model did not take it");
      expect(told.server.requests).toHaveLength(2);

      expect(await run(told, "2", "and now?")).toMatchObject({
        markdown: "seen",
        replayed: false,
        refused: [],
      });
      expect(told.server.requests).toHaveLength(3);
      expect(seen(told, ["BAD"])).toEqual([]);
    },
  );

  it("is told of again when the turn is given again", async () => {
    const told = await served("openai");
    const bad = await pictures(told, "BAD");
    told.server.reply(cannotTake("BAD"));
    await run(told, "1", bad);
    expect(await run(told, "1", bad)).toMatchObject({
      markdown: "seen",
      replayed: true,
      refused: ["BAD.jpg"],
    });
  });

  it("is not sent again after a restart", async () => {
    const told = await served("openai");
    told.server.reply(cannotTake("BAD"));
    await run(told, "1", await pictures(told, "BAD"));
    // A new definition is built anew, as everything is after a restart; the thread is the saver's.
    await told.runner.run(turn({ ...told.agent }, "2", "and now?"), new AbortController().signal);
    expect(told.server.requests).toHaveLength(3);
    expect(seen(told, ["BAD"])).toEqual([]);
  });

  it("is shown to another model", async () => {
    const told = await served("openai");
    told.server.reply(cannotTake("BAD"));
    await run(told, "1", await pictures(told, "BAD"));
    const other = { ...told.agent, model: { ...told.agent.model, name: "other" } };
    await told.runner.run(turn(other, "2", "and now?"), new AbortController().signal);
    expect(JSON.stringify(told.server.requests.at(-1)?.body)).toContain(base64("BAD"));
  });

  it("is told of once more when it is sent once more, without asking the model about it", async () => {
    const told = await served("openai");
    const bad = await pictures(told, "BAD");
    told.server.reply(cannotTake("BAD"));
    await run(told, "1", bad);
    expect(await run(told, "2", bad)).toMatchObject({ refused: ["BAD.jpg"] });
    expect(told.server.requests).toHaveLength(3);
  });

  it.each<[WireName, string]>([
    ["anthropic", "messages.2.content.5.image.source.base64.data: Could not process image"],
    ["openai", "Invalid image data (messages[2].content[5].image_url.url)."],
    ["responses", "Invalid 'input[2].content[5].image_url'."],
    ["google", "Provided image is not valid (contents[2].parts[5])."],
  ])("is the one that %s names, and the others stay", async (wire, message) => {
    const told = await served(wire);
    await run(told, "1", await pictures(told, "A", "B", "C"));
    told.server.reply(cannotTake("E", message));
    const answer = await run(told, "2", await pictures(told, "D", "F", "E"));
    expect(answer.refused).toEqual(["E.jpg"]);
    expect(told.server.requests).toHaveLength(3);
    expect(seen(told, ["A", "B", "C", "D", "E", "F"])).toEqual(["A", "B", "C", "D", "F"]);
  });

  it("is found though the provider names two, one after the other", async () => {
    const told = await served("anthropic");
    const bad = (letters: string, part: number): Reply =>
      cannotTake(letters, `messages.0.content.${part}.image.source: Could not process image`);
    told.server.reply(bad("A", 1), bad("C", 4), bad("C", 4));
    const answer = await run(told, "1", await pictures(told, "A", "B", "C"));
    expect(answer.refused).toEqual(["A.jpg", "C.jpg"]);
    expect(seen(told, ["A", "B", "C"])).toEqual(["B"]);
  });

  it.each([
    ["first", "A"],
    ["second", "B"],
  ])("is found among two where the provider names none: the %s", async (_which, letters) => {
    const told = await served("openai");
    told.server.reply(...Array.from({ length: 3 }, () => cannotTake(letters)));
    const answer = await run(told, "1", await pictures(told, "A", "B"));
    expect(answer.refused).toEqual([`${letters}.jpg`]);
    expect(told.server.requests.length).toBeLessThanOrEqual(3);
  });

  it("costs at most four more requests among many, and older ones are kept as long as it can be", async () => {
    const told = await served("openai");
    await run(told, "1", await pictures(told, "A", "B"));
    told.server.reply(...Array.from({ length: 4 }, () => cannotTake("D")));
    const answer = await run(told, "2", await pictures(told, "C", "D", "E", "F"));
    expect(answer.refused).toContain("D.jpg");
    expect(seen(told, ["A", "B", "D"])).toEqual(["A", "B"]);
    expect(told.server.requests.length).toBeLessThanOrEqual(1 + 5);
  });

  it("is the larger one where a request is too large", async () => {
    const told = await served("openai");
    const [small] = await pictures(told, "S");
    const large = await medium(told.blobs, { ...PHOTO, filename: "large.jpg" }, { bytes: "L".repeat(5000) });
    told.server.reply(({ body }) =>
      JSON.stringify(body).length > 4000
        ? { fault: "status", status: 413, message: "Request too large" }
        : "seen",
    );
    expect((await run(told, "1", [large, small!])).refused).toEqual(["large.jpg"]);
    expect(told.server.requests).toHaveLength(2);
  });

  it("is a PDF that is shown as its text instead", async () => {
    const told = await served("anthropic");
    const pdf = await medium(
      told.blobs,
      { mimeType: "application/pdf", filename: "a.pdf" },
      { text: "Dear reader" },
    );
    told.server.reply(
      refused("messages.0.content.1.document.source: The PDF specified is password protected."),
    );
    expect((await run(told, "1", [pdf])).refused).toEqual(["a.pdf"]);
    expect(told.sentText()).toContain("Dear reader");
    expect(told.sentText()).toContain("the model did not take it");
  });

  it("is a frame of a video, and the others stay", async () => {
    const told = await served("anthropic");
    const video = { type: "video", mimeType: "video/mp4", filename: "v.mp4" } as const;
    const block = await medium(told.blobs, video, { stills: ["0:00", "0:02"] });
    told.server.reply(refused("messages.0.content.4.image.source.base64: image cannot be empty"));
    expect((await run(told, "1", [block])).refused).toEqual(["v.mp4"]);
    expect(told.sentText()).toContain("[0:02: the model did not take it]");
    expect(seen(told, ["0:00", "0:02"])).toEqual(["0:00"]);
  });

  it("leaves the thread as it was but for what is remembered of it", async () => {
    const told = await served("openai");
    const bad = await pictures(told, "BAD");
    told.server.reply(cannotTake("BAD"));
    await run(told, "1", [{ type: "text", text: "look" }, ...bad]);
    await run(told, "2", "and?");
    const messages = told.server.requests.at(-1)?.body["messages"] as readonly Json[]; // of a chat request
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });
});

describe("a model without eyes", () => {
  const WITHOUT = [
    ["OpenAI", 400, "Invalid content type. image_url is only supported by certain models."],
    ["vLLM", 400, "At most 0 image(s) may be provided: local is not a multimodal model"],
    ["LM Studio", 400, "Model does not support images. Please use a model that does."],
    ["DeepSeek", 400, "Failed to deserialize: unknown variant `image_url`, expected `text`"],
    ["OpenRouter", 404, "No endpoints found that support image input"],
  ] as const;

  it.each(WITHOUT)("costs one more request once, as %s says it (%i)", async (_who, status, message) => {
    const told = await served("openai");
    const blind: Reply = ({ body }) =>
      JSON.stringify(body).includes("image_url") ? { fault: "status", status, message } : "blind";
    told.server.reply(blind, blind, blind, blind);
    expect(await run(told, "1", await pictures(told, "A", "B", "C"))).toMatchObject({
      markdown: "blind",
      refused: ["A.jpg", "B.jpg", "C.jpg"],
    });
    expect(told.server.requests).toHaveLength(2);
    expect(await run(told, "2", await pictures(told, "D"))).toMatchObject({
      markdown: "blind",
      refused: ["D.jpg"],
    });
    expect(told.server.requests).toHaveLength(3);
  });
});

describe("a failure that is not about media", () => {
  it.each([
    [401, "Incorrect API key", "refused the API key (status 401)"],
    [404, "The model does not exist", "is not known there (status 404)"],
  ])("of status %i costs no further request", async (status, message, words) => {
    const told = await served("openai");
    told.server.reply(refused(message, status));
    const error = await failure(run(told, "1", await pictures(told, "A", "B")));
    expect(error.message).toContain(words);
    expect(told.server.requests).toHaveLength(1);
  });

  it("of status 400 is told as it was at first, and nothing is held against the media", async () => {
    const told = await served("openai");
    told.server.reply(...Array.from({ length: 4 }, () => refused("temperature is not a number")));
    expect((await failure(run(told, "1", await pictures(told, "A", "B")))).message).toContain("status 400");
    await run(told, "2", "and now?");
    expect(seen(told, ["A", "B"])).toEqual(["A", "B"]);
  });

  it("of status 400 without media costs no further request", async () => {
    const told = await served("openai");
    told.server.reply(refused("temperature is not a number"));
    await failure(run(told, "1", "hello"));
    expect(told.server.requests).toHaveLength(1);
  });
});

describe("a request that is longer than the model takes", () => {
  const TOO_LONG = "prompt is too long: 250000 tokens > 200000 maximum";

  it("is sent once more with PDF as text and older media as words, and nothing is held against them", async () => {
    const told = await served("anthropic");
    await run(told, "1", await pictures(told, "OLD"));
    const pdf = await medium(
      told.blobs,
      { mimeType: "application/pdf", filename: "a.pdf" },
      { text: "Dear reader" },
    );
    const tooLong: Reply = ({ body }) =>
      JSON.stringify(body).includes('document",')
        ? { fault: "status", status: 400, message: TOO_LONG }
        : "read";
    told.server.reply(tooLong, tooLong);
    expect(await run(told, "2", [pdf])).toMatchObject({ markdown: "read", refused: [] });
    expect(told.sentText()).toContain("Dear reader");
    expect(seen(told, ["OLD"])).toEqual([]);
  });

  it("is answered with words when that does not help", async () => {
    const told = await served("anthropic");
    told.server.reply(refused(TOO_LONG), refused(TOO_LONG));
    const answer = await run(told, "1", await pictures(told, "A"));
    expect(answer.markdown).toBe(say("turn.model_overflow"));
    expect(told.server.requests).toHaveLength(2);
  });
});
