import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { MediaBlock } from "../../src/core/blocks.ts";
import type { Json } from "../support/models/server.ts";
import { base64, medium } from "./media-blocks.ts";
import { closeServers, served } from "./model-servers.ts";
import { turn } from "./set-up.ts";

afterEach(closeServers);

const IMAGE = {
  type: "image",
  mimeType: "image/jpeg",
  filename: "cat.jpg",
  path: "/uploads/cat.jpg",
} as const;
const IMAGE_WORDS = '[image "cat.jpg", image/jpeg, 5 bytes]';
const NOTE = { mimeType: "text/plain", filename: "n.txt", path: "/uploads/n.txt" } as const;

describe("documents", () => {
  it("are cut in the middle to the characters that the agent's limits leave, the first ones whole", async () => {
    const { agent, blobs, say, sentText } = await served("openai");
    const small = { ...agent, limits: { ...agent.limits, characters: 60 } };
    const letters = "abcdefghijklmnopqrstuvwxyz0123456789".repeat(2);
    await say(small, "1", [
      await medium(blobs, NOTE, { text: letters }),
      await medium(blobs, NOTE, { text: "mnopqr" }),
    ]);
    expect(sentText()).toContain("5 bytes; shortened]");
    expect(sentText()).toContain(
      `${letters.slice(0, 18)}\\n\\n[… left out here …]\\n\\n${letters.slice(-18)}`,
    );
    expect(sentText()).toContain("5 bytes; left out, too much text for one request]");
  });

  it("of 100 KB are shown whole under the limits of an agent that says none", async () => {
    const { agentSchema } = await import("../../src/config/agent-schema.ts");
    const { agent, blobs, say, sentText } = await served("openai");
    const { limits } = agentSchema.parse({});
    const text = "x".repeat(102_400);
    await say({ ...agent, limits: { ...agent.limits, ...limits } }, "1", [
      await medium(blobs, NOTE, { text }),
    ]);
    expect(sentText()).toContain(text);
  });

  it("are not cut in the middle of a character", async () => {
    const { agent, blobs, say, sentText } = await served("openai");
    const small = { ...agent, limits: { ...agent.limits, characters: 61 } };
    await say(small, "1", [await medium(blobs, NOTE, { text: "🦊".repeat(100) })]);
    expect(sentText()).toContain("[… left out here …]");
    expect(sentText()).not.toMatch(/\\ud[89a-f]|\ufffd/);
  });

  it("that were shortened say where to read on to an agent with file tools alone", async () => {
    const folder = await mkdtemp(join(tmpdir(), "perch-agent-"));
    const { agent, blobs, runner, sentText } = await served("openai");
    const whole = { text: "a\nb\nc", path: "/uploads/my n.txt" };
    const block = await medium(
      blobs,
      { ...NOTE, filename: "my n.txt", path: "/uploads/my n.txt" },
      { text: "a … c", whole },
    );
    const ask = async (files: boolean): Promise<string> => {
      await runner.run(
        { ...turn({ ...agent, files }, String(files), [block]), folder },
        new AbortController().signal,
      );
      return sentText().replaceAll(String.raw`\"`, '"');
    };
    expect(await ask(true)).toContain(
      '[file "my n.txt", text/plain, 5 bytes, at "/uploads/my n.txt"; shortened, in all 5 bytes and 3 lines of text, ' +
        'read on with read_file("/uploads/my n.txt", offset, limit)]',
    );
    const words = await ask(false);
    expect(words).toContain(
      '[file "my n.txt", text/plain, 5 bytes; shortened, in all 5 bytes and 3 lines of text]',
    );
    expect(words).not.toContain("/uploads");
  });
});

describe("older media", () => {
  it("are shown for the last turns and told of after that", async () => {
    const { server, agent, blobs, say } = await served("openai");
    const two = { ...agent, limits: { ...agent.limits, mediaTurns: 2 } };
    await say(two, "1", [await medium(blobs, IMAGE, { bytes: "FIRST" })]);
    await say(two, "2", [await medium(blobs, IMAGE, { bytes: "SECOND" })]);
    await say(two, "3", "and?");
    const messages = server.requests.at(-1)?.body["messages"] as readonly Json[]; // of a chat request
    expect(messages[0]?.["content"]).toBe(IMAGE_WORDS);
    expect(JSON.stringify(messages[2])).toContain(base64("SECOND"));
  });

  it("keep the paths by which an agent with file tools can open them", async () => {
    const { server, agent, blobs, say } = await served("openai");
    const one = { ...agent, files: true, limits: { ...agent.limits, mediaTurns: 1 } };
    await say(one, "1", [await medium(blobs, IMAGE)]);
    await say(one, "2", "and?");
    const messages = server.requests.at(-1)?.body["messages"] as readonly Json[]; // of a chat request
    expect(messages[1]?.["content"]).toBe('[image "cat.jpg", image/jpeg, 5 bytes, at /uploads/cat.jpg]');
  });

  it("that are no longer there are told of", async () => {
    const { agent, blobs, say, sent } = await served("openai");
    const gone: MediaBlock = { ...(await medium(blobs, IMAGE)), blob: "sha256:00" };
    expect(await say(agent, "1", [gone])).toBe("seen");
    expect(sent()).toEqual([{ type: "text", text: IMAGE_WORDS.replace("]", "; no longer available]") }]);
  });
});

describe("a request", () => {
  it("holds no more bytes than providers take, and words for the rest", async () => {
    const { agent, blobs, say, sent } = await served("openai");
    const heavy = await medium(blobs, { ...IMAGE, bytes: 9_000_000 }, { bytes: "x".repeat(9_000_000) });
    const second = { ...heavy, filename: "dog.jpg" };
    await say(agent, "1", [heavy, second]);
    expect(sent()).toMatchObject([
      { type: "text" },
      { type: "image_url" },
      {
        type: "text",
        text: '[image "dog.jpg", image/jpeg, 9 MB; left out, too many bytes for one request]',
      },
    ]);
  });

  it("holds a hundred pictures at most, the newest message's first", async () => {
    const { server, agent, blobs, say } = await served("anthropic");
    const { blob, bytes } = await medium(blobs, IMAGE);
    const stills = Array.from({ length: 64 }, (_none, at) => {
      return { blob, bytes, width: 16, height: 9, label: `0:${at}` };
    });
    const video = { type: "video", mimeType: "video/mp4", blob, bytes, stills } as const;
    await say(agent, "1", [video]);
    await say(agent, "2", [video]);
    const messages = server.requests.at(-1)?.body["messages"] as readonly Json[]; // of Anthropic's requests
    const pictures = (at: number): number =>
      JSON.stringify(messages.at(at)?.["content"]).split('"type":"image"').length - 1;
    expect([pictures(-1), pictures(-3)]).toEqual([64, 36]);
  });

  it("holds no blank text, which providers refuse", async () => {
    const { agent, blobs, say, sent } = await served("anthropic");
    await say(agent, "1", [await medium(blobs, { ...IMAGE, caption: " \n" })]);
    expect(sent()).toMatchObject([{ type: "text", text: IMAGE_WORDS }, { type: "image" }]);
  });
});
