import { scaledClock } from "../../../../src/core/clock.ts";
import {
  type ContractWorld,
  channelContract,
  type Said,
  type Seen,
} from "../../../support/channel-contract.ts";
import { settle } from "../../../support/clock.ts";
import type { GraphEmulator } from "../../../support/graph/emulator.ts";
import { record } from "../../../support/graph/rules.ts";
import { MIRA, openNumber } from "./set-up.ts";

channelContract("WhatsApp's Cloud API", cloudNumber, {
  "shows a piece once, however often it is sent": "Meta has no key that tells a repeat from a second message",
  "shows an album's pictures, in order, and gives an id for each": "the Cloud API has no albums",
});

async function cloudNumber(): Promise<ContractWorld> {
  // Ten times as fast, so that waits between tries pass quickly and time limits stay far away.
  const at = await openNumber({ clock: scaledClock(10, Date.now()) });
  const { graph, mira } = at;
  const byItself: Said = { again: async () => undefined }; // what is not answered with 200 is posted again
  // A chat is open to us once its person has written.
  mira.lastWroteAt = graph.clock.now();
  return {
    host: at.host,
    channel: at.channel,
    to: { channel: "family", chat: `+${MIRA}` },
    person: {
      async say(text) {
        mira.say(text);
        return byItself;
      },
      async sendFile(bytes, filename, mimeType) {
        mira.sendFile("document", bytes, mimeType, { filename });
        return byItself;
      },
      sees: async () => graph.taken.map(({ body }) => seen(graph, body)),
    },
    trouble: {
      refuse: () => graph.fault("messages", { kind: "refuse", status: 400, code: 131026 }),
      unreachable: async () => {
        await graph.server?.close();
        graph.server = undefined;
        // A kept connection is known to be gone once its end was read.
        await settle();
      },
      wait: (seconds) =>
        graph.fault("messages", { kind: "refuse", status: 429, code: 130429, retryAfterSeconds: seconds }),
      closeChat: () => (mira.lastWroteAt = 0),
      loseAnswer: () => graph.fault("messages", { kind: "drop", when: "after" }),
    },
    unsized: true,
    secrets: [graph.token, graph.appSecret, graph.verifyToken, MIRA],
    timers: at.timers,
    close: () => at.close(),
  };
}

function seen(graph: GraphEmulator, body: Readonly<Record<string, unknown>>): Seen {
  const part = record(body[String(body["type"])]);
  if (body["type"] === "text") return { text: wordsIn(part["body"]), files: [] };
  if (body["type"] === "interactive") {
    const { buttons, sections } = record(part["action"]) as Action; // it was checked when it was sent
    const choices = buttons?.map(({ reply }) => reply.title) ?? sections?.[0]?.rows.map(({ title }) => title);
    return { text: wordsIn(record(part["body"])["text"]), files: [], ...(choices ? { choices } : {}) };
  }
  const file = graph.files.uploaded(String(part["id"]));
  return {
    text: wordsIn(part["caption"]),
    files: [{ name: wordsIn(part["filename"]), bytes: file?.bytes ?? Buffer.alloc(0) }],
  };
}

function wordsIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

type Action = {
  readonly buttons?: readonly { readonly reply: { readonly title: string } }[];
  readonly sections?: readonly { readonly rows: readonly { readonly title: string }[] }[];
};
