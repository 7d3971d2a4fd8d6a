import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { agentFile, lastAsked, type World, world } from "../support/telegram-perch.ts";
import { startTranscriber, type TranscriberServer } from "../support/transcriber.ts";

const ADA = { id: 700_200_001, firstName: "Ada" } as const;
const VOICE = join(import.meta.dirname, "../fixtures/media/voice_known.ogg");

let at: World;
let transcriber: TranscriberServer;
afterEach(async () => {
  await at.close();
  await transcriber.close();
});

it("a voice note whose transcription is cut off by a crash is written down once more and answered once", async () => {
  transcriber = await startTranscriber();
  const { baseUrl } = transcriber.transcriber;
  at = await world({ channel: `allow: ["${ADA.id}"]` });
  await at.folder.write(
    "config/agents/helper.md",
    agentFile(at.model).replace(
      "---\n",
      `---\ntranscriber: { use: openai, baseUrl: "${baseUrl}", apiKey: "\${KEY}" }\n`,
    ),
  );
  transcriber.reply({ fault: "silence" });
  transcriber.otherwise = "The blue kettle is on the third shelf.";
  const ada = at.telegram.privateChat(ADA);

  const first = await at.start();
  ada.sendVoice(await readFile(VOICE), { duration: 6 });
  await transcriber.whenUploads(1);
  // Commands do not wait for it.
  ada.sendText("/help");
  await at.telegram.untilSent(ada.chatId, 1);
  await first.kill();

  // The help may come again: it was on its way when the process ended.
  const answered = at.telegram.nextSent(({ text }) => text?.includes("blue kettle") ?? false);
  await at.start();
  await answered;
  expect(transcriber.uploads).toHaveLength(2);
  const asked = at.model.requests.map((request) => lastAsked(request).text);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.split("blue kettle")).toHaveLength(2);
});
