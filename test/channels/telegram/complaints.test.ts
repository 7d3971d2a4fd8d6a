import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Message } from "grammy/types";
import { describe, expect, it } from "vitest";
import type { AgentTurn } from "../../../src/core/agent.ts";
import { type Clock, pause } from "../../../src/core/clock.ts";
import { memoryState } from "../../support/channel-host.ts";
import { AGENT, textOf } from "../../support/gateway.ts";
import { ADA, onGateway, type OnGateway } from "./on-gateway.ts";

// What people complain about, as it reaches a person on Telegram: the whole gateway behind a bot, and all of its requests.

const GROUP = -1_002_000_000_077;
const LONG = { timeout: 60_000 } as const;

/** Writes an answer part by part, so that what is shown of it grows. */
async function grow(
  turn: AgentTurn,
  clock: Clock,
  parts: readonly string[],
  everyMs: number,
): Promise<string> {
  let text = "";
  for (const part of parts) {
    text += part;
    turn.onText?.(text);
    await pause(clock, everyMs);
  }
  return text;
}

const ofBot = ({ telegram }: OnGateway, chat: number): readonly Message[] =>
  telegram.shown(chat).filter(({ from }) => from?.is_bot);
const textsOf = (at: OnGateway, chat: number): readonly string[] =>
  ofBot(at, chat).flatMap(({ text = "" }) => [text]);
const callsOf = ({ telegram }: OnGateway, method: string) =>
  telegram.calls.filter((call) => call.method === method);

describe("what a person sees of an answer", () => {
  const PARTS = ["A king", "fisher", " in the reeds."];
  const ANSWER = PARTS.join("");

  it(
    "complaint 3: is sent once in a private chat, however it was shown before, and names what it answers",
    LONG,
    async () => {
      const at: OnGateway = await onGateway({ answer: (turn) => grow(turn, at.clock, PARTS, 1_500) });
      const ada = at.telegram.privateChat(ADA);
      const first = ada.sendText("what is it?");
      await at.telegram.untilSent(ADA.id, 1);
      ada.sendText("and now?", { replyTo: first.message_id });
      await at.telegram.untilSent(ADA.id, 2);
      await pause(at.clock, 10_000);
      expect(textsOf(at, ADA.id)).toEqual([ANSWER, ANSWER]);
      expect(callsOf(at, "sendMessage")).toHaveLength(2);
      expect(at.telegram.drafts.length).toBeGreaterThan(1);
    },
  );

  it(
    "complaint 3: is one message in a group, which answers the question, with nothing left of how it grew",
    LONG,
    async () => {
      const at: OnGateway = await onGateway({ answer: (turn) => grow(turn, at.clock, PARTS, 5_000) });
      const group = at.telegram.supergroup({ id: GROUP, title: "Birds" });
      const question = group.as(ADA).sendText("@fern_demo_bot what is it?");
      await at.telegram.until(() => at.telegram.deletions.length > 0, "the half answer to be taken away");
      await pause(at.clock, 10_000);
      expect(ofBot(at, GROUP).map(({ text, reply_to_message: to }) => [text, to?.message_id])).toEqual([
        [ANSWER, question.message_id],
      ]);
      expect(at.telegram.edits.length).toBeGreaterThan(0);
    },
  );

  it.each([
    ["a private chat", ADA.id],
    ["a group", GROUP],
  ])(
    "complaint 7: of 9,000 characters is three messages in %s, whole and in order",
    LONG,
    async (_where, chat) => {
      const words = Array.from({ length: 300 }, (_, n) => `${`word ${n} `.padEnd(28, "x")}. `);
      const at: OnGateway = await onGateway({ rate: 20, answer: (turn) => grow(turn, at.clock, words, 100) });
      const voice =
        chat === ADA.id
          ? at.telegram.privateChat(ADA)
          : at.telegram.supergroup({ id: GROUP, title: "Birds" }).as(ADA);
      voice.sendText("@fern_demo_bot tell me all");
      await at.telegram.until(
        () => textsOf(at, chat).some((text) => text.includes("word 299 ")),
        "the end of the answer",
      );
      await pause(at.clock, 20_000);
      const texts = textsOf(at, chat);
      expect(texts).toHaveLength(3);
      expect(texts.join(" ").split(/\s+/)).toEqual(words.join("").trim().split(/\s+/));
    },
  );

  it(
    "complaint 53: is whole, once and without a sign of writing, although edits of it were refused for 23 s",
    LONG,
    async () => {
      const parts = Array.from({ length: 12 }, (_, n) => `part ${n}. `);
      const at: OnGateway = await onGateway({
        rate: 20,
        answer: (turn) => grow(turn, at.clock, parts, 5_000),
      });
      at.telegram.fault({ method: "editMessageText", times: 3 }, { kind: "rateLimit", seconds: 23 });
      at.telegram.supergroup({ id: GROUP, title: "Birds" }).as(ADA).sendText("@fern_demo_bot go on");
      const answer = parts.join("").trim();
      await at.telegram.until(() => textsOf(at, GROUP).includes(answer), "the whole answer");
      await at.telegram.until(() => textsOf(at, GROUP).length === 1, "nothing else left");
      expect(textsOf(at, GROUP)).toEqual([answer]);
      expect(at.telegram.outcomes("editMessageText")).toMatchObject({ 429: expect.any(Number) });
    },
  );

  it.each([
    ["a private chat", ADA.id],
    ["a group", GROUP],
  ])(
    "complaint 55: is never shown empty in %s, though a tool runs before its first word",
    LONG,
    async (_where, chat) => {
      const at: OnGateway = await onGateway({
        async answer(turn) {
          turn.onText?.("");
          await pause(at.clock, 8_000);
          turn.onText?.(" \n");
          await pause(at.clock, 8_000);
          return await grow(turn, at.clock, ["At ", "last."], 5_000);
        },
      });
      const voice =
        chat === ADA.id
          ? at.telegram.privateChat(ADA)
          : at.telegram.supergroup({ id: GROUP, title: "Birds" }).as(ADA);
      voice.sendText("@fern_demo_bot look it up");
      await at.telegram.until(() => textsOf(at, chat).includes("At last."), "the answer");
      const shown = ["sendMessage", "editMessageText", "sendMessageDraft"].flatMap((method) =>
        callsOf(at, method),
      );
      expect(shown.map(({ parameters }) => String(parameters["text"]).trim())).not.toContain("");
      expect(Object.keys(at.telegram.outcomes()).filter((outcome) => outcome.startsWith("4"))).toEqual([]);
      expect(at.telegram.chatActions.length).toBeGreaterThan(0);
    },
  );
});

describe("a send", () => {
  it(
    "complaint 5: that takes longer than we wait is given up before anything is sent again, and seen once",
    LONG,
    async () => {
      const at = await onGateway({ rate: 60 });
      const ada = at.telegram.privateChat(ADA);
      ada.sendText("one");
      await at.telegram.untilSent(ADA.id, 1);
      at.telegram.fault({ method: "sendMessage" }, { kind: "silence", when: "after" });
      ada.sendText("two");
      await at.telegram.until(() => callsOf(at, "sendMessage").length === 3, "a second send");
      ada.sendText("three");
      await at.telegram.until(() => textsOf(at, ADA.id).includes("heard: three"), "the next answer");
      // We wait for 120 s, of which the request takes some before it is there.
      const [, first, second] = callsOf(at, "sendMessage");
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(100_000);
      expect(textsOf(at, ADA.id)).toEqual(["heard: one", "heard: two", "heard: three"]);
    },
  );
});

describe("what comes in", () => {
  it(
    "complaint 9: is answered once, handed over twice under one number and again under another",
    LONG,
    async () => {
      const at = await onGateway();
      const ada = at.telegram.privateChat(ADA);
      // What it confirms is lost, so that the same update comes again to a connection that knows nothing of it.
      const lost = at.telegram.fault(
        {
          method: "getUpdates",
          when: ({ parameters }) => Number(parameters["offset"] ?? 0) > 0,
          times: 1_000,
        },
        { kind: "drop", when: "before" },
      );
      const said = ada.sendText("once");
      await at.telegram.untilSent(ADA.id, 1);
      const [update] = at.telegram.pending();
      const reopened = at.reopen(memoryState());
      lost.remove();
      await reopened;
      await at.telegram.until(() => at.telegram.pending().length === 0, "the update to be confirmed");
      expect(update?.message?.message_id).toBe(said.message_id);
      at.telegram.inject(update ?? {});
      ada.sendText("and?");
      await at.telegram.untilSent(ADA.id, 2);
      expect(at.gateway.asked.map(textOf)).toEqual(["once", "and?"]);
      expect(textsOf(at, ADA.id)).toEqual(["heard: once", "heard: and?"]);
    },
  );

  it(
    "complaint 17: waits with its photo for what is said about it, also through the end of the process",
    LONG,
    async () => {
      const first = await onGateway({ rate: 1 });
      const ada = first.telegram.privateChat(ADA);
      ada.sendPhoto(PIXEL, { fileName: "pixel.png" });
      await first.telegram.until(() => first.telegram.pending().length === 0, "the photo to be taken in");
      await first.end();
      const at = await onGateway({ before: first, folder: first.gateway.folder });
      ada.sendText("which colour?");
      await at.telegram.untilSent(ADA.id, 1);
      const image = at.gateway.asked.flatMap(({ content }) => content).find(({ type }) => type === "image");
      if (image?.type !== "image") throw new Error("there is no picture");
      const chunks: Uint8Array[] = [];
      for await (const chunk of at.gateway.blobs.open(image.blob)) chunks.push(chunk);
      expect(Buffer.concat(chunks).length).toBe(image.bytes);
    },
  );
});

/** A red pixel. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==",
  "base64",
);

describe("a forum", () => {
  it(
    "complaint 57: is answered in the topic that spoke, whatever is sent, and in General without naming one",
    LONG,
    async () => {
      const at: OnGateway = await onGateway({
        rate: 30,
        agents: [{ ...AGENT, files: true }],
        async answer(turn) {
          await pause(at.clock, 2_000);
          const words = textOf(turn);
          if (words.includes("fail")) throw new Error("as wished");
          if (!words.includes("file")) return "a text";
          await mkdir(join(turn.folder, "outputs"), { recursive: true });
          await writeFile(join(turn.folder, "outputs/note.txt"), "noted");
          return "![note](note.txt)";
        },
      });
      const forum = at.telegram.supergroup({ id: GROUP, title: "Boatyard", forum: true });
      const topic = forum.topic("Rigging", ADA);
      const voices = [
        [topic, forum.as(ADA).in(topic), topic],
        [undefined, forum.as(ADA), 1],
      ] as const;
      for (const [sentIn, voice, typedIn] of voices) {
        await pause(at.clock, 60_000); // signs of life go where messages leave room for them
        const before = at.telegram.sent.length;
        const acted = at.telegram.chatActions.length;
        for (const [n, words] of ["a text", "a file", "/new", "fail"].entries()) {
          voice.sendText(words.startsWith("/") ? `${words}@fern_demo_bot` : `@fern_demo_bot ${words}`);
          await at.telegram.untilSent(GROUP, before + n + 1);
        }
        const sent = callsIn(at).slice(-4);
        expect(sent).toEqual([
          ["sendMessage", sentIn],
          ["sendDocument", sentIn],
          ["sendMessage", sentIn],
          ["sendMessage", sentIn],
        ]);
        const typed = at.telegram.chatActions.slice(acted).map(({ threadId }) => threadId);
        expect(new Set(typed)).toEqual(new Set([typedIn]));
      }
    },
  );
});

/** What was sent, and which topic it named. */
function callsIn({ telegram }: OnGateway): readonly (readonly [string, number | undefined])[] {
  return telegram.calls
    .filter(({ method }) => method === "sendMessage" || method === "sendDocument")
    .map(({ method, parameters }) => {
      const topic = parameters["message_thread_id"];
      return [method, topic === undefined ? undefined : Number(topic)] as const;
    });
}
