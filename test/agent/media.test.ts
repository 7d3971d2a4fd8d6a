import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition, Blobs } from "../../src/core/agent.ts";
import type { MediaBlock } from "../../src/core/blocks.ts";
import { startAnthropic } from "../support/models/anthropic.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Json, ModelServer } from "../support/models/server.ts";
import { bench, definition, type Bench } from "./set-up.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function setUp(
  provider: "openai" | "anthropic",
  name = "local",
): Promise<Bench & { server: ModelServer; agent: AgentDefinition }> {
  const server = await (provider === "openai" ? startOpenAi : startAnthropic)({ otherwise: "seen" });
  servers.push(server);
  return {
    ...bench(),
    server,
    agent: definition({ prompt: "", model: { provider, name, baseUrl: server.url, apiKey: "k" } }),
  };
}

/** The content of the message of this turn, as the model was sent it in the newest request. */
function sent(server: ModelServer, message = -1): unknown {
  const messages = server.requests.at(-1)?.body["messages"] as readonly Json[]; // both protocols send them so
  return messages.at(message)?.["content"];
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

async function media(
  blobs: Blobs,
  fields: Partial<MediaBlock>,
  bytes = "BYTES",
  extract?: string,
): Promise<MediaBlock> {
  return {
    type: "file",
    mimeType: "application/octet-stream",
    blob: await blobs.put(Buffer.from(bytes)),
    bytes: bytes.length,
    ...fields,
    ...(extract === undefined
      ? {}
      : { extract: { blob: await blobs.put(Buffer.from(extract)), bytes: extract.length } }),
  };
}

const IMAGE = {
  type: "image",
  mimeType: "image/jpeg",
  filename: "cat.jpg",
  width: 640,
  height: 400,
} as const;
const IMAGE_WORDS = '[image "cat.jpg", image/jpeg, 640 × 400 px, 5 bytes]';
const PDF = { mimeType: "application/pdf", filename: "a.pdf" } as const;
const PDF_WORDS = '[file "a.pdf", application/pdf, 5 bytes]';

describe("what OpenAI is sent", () => {
  it("is an image as a data URL, between words and caption", async () => {
    const { server, agent, blobs, say } = await setUp("openai");
    await say(agent, "1", [
      { type: "text", text: "look" },
      await media(blobs, { ...IMAGE, caption: "my cat" }),
    ]);
    expect(sent(server)).toEqual([
      { type: "text", text: "look" },
      { type: "text", text: IMAGE_WORDS },
      { type: "image_url", image_url: { url: `data:image/jpeg;base64,${base64("BYTES")}` } },
      { type: "text", text: "my cat" },
    ]);
  });

  it("is a PDF as a file with its name", async () => {
    const { server, agent, blobs, say } = await setUp("openai");
    await say(agent, "1", [await media(blobs, PDF)]);
    expect(sent(server)).toEqual([
      { type: "text", text: PDF_WORDS },
      {
        type: "file",
        file: { file_data: `data:application/pdf;base64,${base64("BYTES")}`, filename: "a.pdf" },
      },
    ]);
  });

  it.each([
    ["audio/mpeg", "mp3"],
    ["audio/x-wav", "wav"],
  ])("is audio of %s as %s", async (mimeType, format) => {
    const { server, agent, blobs, say } = await setUp("openai");
    await say(agent, "1", [await media(blobs, { type: "audio", mimeType, durationSeconds: 65 })]);
    expect(sent(server)).toEqual([
      { type: "text", text: `[audio, ${mimeType}, 1 min 05 s, 5 bytes]` },
      { type: "input_audio", input_audio: { format, data: base64("BYTES") } },
    ]);
  });

  it("is words for what the model's profile says no to, and for what the provider does not take", async () => {
    const { server, agent, blobs, say } = await setUp("openai", "o3-mini"); // in langchain's table: no images, no audio
    await say(agent, "1", [
      await media(blobs, IMAGE),
      await media(blobs, { type: "audio", mimeType: "audio/mpeg" }),
      await media(blobs, { type: "audio", mimeType: "audio/ogg" }),
      await media(blobs, { type: "video", mimeType: "video/mp4", durationSeconds: 9 }),
    ]);
    const unseen = ": you are not shown its contents]";
    expect(sent(server)).toEqual([
      { type: "text", text: IMAGE_WORDS.replace("]", unseen) },
      { type: "text", text: `[audio, audio/mpeg, 5 bytes${unseen}` },
      { type: "text", text: `[audio, audio/ogg, 5 bytes${unseen}` },
      { type: "text", text: `[video, video/mp4, 9 s, 5 bytes${unseen}` },
    ]);
  });

  it("is words in a second request when the first was refused for its media", async () => {
    const { server, agent, blobs, say } = await setUp("openai");
    server.reply({ fault: "status", status: 400 });
    expect(await say(agent, "1", [await media(blobs, PDF, "BYTES", "Dear reader")])).toBe("seen");
    expect(JSON.stringify(sent(server))).toContain("Dear reader");
    expect(JSON.stringify(sent(server))).not.toContain(base64("BYTES"));
  });
});

describe("what Anthropic is sent", () => {
  it("is an image and a PDF as base64 sources", async () => {
    const { server, agent, blobs, say } = await setUp("anthropic");
    await say(agent, "1", [await media(blobs, IMAGE), await media(blobs, PDF)]);
    expect(sent(server)).toEqual([
      { type: "text", text: IMAGE_WORDS },
      { type: "image", source: { type: "base64", media_type: "image/jpeg", data: base64("BYTES") } },
      { type: "text", text: PDF_WORDS },
      expect.objectContaining({
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: base64("BYTES") },
      }),
    ]);
  });

  it("is words for audio of any kind", async () => {
    const { server, agent, blobs, say } = await setUp("anthropic");
    await say(agent, "1", [await media(blobs, { type: "audio", mimeType: "audio/mpeg" })]);
    expect(sent(server)).toEqual([
      { type: "text", text: "[audio, audio/mpeg, 5 bytes: you are not shown its contents]" },
    ]);
  });
});

describe("documents and older media", () => {
  it("frames the text of a document", async () => {
    const { server, agent, blobs, say } = await setUp("anthropic");
    await say(agent, "1", [
      await media(blobs, { mimeType: "text/plain", filename: "n.txt" }, "BYTES", "Dear reader"),
    ]);
    expect(sent(server)).toEqual([
      { type: "text", text: '[file "n.txt", text/plain, 5 bytes]' },
      {
        type: "text",
        text: expect.stringMatching(/"n\.txt".*\n.*\n<document-(\w+)>\nDear reader\n<\/document-\1>$/),
      },
    ]);
  });

  it("shortens documents to the characters that the agent's limits leave, the newest first", async () => {
    const { server, agent, blobs, say } = await setUp("openai");
    const small = { ...agent, limits: { ...agent.limits, characters: 8 } };
    const note = { mimeType: "text/plain", filename: "n.txt" };
    await say(small, "1", [
      await media(blobs, note, "BYTES", "abcdefghijkl"),
      await media(blobs, note, "BYTES", "mnopqr"),
    ]);
    const words = JSON.stringify(sent(server));
    expect(words).toContain("5 bytes; shortened]");
    expect(words).toContain("abcdefgh\\n");
    expect(words).not.toContain("abcdefghi");
    expect(words).toContain("left out, too much text for one request");
  });

  it("shows media of the last turns and tells of older ones", async () => {
    const { server, agent, blobs, say } = await setUp("openai");
    const two = { ...agent, limits: { ...agent.limits, mediaTurns: 2 } };
    await say(two, "1", [await media(blobs, IMAGE, "FIRST")]);
    await say(two, "2", [await media(blobs, IMAGE, "SECOND")]);
    await say(two, "3", "and?");
    expect(sent(server, 0)).toBe(IMAGE_WORDS);
    expect(JSON.stringify(sent(server, 2))).toContain(base64("SECOND"));
  });

  it("says what is no longer there", async () => {
    const { server, agent, blobs, say } = await setUp("openai");
    const gone = { ...(await media(blobs, IMAGE)), blob: "sha256:00" as const };
    expect(await say(agent, "1", [gone])).toBe("seen");
    expect(sent(server)).toEqual([
      { type: "text", text: IMAGE_WORDS.replace("]", ": no longer available]") },
    ]);
  });
});
