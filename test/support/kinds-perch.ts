import { ASSETS, HEARD } from "./kinds.ts";
import type { Reply } from "./models/server.ts";
import { agentFile, perchYaml, type World, world } from "./telegram-perch.ts";
import { startTranscriber, type TranscriberServer } from "./transcriber.ts";

/** A Perch on Telegram and the web whose agent sees pictures, reads PDFs and is told what is said in sounds; it may send `ASSETS`. */
export type KindsWorld = World & {
  readonly transcriber: TranscriberServer;
  /** Where its web chat is. */
  readonly origin: string;
};

export async function kindsWorld(options: {
  readonly says: Reply;
  /** More that the agent may send, by name. */
  readonly assets?: Readonly<Record<string, Uint8Array>>;
}): Promise<KindsWorld> {
  const transcriber = await startTranscriber();
  transcriber.otherwise = HEARD;
  const at = await world({ says: options.says });
  // Reading takes the machine's time, however fast the clock goes.
  const media = "media: { workSeconds: 600, stallSeconds: 200 }";
  const yaml = perchYaml(at.telegram, "open: true, acknowledge: allow-arbitrary-senders", media);
  await at.folder.write(
    "config/perch.yaml",
    yaml.replace("channels:\n", "channels:\n  web: { kind: web }\n"),
  );
  const more = `assets: assets\ntranscriber: { use: openai, baseUrl: "${transcriber.transcriber.baseUrl}" }\n`;
  await at.folder.write("config/agents/helper.md", agentFile(at.model).replace("---\n", `---\n${more}`));
  for (const [name, bytes] of Object.entries(ASSETS))
    await at.folder.write(`config/agents/assets/${name}`, await bytes());
  for (const [name, bytes] of Object.entries(options.assets ?? {}))
    await at.folder.write(`config/agents/assets/${name}`, bytes);
  const perch = await at.start();
  const [origin = ""] = await perch.said(/http:\/\/[\w.:[\]]+/);
  return {
    ...at,
    transcriber,
    origin,
    async close() {
      await at.close();
      await transcriber.close();
    },
  };
}
