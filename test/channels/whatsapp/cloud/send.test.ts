import { afterEach, describe, expect, it } from "vitest";
import type { PieceBody } from "../../../../src/core/channel.ts";
import type { MediaBlock, MediaKind } from "../../../../src/core/blocks.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import type { GraphFault, Route } from "../../../support/graph/faults.ts";
import { manualClock } from "../../../support/clock.ts";
import { type Cloud, type CloudOptions, MIRA, NEVER, openNumber, plain, until, words } from "./set-up.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Mira has just written, so that she can be written to. */
async function setUp(options: CloudOptions = {}): Promise<Cloud> {
  const at = await openNumber({ clock: manualClock(), ...options });
  cleanups.push(() => at.close());
  at.mira.lastWroteAt = at.graph.clock.now();
  return at;
}

function block(
  { host }: Cloud,
  bytes: Buffer,
  mimeType: string,
  type: MediaKind,
  filename?: string,
): MediaBlock {
  const blob = host.putBlob(bytes);
  return { type, mimeType, blob, bytes: bytes.length, ...(filename === undefined ? {} : { filename }) };
}

const OPUS = Buffer.concat([
  Buffer.from("OggS"),
  Buffer.alloc(24),
  Buffer.from("OpusHead"),
  Buffer.alloc(100),
]);

/** How a send ended: its error's code and step-down, "unknown", or "sent". */
async function outcome(sending: Promise<unknown>): Promise<readonly unknown[]> {
  const error: unknown = await sending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return ["sent"];
  if (!(error instanceof GatewayError)) return ["unknown"];
  return [error.code, ...(error.stepDown === undefined ? [] : [error.stepDown])];
}

describe("a text", () => {
  it("goes with WhatsApp's signs, without a preview of links, as an answer to a message", async () => {
    const at = await setUp();
    const ref = at.mira.say("Which?");
    const rendered = { text: "A kingfisher", marks: [{ type: "bold" as const, offset: 2, length: 10 }] };
    const ids = await at.send({ kind: "text", rendered }, { replyTo: ref });
    expect(at.graph.taken).toEqual([
      {
        id: ids[0],
        body: {
          messaging_product: "whatsapp",
          recipient_type: "individual",
          to: MIRA,
          context: { message_id: ref },
          type: "text",
          text: { body: "A *kingfisher*", preview_url: false },
        },
      },
    ]);
  });

  it("goes by the business's own id to whoever hides their number", async () => {
    const at = await setUp();
    const ada = at.graph.person({ name: "Ada", userId: "DE.77aB" });
    ada.lastWroteAt = at.graph.clock.now();
    await at.send(words("Hello"), { to: { channel: "family", chat: "DE.77aB" } });
    expect(at.graph.taken[0]?.body).toMatchObject({ recipient: "DE.77aB" });
    expect(at.graph.taken[0]?.body).not.toHaveProperty("to");
  });

  const choice = (label: string, n: number) => ({ label, key: `ABCD234${n}` });

  it.each([
    ["three short ones as buttons", "Which?", ["One", "Two", "Three"], "button"],
    ["one more as a list", "Which?", ["One", "Two", "Three", "Four"], "list"],
    ["a long one as a list", "Which?", ["One", "The one with the very long name, please"], "list"],
    ["those of a long text as a list", "?".repeat(1_025), ["One", "Two"], "list"],
    [
      "more than a list holds written out",
      "Which?",
      Array.from({ length: 11 }, (_, n) => `Way ${n}`),
      "text",
    ],
  ])("has its choices: %s", async (_what, text, labels, type) => {
    const at = await setUp();
    await at.send({ ...words(text), choices: labels.map(choice) });
    const body = at.graph.taken[0]?.body ?? {};
    const interactive = body["interactive"] as { readonly type?: string } | undefined;
    expect(interactive?.type ?? body["type"]).toBe(type);
    if (type === "text")
      expect(body).toMatchObject({ text: { body: expect.stringContaining("\n11. Way 10") } });
  });

  it("shows a label that is too long for a row below its beginning", async () => {
    const at = await setUp();
    const label = "The one with the very long name, please";
    await at.send({ ...words("Which?"), choices: [choice(label, 2)] });
    const rows = [{ id: "ABCD2342", title: "The one with the very l…", description: label }];
    expect(at.graph.taken[0]?.body).toMatchObject({ interactive: { action: { sections: [{ rows }] } } });
  });

  it("has its choices written out where they were refused as buttons", async () => {
    const at = await setUp();
    const body: PieceBody = { ...words("Which?"), choices: ["One", "Two"].map(choice) };
    at.graph.fault("messages", { kind: "refuse", status: 400, code: 131_009 });
    expect(await outcome(at.send(body))).toEqual(["send.refused", "bare"]);
    await at.send(body, { form: "bare" });
    expect(at.graph.taken[0]?.body).toMatchObject({ text: { body: "Which?\n\n1. One\n2. Two" } });
  });

  it("goes without choices that were refused and leave it no room", async () => {
    const at = await setUp();
    const text = "?".repeat(3_800);
    const choices = Array.from({ length: 10 }, (_, n) => choice(`${n} ${"long ".repeat(12)}`, n));
    await at.send({ ...words(text), choices }, { form: "bare" });
    expect(at.graph.taken[0]?.body).toMatchObject({ text: { body: text } });
  });

  it("is sent without what it answers where that is gone", async () => {
    const at = await setUp();
    const answer = { replyTo: "wamid.gone" };
    expect(await outcome(at.send(words("Yes"), answer))).toEqual(["send.refused", "alone"]);
    expect(await outcome(at.send(words("Yes"), { ...answer, form: "alone" }))).toEqual(["sent"]);
  });
});

describe("a file", () => {
  it.each([
    ["image", "image", "image/png", "image", { caption: "*Look*" }],
    ["video", "video", "video/mp4", "video", { caption: "*Look*" }],
    ["audio", "audio", "audio/x-m4a", "audio", {}],
    ["voice", "audio", "audio/ogg", "audio", { voice: true }],
    ["file", "file", "text/csv", "document", { filename: "tides.csv", caption: "*Look*" }],
    ["file", "image", "image/png", "document", { filename: "tides.csv", caption: "*Look*" }],
  ] as const)("goes as %s (%s, %s)", async (as, kind, mimeType, type, more) => {
    const at = await setUp();
    const media = block(at, OPUS, mimeType, kind, "tides.csv");
    const caption = { text: "Look", marks: [{ type: "bold" as const, offset: 0, length: 4 }] };
    await at.send({ kind: "media", as, media, caption });
    expect(at.graph.taken[0]?.body).toMatchObject({ type, [type]: { id: expect.any(String), ...more } });
    const part = at.graph.taken[0]?.body[type] as { readonly id: string } | undefined;
    expect(at.graph.files.uploaded(part?.id ?? "")?.bytes.equals(OPUS)).toBe(true);
  });

  it("is uploaded once, also over a restart, and anew where Meta has forgotten it", async () => {
    const at = await setUp();
    const media = block(at, Buffer.from("a pdf"), "application/pdf", "file", "a.pdf");
    const body: PieceBody = { kind: "media", as: "file", media };
    await at.send(body);
    await at.send(body);
    const uploads = (): number => at.graph.calls.filter((route) => route === "media").length;
    expect([uploads(), at.graph.taken.length]).toEqual([1, 2]);
    const uploaded = at.graph.taken[0]?.body["document"] as { readonly id: string } | undefined;
    at.graph.files.forget(uploaded?.id ?? "");
    expect(await outcome(at.send(body))).toEqual(["send.not_written"]);
    expect(await outcome(at.send(body))).toEqual(["sent"]);
    expect([uploads(), at.graph.taken.length]).toEqual([2, 3]);
  });

  it("is refused with what is taken, where its type is not", async () => {
    const at = await setUp();
    const media = block(at, Buffer.from("PK"), "application/zip", "file", "all.zip");
    await expect(at.send({ kind: "media", as: "file", media })).rejects.toMatchObject({
      code: "send.refused",
      message: expect.stringContaining(
        "takes no files of the type application/zip from businesses; send a PDF",
      ),
    });
    expect(at.graph.calls).not.toContain("media");
  });

  it("goes as a document where it was refused as what it is", async () => {
    const at = await setUp();
    const media = block(at, Buffer.from("no opus"), "audio/ogg", "audio", "note.ogg");
    const body: PieceBody = { kind: "media", as: "voice", media };
    expect(await outcome(at.send(body))).toEqual(["send.refused", "document"]);
    expect(await outcome(at.send(body, { form: "document" }))).toEqual(["sent"]);
    expect(at.graph.taken[0]?.body).toMatchObject({ type: "document", document: { filename: "note.ogg" } });
  });

  it("is given up where its bytes cannot be read, before Meta has heard of a message", async () => {
    const at = await setUp();
    const media = { ...block(at, Buffer.from("a pdf"), "application/pdf", "file"), bytes: 4_000 };
    await expect(at.send({ kind: "media", as: "file", media })).rejects.toMatchObject({
      code: "send.refused",
      message: "nothing was sent: a file has 5 bytes and was announced with 4000",
    });
    expect(at.graph.calls).not.toContain("messages");
  });

  it.each<readonly [string, GraphFault]>([
    ["breaks off", { kind: "drop", when: "after" }],
    ["is answered by an edge in trouble", { kind: "html", status: 502, when: "after" }],
  ])("is uploaded again where its upload %s: nobody has seen anything", async (_what, fault) => {
    const at = await setUp();
    const media = block(at, Buffer.from("a pdf"), "application/pdf", "file", "a.pdf");
    const body: PieceBody = { kind: "media", as: "file", media };
    at.graph.fault("media", fault);
    expect(await outcome(at.send(body))).toEqual(["send.not_written"]);
    expect(await outcome(at.send(body))).toEqual(["sent"]);
  });
});

describe("a send that fails", () => {
  const refused = (status: number, code: number): GraphFault => ({ kind: "refuse", status, code });

  it.each<readonly [string, GraphFault, readonly unknown[]]>([
    ["by the throughput", refused(429, 130_429), ["send.rate_limited"]],
    ["by the pace to one person", refused(400, 131_056), ["send.rate_limited"]],
    ["by the calls of the account", refused(400, 80_007), ["send.rate_limited"]],
    ["by an edge's 429", { kind: "html", status: 429, when: "before" }, ["send.rate_limited"]],
    ["outside the 24 hours", refused(400, 131_047), ["send.chat_closed"]],
    ["for a number without WhatsApp", refused(400, 131_026), ["send.refused"]],
    ["for what is not supported", refused(400, 131_051), ["send.refused"]],
    ["for anything else that is wrong", refused(400, 100), ["send.refused"]],
    ["by a token that has expired", refused(401, 190), ["send.not_written"]],
    ["by a permission that was taken", refused(403, 10), ["send.not_written"]],
    ["by an account that is locked", refused(403, 131_031), ["send.not_written"]],
    ["by maintenance, whatever the status says", refused(500, 131_057), ["send.not_written"]],
    ["by Meta's own trouble, which may have sent it", refused(500, 131_000), ["unknown"]],
    ["by a service that is away", refused(503, 131_016), ["unknown"]],
    ["by an edge in trouble, before", { kind: "html", status: 502, when: "before" }, ["unknown"]],
    ["by an edge in trouble, after", { kind: "html", status: 504, when: "after" }, ["unknown"]],
    ["by a connection that breaks, before", { kind: "drop", when: "before" }, ["unknown"]],
    ["by a connection that breaks, after", { kind: "drop", when: "after" }, ["unknown"]],
    ["by an answer that is cut", { kind: "cut", afterBytes: 20 }, ["unknown"]],
  ])("%s", async (_what, fault, expected) => {
    const at = await setUp();
    at.graph.fault("messages", fault);
    expect(await outcome(at.send(words("Hello")))).toEqual(expected);
  });

  it.each<readonly [Route, GraphFault]>([
    ["messages", { kind: "silence", when: "after" }],
    ["messages", { kind: "stall", afterBytes: 10 }],
  ])("is unknown after 30 s without an answer (%s, %j)", async (route, fault) => {
    const clock = manualClock();
    const at = await setUp({ clock });
    await until(() => at.host.states.at(-1)?.is === "open");
    at.graph.fault(route, fault);
    const sending = outcome(at.send(words("Hello")));
    await until(() => at.graph.taken.length === 1);
    await clock.advance(30_000);
    expect(await sending).toEqual(["unknown"]);
  });

  it("waits longer for the pace of one person each time, unless Meta says how long", async () => {
    const at = await setUp();
    const waits: unknown[] = [];
    for (const number of [1, 2, 3, 6, 9]) {
      at.graph.fault("messages", { kind: "refuse", status: 400, code: 131_056 });
      const piece = { id: 7, to: { channel: "family", chat: `+${MIRA}` }, body: words("Hello") };
      const error: unknown = await at.channel
        .send(piece, { number }, new AbortController().signal)
        .catch((thrown: unknown) => thrown);
      waits.push(error instanceof GatewayError && error.retryAfterMs);
    }
    expect(waits).toEqual([6_000, 6_000, 16_000, 256_000, 256_000]);
  });

  it("says what Meta said, without the number, the token and the words", async () => {
    const at = await setUp();
    at.graph.fault("messages", {
      kind: "refuse",
      status: 400,
      code: 131_026,
      details: `The number +1 555 010 0001 cannot get 'my secret words' by ${at.graph.token}`,
    });
    await expect(at.send(words("my secret words"))).rejects.toThrow(
      "Meta answered 400, code 131026: the message cannot be delivered to this person (The number <number> cannot get “…” by <token>)",
    );
  });
});

describe("the 24 hours after a person has written", () => {
  const DAY = 24 * 3_600_000;

  it("close the chat without Meta being asked, over a restart, and are begun anew by their next message", async () => {
    const clock = manualClock();
    const first = await setUp({ clock });
    first.mira.say("Remind me tomorrow.");
    await first.host.whenAccepted(1);
    await clock.advance(DAY - 60_000);
    expect(await outcome(first.send(words("Now?")))).toEqual(["sent"]);
    await clock.advance(4 * 60_000);
    const at = await openNumber({ clock, graph: first.graph, state: first.host.host.state });
    cleanups.push(() => at.channel.close().then(() => at.host.close()));
    await until(() => at.host.states.at(-1)?.is === "open");
    const asked = at.graph.calls.length;
    expect(await outcome(at.send(words("Now.")))).toEqual(["send.chat_closed"]);
    expect(at.graph.calls.length).toBe(asked);
    at.mira.say("I am back.");
    await at.host.whenAccepted(1);
    expect(await outcome(at.send(words("Now.")))).toEqual(["sent"]);
  });

  it("are Meta's to judge where nothing is known of the person, and near their end", async () => {
    const clock = manualClock();
    const at = await setUp({ clock });
    at.mira.lastWroteAt = 0;
    expect(await outcome(at.send(words("Hello")))).toEqual(["send.chat_closed"]);
    expect(at.graph.calls).toContain("messages");
    at.mira.say("Hi");
    await at.host.whenAccepted(1);
    await clock.advance(DAY + 60_000);
    const asked = at.graph.calls.length;
    expect(await outcome(at.send(words("Hello")))).toEqual(["send.chat_closed"]);
    expect(at.graph.calls.length).toBe(asked + 1);
  });

  it("are counted from the latest message, in whatever order they come", async () => {
    const clock = manualClock();
    const at = await setUp({ clock });
    at.graph.hook.hold();
    at.mira.say("first");
    await clock.advance(DAY - 3_600_000);
    at.mira.say("second");
    at.graph.hook.release((held) => held.toReversed());
    await at.host.whenAccepted(2);
    await clock.advance(2 * 3_600_000);
    expect(await outcome(at.send(words("Hello")))).toEqual(["sent"]);
  });

  it("may be found to have ended after the message was taken: then it is told as refused", async () => {
    const clock = manualClock();
    const at = await setUp({ clock });
    at.graph.refusesLate = true;
    at.mira.lastWroteAt = 0;
    const [ref] = await at.send(words("Hello"));
    await until(() => at.graph.hook.posted.every(({ statuses }) => statuses.length > 0));
    // Where it overtook the answer to the send, it comes again.
    await clock.advance(1_000);
    expect(await at.host.whenAccepted(1)).toMatchObject([
      { type: "delivery", ref, status: "refused", why: "the person has not written for more than 24 hours" },
    ]);
  });
});

describe("signs of life", () => {
  it("mark the person's last message as read and show that an answer is being written", async () => {
    const clock = manualClock();
    const { channel, graph, host, mira } = await setUp({ clock });
    const to = { channel: "family", chat: `+${MIRA}` };
    await channel.progress?.(to, { kind: "typing" }); // nobody has written yet
    const first = mira.say("one");
    const second = mira.say("two");
    await host.whenAccepted(2);
    await channel.taken?.(to, [first, second, ""]);
    const typing = channel.progress?.(to, { kind: "typing" });
    await until(() => graph.marks.length === 2);
    await clock.whenTimer(20_000);
    await clock.advance(20_000);
    await typing;
    const mark = { messaging_product: "whatsapp", status: "read", message_id: second };
    expect(graph.marks).toEqual([mark, { ...mark, typing_indicator: { type: "text" } }]);
  });

  it("are not shown where people are not to see that they were read", async () => {
    const { channel, graph, host, mira } = await setUp({ settings: { readReceipts: false } });
    const to = { channel: "family", chat: `+${MIRA}` };
    const ref = mira.say("one");
    await host.whenAccepted(1);
    await channel.taken?.(to, [ref]);
    await channel.progress?.(to, { kind: "typing" });
    expect(graph.calls).not.toContain("marks");
  });

  it("throw nothing where Meta does not take them", async () => {
    const { channel, graph, host, mira } = await setUp();
    const ref = mira.say("one");
    await host.whenAccepted(1);
    graph.fault("marks", { kind: "html", status: 500, when: "before" });
    await channel.taken?.({ channel: "family", chat: `+${MIRA}` }, [ref]);
    expect([graph.calls.at(-1), graph.marks]).toEqual(["marks", []]);
  });
});

describe("what it says of itself", () => {
  it("has no edits, albums and drafts, and as many choices as a list has rows", async () => {
    const { channel } = await setUp();
    expect(channel.limits).toMatchObject({ choices: 10, drafts: false, captionLength: 1_024 });
    expect(channel.limits).not.toHaveProperty("album");
    expect(channel).not.toHaveProperty("takeBack");
    expect(channel.lengthOf?.({ ...plain("bold"), marks: [{ type: "bold", offset: 0, length: 4 }] })).toBe(6);
  });

  it("gives a link that writes /start to the number", async () => {
    const { channel } = await setUp();
    expect(await channel.startLink?.("ABCD2345")).toBe("https://wa.me/15550783881?text=%2Fstart%20ABCD2345");
  });
});

describe("a sign at a message", () => {
  it("is a reaction to it, is taken away by an empty one, and troubles nobody where it is refused", async () => {
    const at = await setUp();
    const ref = at.mira.say("Which?");
    const to = { channel: "family", chat: `+${MIRA}` };
    await at.channel.react?.(to, ref, "👀", NEVER);
    await at.channel.react?.(to, ref, undefined, NEVER);
    await at.channel.react?.(to, "wamid.unknown", "👀", NEVER);
    expect(at.graph.taken.map(({ body }) => [body["to"], body["reaction"]])).toEqual([
      [MIRA, { message_id: ref, emoji: "👀" }],
      [MIRA, { message_id: ref, emoji: "" }],
    ]);
  });
});
