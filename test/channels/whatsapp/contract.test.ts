import { scaledClock } from "../../../src/core/clock.ts";
import {
  type ContractWorld,
  channelContract,
  type Said,
  type Seen,
  watchedClock,
} from "../../support/channel-contract.ts";
import type { LoopbackWhatsApp } from "../../support/whatsapp/loopback.ts";
import type { Shown } from "../../support/whatsapp/world.ts";
import { openConnection, startPlatform } from "./opened.ts";

channelContract("WhatsApp's linked device", linkedDevice, {
  "tells a wait as send.rate_limited with its milliseconds":
    "WhatsApp says that it was too much, and not for how long",
  "tells a closed chat as send.chat_closed": "WhatsApp takes messages to people who have blocked us",
});

async function linkedDevice(): Promise<ContractWorld> {
  const platform = await startPlatform();
  const { wa, bob } = platform;
  // So that waits between tries pass quickly.
  const clock = watchedClock(scaledClock(20, Date.now()));
  const opened = await openConnection(platform, { clock });
  const device = await opened.link();
  const byItself: Said = { again: async () => undefined }; // what is not committed stays in the journal and is tried again
  return {
    host: opened.host,
    channel: opened.channel,
    to: { channel: "wa", chat: "lid:90000000000002" },
    person: {
      async say(text) {
        await bob.say(device, text);
        return byItself;
      },
      async sendFile(bytes, fileName, mimetype) {
        const file = await wa.media.put(bytes, "document");
        await bob.say(device, { documentMessage: { ...file, fileName, mimetype } });
        return byItself;
      },
      sees: () => seen(wa, bob.inbox),
    },
    trouble: {
      refuse: () => void wa.faults.messages.add({ kind: "reject", error: 400 }),
      async unreachable() {
        wa.faults.logins.add({ kind: "cut" }, { times: Infinity });
        const waiting = opened.stood.when(({ is }) => is === "waiting");
        wa.cut();
        await waiting;
      },
      loseAnswer: () => void wa.faults.messages.add({ kind: "cut", when: "after" }),
    },
    secrets: ["15550000001", "15550000002"],
    timers: clock.waiting,
    async close() {
      await opened.close();
      await wa.close();
    },
  };
}

/** What stands in the chat: edits are in their place, and what was taken back is gone. */
async function seen(wa: LoopbackWhatsApp, inbox: readonly Shown[]): Promise<readonly Seen[]> {
  const shown = new Map<string, Seen>();
  for (const { id, message } of inbox) {
    const { protocolMessage: change, imageMessage, documentMessage, albumMessage } = message;
    const named = change?.key?.id ?? "";
    if (albumMessage) continue; // the frame around pictures that come as messages of their own
    if (change?.editedMessage) {
      const before = shown.get(named);
      if (before) shown.set(named, { ...before, text: textOf(change.editedMessage) });
    } else if (change) shown.delete(named);
    else if (imageMessage) {
      const bytes = await wa.media.open(imageMessage, "image");
      shown.set(id, { text: imageMessage.caption ?? "", files: [{ name: "", bytes }] });
    } else if (documentMessage) {
      const bytes = await wa.media.open(documentMessage, "document");
      shown.set(id, {
        text: documentMessage.caption ?? "",
        files: [{ name: documentMessage.fileName ?? "", bytes }],
      });
    } else shown.set(id, { text: textOf(message), files: [] });
  }
  return [...shown.values()];
}

function textOf({ conversation, extendedTextMessage }: Shown["message"]): string {
  return extendedTextMessage?.text ?? conversation ?? "";
}
