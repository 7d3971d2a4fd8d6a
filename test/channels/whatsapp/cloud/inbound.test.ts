import { afterEach, describe, expect, it } from "vitest";
import type { InboundEvent } from "../../../../src/core/events.ts";
import { manualClock } from "../../../support/clock.ts";
import { type Cloud, type CloudOptions, MIRA, openNumber, until, words } from "./set-up.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function setUp(options: CloudOptions = {}): Promise<Cloud> {
  const at = await openNumber({ clock: manualClock(), ...options });
  cleanups.push(() => at.close());
  return at;
}

const KEY = `+${MIRA}`;
const AT = new Date(1_700_000_000_000).toISOString();

/** What one message becomes. */
async function eventOf(message: Readonly<Record<string, unknown>>): Promise<InboundEvent | undefined> {
  const { host, mira } = await setUp();
  mira.send(message);
  return (await host.whenAccepted(1)).at(-1);
}

async function textsOf(message: Readonly<Record<string, unknown>>): Promise<unknown> {
  const event = await eventOf(message);
  return event?.type === "message" && event.content.map((part) => (part.type === "text" ? part.text : part));
}

describe("what people write", () => {
  it("becomes an event under the message's id, of one person in a chat of their own", async () => {
    const { host, mira } = await setUp();
    const id = mira.say("Which bird is this? 🐦 ä/ß");
    expect(await host.whenAccepted(1)).toEqual([
      {
        type: "message",
        unique: true,
        id,
        ref: id,
        place: { chat: KEY, kind: "private" },
        from: { id: KEY, name: "Mira" },
        sentAt: AT,
        content: [{ type: "text", text: "Which bird is this? 🐦 ä/ß" }],
        addressed: true,
      },
    ]);
  });

  it.each([
    [
      "a location",
      {
        type: "location",
        location: { latitude: 52.5, longitude: 13.4, name: "Zoo", address: "Hardenbergplatz 8" },
      },
      "[location 52.5, 13.4, Zoo, Hardenbergplatz 8]",
    ],
    [
      "a contact",
      {
        type: "contacts",
        contacts: [
          {
            name: { formatted_name: "Ada [x]" },
            phones: [{ phone: "+1 555" }],
            emails: [{ email: "a@example.org" }],
          },
        ],
      },
      "[contact Ada x, +1 555, a@example.org]",
    ],
    ["a template's button", { type: "button", button: { payload: "yes", text: "Yes please" } }, "Yes please"],
    [
      "an order",
      {
        type: "order",
        order: {
          text: "soon",
          product_items: [{ product_retailer_id: "sku-1", quantity: 2, item_price: 3.5, currency: "EUR" }],
        },
      },
      "[order]\n- 2 × sku-1 at 3.5 EUR\nsoon",
    ],
    [
      "a form",
      {
        type: "interactive",
        interactive: {
          type: "nfm_reply",
          nfm_reply: { name: "flow", body: "Sent", response_json: '{"day":"monday"}' },
        },
      },
      '[filled-in form flow, {"day":"monday"}]',
    ],
    [
      "a button of somebody else's message",
      {
        type: "interactive",
        interactive: { type: "button_reply", button_reply: { id: "confirm-order", title: "Confirm" } },
      },
      "Confirm",
    ],
    [
      "what is not handed over",
      {
        type: "unsupported",
        errors: [
          {
            code: 131_051,
            title: "Message type unknown",
            error_data: { details: "Message type is currently not supported." },
          },
        ],
        unsupported: { type: "poll_creation" },
      },
      "[unsupported message: poll creation, Message type is currently not supported.]",
    ],
    ["what there may be one day", { type: "hologram", hologram: {} }, "[unsupported message: hologram]"],
    ["a medium without an id", { type: "image", image: {} }, "[photo, not available]"],
  ])("reads %s", async (_what, message, text) => {
    expect(await textsOf(message)).toEqual([text]);
  });

  it("says behind which ad somebody writes", async () => {
    const referral = { source_url: "https://example.org/ad", headline: "Ferns", body: "All sorts" };
    expect(await textsOf({ type: "text", text: { body: "Hi" }, referral })).toEqual([
      "Hi",
      "[they came here from an ad or a post, Ferns, All sorts, https://example.org/ad]",
    ]);
  });

  it.each([
    [
      "image",
      "image/jpeg",
      { caption: "A kingfisher" },
      ["A kingfisher"],
      { kind: "image", declared: { mimeType: "image/jpeg", label: "photo" } },
    ],
    [
      "audio",
      "audio/ogg; codecs=opus",
      { voice: true },
      [],
      { kind: "audio", declared: { mimeType: "audio/ogg; codecs=opus", label: "voice note" } },
    ],
    ["audio", "audio/mpeg", {}, [], { kind: "audio", declared: { mimeType: "audio/mpeg" } }],
    ["video", "video/mp4", {}, [], { kind: "video", declared: { mimeType: "video/mp4" } }],
    [
      "document",
      "application/pdf",
      { filename: "../a\u202e.pdf" },
      [],
      { kind: "file", declared: { mimeType: "application/pdf", filename: "a.pdf" } },
    ],
    ["document", "image/png", {}, [], { kind: "image", declared: { mimeType: "image/png" } }],
    [
      "sticker",
      "image/webp",
      { animated: true },
      ["[animated sticker]"],
      { kind: "image", declared: { mimeType: "image/webp", label: "sticker" } },
    ],
  ] as const)("announces %s (%s)", async (kind, type, more, before, file) => {
    const { host, mira } = await setUp();
    mira.sendFile(kind, Buffer.from("bytes"), type, more);
    const [event] = await host.whenAccepted(1);
    expect(event?.type === "message" && event.content).toEqual([
      ...before.map((text) => ({ type: "text", text })),
      { type: "unfetched", ref: expect.stringMatching(/^\d+$/), ...file },
    ]);
  });

  it("knows what was forwarded, but not from whom", async () => {
    const event = await eventOf({ type: "text", text: { body: "News!" }, context: { forwarded: true } });
    expect(event).toMatchObject({ forward: { from: "somebody" } });
    expect(event).not.toHaveProperty("quote");
  });

  it("quotes with its words what they answer: theirs, ours, and what is not known", async () => {
    const { graph, host, mira, send } = await setUp();
    const photo = mira.sendFile("image", Buffer.from("x"), "image/jpeg", { caption: "Look" });
    await host.whenAccepted(1);
    const [ours = ""] = await send(words("A kingfisher."));
    for (const id of [photo, ours, "wamid.of-last-year"])
      mira.say("Sure?", { context: { from: graph.displayNumber, id } });
    const events = await host.whenAccepted(4);
    expect(events.slice(1).map((event) => event.type === "message" && event.quote)).toEqual([
      {
        text: "Look\n[photo]",
        ref: photo,
        from: "Mira",
        media: [expect.objectContaining({ kind: "image" })],
      },
      { text: "A kingfisher.", ref: ours },
      { text: "[a message that is not known any more]", ref: "wamid.of-last-year" },
    ]);
  });

  it("is the same event when it comes again, whatever has become known since", async () => {
    const { graph, host, mira } = await setUp();
    graph.hook.hold();
    const first = mira.say("The blue one.");
    mira.say("This one?", { context: { id: first } });
    // The answer overtakes what it answers, and is told of once more behind it.
    graph.hook.release((held) => [...held.toReversed(), ...held.slice(1)]);
    await until(() => graph.hook.isSettled());
    expect(host.accepts()).toBe(3);
    expect(host.accepted.map(({ type }) => type)).toEqual(["message", "message"]);
  });

  it("comes through whole when webhooks are doubled, turned and put together", async () => {
    const { graph, host, mira } = await setUp();
    graph.hook.hold();
    const ids = Array.from({ length: 12 }, (_, n) => mira.say(`number ${n}`));
    graph.hook.release((held) => [...held.toReversed(), ...held], 5);
    await until(() => graph.hook.isSettled());
    expect(host.accepted.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });

  it("says nothing where somebody only opens the chat, and leaves groups alone", async () => {
    const { host, mira, graph } = await setUp();
    mira.send({ type: "request_welcome" });
    mira.say("In a group", { group_id: "Y2FwaV9ncm91cDo" });
    await until(() => graph.hook.posted.length === 2 && graph.hook.isSettled());
    expect([host.accepts(), graph.hook.posted.map(({ statuses }) => statuses)]).toEqual([0, [[200], [200]]]);
  });

  it("keeps one that cannot be read from keeping back those beside it", async () => {
    const { host, mira, graph } = await setUp();
    graph.hook.hold();
    mira.send({ type: "text", text: { body: { not: "a text" } } });
    mira.say("Hello?");
    graph.hook.release((held) => held, 2);
    const events = await host.whenAccepted(2);
    expect(events.map((event) => event.type === "message" && event.content)).toEqual([
      [{ type: "text", text: "[unsupported message: of a kind that is not handed to businesses]" }],
      [{ type: "text", text: "Hello?" }],
    ]);
    expect(host.logged).toMatchObject([{ level: "error", sentence: "a message could not be read" }]);
  });
});

describe("what people do with messages", () => {
  it("is a choice where they press a button or a row of ours", async () => {
    const { graph, host, mira, send } = await setUp();
    mira.lastWroteAt = graph.clock.now();
    const two = [
      { label: "Yes", key: "ABCD2345" },
      { label: "No", key: "EFGH6789" },
    ];
    const many = [...two, { label: "Perhaps another day, if the weather holds", key: "JKLM2345" }];
    const [buttons = ""] = await send({ ...words("Really?"), choices: two });
    const [list = ""] = await send({ ...words("Really?"), choices: many });
    const presses = [mira.press(buttons, 1), mira.press(list, 2)];
    const from = { id: KEY, name: "Mira" };
    const place = { chat: KEY, kind: "private" };
    expect(await host.whenAccepted(2)).toEqual([
      { type: "choice", id: presses[0], place, from, sentAt: AT, key: "EFGH6789" },
      { type: "choice", id: presses[1], place, from, sentAt: AT, key: "JKLM2345" },
    ]);
  });

  it("is answered with words where a press leads to nothing", async () => {
    const answers = ([event]: readonly InboundEvent[]) =>
      new Map(event ? [[event.id, "This has expired."]] : []);
    const { graph, mira, send } = await setUp({ host: { answers } });
    mira.lastWroteAt = graph.clock.now();
    const [id = ""] = await send({ ...words("Really?"), choices: [{ label: "Yes", key: "ABCD2345" }] });
    mira.press(id, 0);
    await until(() => graph.taken.length === 2);
    expect(graph.taken[1]?.body).toMatchObject({ to: MIRA, text: { body: "This has expired." } });
  });

  it("is a reaction with what it takes the place of, also when it is told of twice", async () => {
    const { graph, host, mira, send } = await setUp();
    mira.lastWroteAt = graph.clock.now();
    const [ref = ""] = await send(words("A kingfisher."));
    graph.hook.hold();
    mira.react(ref, "👍");
    mira.react(ref, "❤️");
    mira.react(ref);
    graph.hook.release((held) => held.flatMap((change) => [change, change]));
    await until(() => graph.hook.isSettled());
    expect(host.accepted.map((event) => event.type === "reaction" && [event.added, event.removed])).toEqual([
      [["👍"], []],
      [["❤️"], ["👍"]],
      [[], ["❤️"]],
    ]);
    expect(host.accepted[0]).toMatchObject({ ref, from: { id: KEY } });
  });

  it("is an edit or a deletion where the number is told of them", async () => {
    const { host, mira } = await setUp();
    const ref = mira.say("Tuseday");
    const edit = mira.send({
      type: "edit",
      edit: { original_message_id: ref, message: { type: "text", text: { body: "Tuesday" } } },
    });
    const revoke = mira.send({ type: "revoke", revoke: { original_message_id: ref } });
    const [, edited, deleted] = await host.whenAccepted(3);
    expect(edited).toMatchObject({ type: "edited", id: edit, ref, content: [{ text: "Tuesday" }] });
    expect(deleted).toEqual({
      type: "deleted",
      id: revoke,
      place: { chat: KEY, kind: "private" },
      refs: [ref],
      sentAt: AT,
    });
  });
});

describe("who people are", () => {
  it("stays one person when they hide their number, and when they show it again", async () => {
    const { host, mira, graph } = await setUp();
    mira.userId = "US.13491208655302741918";
    mira.say("one");
    await host.whenAccepted(1);
    mira.hidesPhone = true;
    mira.say("two");
    await host.whenAccepted(2);
    const ada = graph.person({ phone: "15550100002", name: "Ada", userId: "DE.ENT.77aB" });
    ada.hidesPhone = true;
    ada.say("three");
    await host.whenAccepted(3);
    ada.hidesPhone = false;
    ada.say("four");
    const events = await host.whenAccepted(4);
    expect(
      events.map((event) => event.type === "message" && [event.place.chat, event.from.id, event.from.also]),
    ).toEqual([
      [KEY, KEY, ["US.13491208655302741918"]],
      [KEY, KEY, ["US.13491208655302741918"]],
      ["DE.ENT.77aB", "DE.ENT.77aB", undefined],
      ["DE.ENT.77aB", "DE.ENT.77aB", ["+15550100002"]],
    ]);
  });

  it("keeps who they are over a restart", async () => {
    const first = await setUp();
    first.mira.userId = "US.1";
    first.mira.say("one");
    await first.host.whenAccepted(1);
    const { graph, host } = await setUp({ state: first.host.host.state });
    const mira = graph.people[0];
    if (mira) [mira.userId, mira.hidesPhone] = ["US.1", true];
    mira?.say("two");
    expect(await host.whenAccepted(1)).toMatchObject([{ from: { id: KEY } }]);
  });

  it("moves their chat when they have a new number, by which they are known from then on", async () => {
    const { host, mira, graph } = await setUp();
    mira.userId = "US.1";
    mira.say("one");
    await host.whenAccepted(1);
    const moved = mira.send({
      type: "system",
      system: {
        type: "user_changed_number",
        body: "…",
        wa_id: "15550100009",
        user_id: "US.2",
        previous_user_id: "US.1",
      },
    });
    await host.whenAccepted(2);
    graph.person({ phone: "15550100009", name: "Mira", userId: "US.2" }).say("two");
    const [, move, next] = await host.whenAccepted(3);
    expect(move).toEqual({ type: "chatMoved", id: `moved/${moved}`, from: KEY, to: "+15550100009" });
    expect(next).toMatchObject({ from: { id: "+15550100009", also: ["US.2"] } });
  });

  it("keeps the chat of whoever has a number, and moves that of whoever has none, when Meta knows them by another id", async () => {
    const { host, mira, graph } = await setUp();
    const ada = graph.person({ name: "Ada", userId: "DE.1" });
    mira.userId = "US.1";
    for (const person of [mira, ada]) person.say("one");
    await host.whenAccepted(2);
    for (const [person, now] of [
      [mira, "US.2"],
      [ada, "DE.2"],
    ] as const) {
      const before = person.userId;
      person.send({
        type: "system",
        system: { type: "user_changed_user_id", user_id: now, previous_user_id: before },
      });
      [person.userId, person.hidesPhone] = [now, true];
    }
    for (const person of [mira, ada]) person.say("two");
    const events = await host.whenAccepted(5);
    expect(
      events
        .slice(2)
        .map((event) =>
          event.type === "chatMoved"
            ? [event.from, event.to]
            : "from" in event && typeof event.from === "object" && event.from.id,
        ),
    ).toEqual([["DE.1", "DE.2"], KEY, "DE.2"]);
  });
});

describe("what becomes of our messages", () => {
  it("is told as it comes, of whoever it was sent to", async () => {
    const { graph, host, mira, send } = await setUp();
    mira.lastWroteAt = graph.clock.now();
    const [ref = ""] = await send(words("Hello"));
    graph.status(ref, "read");
    graph.status(ref, "sent");
    graph.status(ref, "delivered");
    graph.status(ref, "failed", { code: 131_049, title: "This message was not delivered" });
    graph.status(ref, "failed", { code: 999_999, title: "Nobody knows +15550100001" });
    const events = await host.whenAccepted(4);
    const event = { type: "delivery", chat: KEY, ref, sentAt: AT };
    expect(events).toEqual([
      { ...event, id: `${ref}/read`, status: "read" },
      { ...event, id: `${ref}/delivered`, status: "delivered" },
      {
        ...event,
        id: `${ref}/failed`,
        status: "refused",
        why: "Meta has chosen not to deliver it to this person",
      },
      { ...event, id: `${ref}/failed`, status: "refused", why: "Meta says: Nobody knows <number> (999999)" },
    ]);
  });

  it("comes again where it overtakes the answer to the send, for a minute", async () => {
    const clock = manualClock();
    const { graph, host, mira, send } = await setUp({ clock });
    mira.lastWroteAt = graph.clock.now();
    const [ours = ""] = await send(words("Hello"));
    const id = "wamid.whose-answer-is-on-the-way";
    const timestamp = String(clock.now() / 1_000);
    const errors = [{ code: 131_026, title: "Message undeliverable" }];
    graph.happened({ statuses: [{ id, status: "failed", timestamp, recipient_id: MIRA, errors }] });
    graph.status(ours, "delivered");
    await until(() => graph.hook.posted.every(({ statuses }) => statuses.length === 1));
    expect(graph.hook.posted.map(({ statuses }) => statuses)).toEqual([[503], [200]]);
    for (let waitMs = 1_000; waitMs <= 32_000; waitMs *= 2) {
      await clock.whenTimer(waitMs);
      await clock.advance(waitMs);
    }
    await until(() => graph.hook.isSettled());
    expect(host.accepted.map((event) => event.type === "delivery" && event.ref)).toEqual([ours, id]);
    expect(host.logged).toEqual([]);
  });

  it("is logged without a number where Meta tells of a trouble with the account", async () => {
    const { graph, host } = await setUp();
    graph.happened({ errors: [{ code: 130_429, title: "Rate limit hit" }] });
    await until(() => host.logged.length === 1);
    expect(host.logged).toEqual([
      {
        level: "warn",
        fields: { code: 130_429 },
        sentence: "Meta tells of a trouble with the number: too many messages were sent from this number",
      },
    ]);
    expect(host.accepts()).toBe(0);
  });
});
