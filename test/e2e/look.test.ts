import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import { systemClock } from "../../src/core/clock.ts";
import { realAgents } from "../support/agents.ts";
import { FFMPEG, NO_FFMPEG } from "../support/ffmpeg.ts";
import { AGENT, testGateway, type TestGateway } from "../support/gateway.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Json, ModelServer } from "../support/models/server.ts";
import { pdf } from "../support/pdf.ts";
import { startTranscriber, type TranscriberServer } from "../support/transcriber.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type World = {
  readonly model: ModelServer;
  readonly transcriber: TranscriberServer;
  readonly gateway: TestGateway;
  readonly folder: string;
  /** Says something, and gives what the chat shows once so many answers stand there. */
  readonly ask: (said: string, answers: number) => Promise<readonly string[]>;
};

/** A whole gateway with a real agent that has files, whose model sees pictures and reads no PDF. */
async function world(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "perch-look-"));
  const model = await startOpenAi({ otherwise: "noted" });
  const transcriber = await startTranscriber();
  cleanups.push(
    () => rm(folder, { recursive: true }),
    () => model.close(),
    () => transcriber.close(),
  );
  const agent: AgentDefinition = {
    ...AGENT,
    files: true,
    model: { provider: "openai", name: "local", baseUrl: model.url, apiKey: "none" },
    senses: { images: true, pdf: false, audio: false },
    transcriber: transcriber.transcriber,
    // What people sent is words from the next message on: what is shown then is what was read.
    limits: { ...AGENT.limits, mediaTurns: 1 },
  };
  const gateway = await testGateway({
    folder,
    clock: systemClock,
    agents: [agent],
    programs: { environment: {}, ffmpeg: FFMPEG },
    runner: realAgents(),
  });
  cleanups.push(gateway.close);
  const ask = async (said: string, answers: number): Promise<readonly string[]> => {
    await gateway.platform.say("c1", said);
    await gateway.platform.until((shown) => shown.filter(({ text }) => text !== "").length >= answers);
    return gateway.platform.textsIn("c1");
  };
  return { model, transcriber, gateway, folder, ask };
}

const MEDIA = new URL("../fixtures/media/", import.meta.url);
const fixture = (name: string): Promise<Uint8Array> => readFile(new URL(name, MEDIA));

const reads = (...args: readonly Json[]) => ({
  toolCalls: args.map((each) => ({ name: "read_file", args: each })),
});

/** The newest message of a request, as one string, and the pictures in it. */
function shownIn(body: Json): { readonly text: string; readonly pictures: readonly string[] } {
  const last = (body["messages"] as readonly Json[]).at(-1); // of a chat request
  expect(last?.["role"]).toBe("user");
  const parts = last?.["content"] as readonly Json[];
  return {
    text: parts.map(({ text = "" }) => String(text)).join("\n"),
    pictures: parts.flatMap((part) =>
      part["type"] === "image_url" ? [(part["image_url"] as { url: string }).url] : [],
    ),
  };
}

describe("an agent that reads with read_file what was sent before", () => {
  it.skipIf(NO_FFMPEG)(
    "is shown a photo, pages of a PDF, what is said in a voice note, and a video",
    async () => {
      const { model, transcriber, gateway, folder, ask } = await world();
      const { platform } = gateway;
      transcriber.otherwise = "The blue kettle is on the third shelf.";
      const pages = ["one", "two", "three", "four"].map((word) => ({ lines: [`This is page ${word}.`] }));
      const sent: readonly (readonly [string, Uint8Array])[] = [
        ["photo.jpg", await fixture("photo.jpg")],
        ["book.pdf", pdf(pages)],
        ["voice.ogg", await fixture("voice_known.ogg")],
        ["clip.mp4", await fixture("video/clip_with_audio.mp4")],
      ];
      for (const [at, [name, bytes]] of sent.entries()) {
        await platform.sendFile("c1", bytes, name);
        await platform.until((shown) => shown.length >= at + 1);
      }
      const before = model.requests.length;
      model.reply(
        reads({ file_path: "/uploads/photo.jpg" }, { file_path: "/uploads/book.pdf", offset: 1, limit: 2 }),
        reads({ file_path: "/uploads/voice.ogg" }, { file_path: "/uploads/clip.mp4" }),
        "I have seen all of it.",
      );
      expect((await ask("look at all of it again", 5)).at(-1)).toBe("I have seen all of it.");
      const [, first, second] = model.requests.slice(before).map(({ body }) => body);

      const pictures = shownIn(first ?? {});
      expect(pictures.pictures).toHaveLength(1);
      expect(pictures.text).toContain('image "photo.jpg", image/jpeg');
      expect(pictures.text).toContain("[page 2]\nThis is page two.\n\n[page 3]\nThis is page three.");
      expect(pictures.text).not.toContain("page four.");

      const heard = shownIn(second ?? {});
      expect(heard.text).toContain("The blue kettle is on the third shelf.");
      expect(heard.text).toMatch(/video "clip\.mp4".* pictures? of it follow/);
      expect(heard.pictures.length).toBeGreaterThan(0);
      expect(heard.pictures).not.toContain(pictures.pictures[0]);

      // The thread holds words and references, never bytes.
      const base64 = pictures.pictures[0]?.split(",")[1]?.slice(100, 200) ?? "?";
      const stored = (await readdir(folder)).filter((name) => name.startsWith("perch.db"));
      for (const name of stored) {
        const bytes = await readFile(join(folder, name));
        expect(bytes.includes(base64)).toBe(false);
        expect(bytes.includes(Buffer.from(base64, "base64"))).toBe(false);
      }

      // And the next message is answered by a model that is shown none of it.
      model.reply("You are welcome.");
      expect((await ask("thanks", 6)).at(-1)).toBe("You are welcome.");
      expect(JSON.stringify(model.requests.at(-1)?.body)).not.toContain("image_url");
    },
  );

  it("is told what it cannot be shown, and goes on", async () => {
    const { model, ask } = await world();
    model.reply(
      reads({ file_path: "/uploads/none.jpg" }, { file_path: "/uploads/../../perch.db" }),
      "I could not.",
    );
    expect((await ask("look", 1)).at(-1)).toBe("I could not.");
    const messages = model.requests.at(-1)?.body["messages"] as readonly Json[]; // of a chat request
    expect(messages.flatMap(({ role, content }) => (role === "tool" ? [content] : []))).toEqual([
      "Error: there is no file /uploads/none.jpg",
      "Error: there is no file /uploads/../../perch.db",
    ]);
  });
});

it("what an agent presents is sent with its answer, though the answer does not name it", async () => {
  const { model, gateway, ask } = await world();
  model.reply(
    {
      toolCalls: [
        { name: "write_file", args: { file_path: "/outputs/my prices [new] (1).csv", content: "eggs,2\n" } },
      ],
    },
    { toolCalls: [{ name: "present_files", args: { paths: ["/outputs/my prices [new] (1).csv"] } }] },
    "Here are the prices.",
  );
  expect(await ask("the prices, please", 1)).toContain("Here are the prices.");
  const shown = await gateway.platform.until((all) => all.some(({ names }) => names.length > 0));
  expect(shown.flatMap(({ names }) => names)).toEqual(["my prices [new] (1).csv"]);
});
