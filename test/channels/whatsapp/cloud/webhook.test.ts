import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { GatewayError } from "../../../../src/core/errors.ts";
import { manualClock, settle } from "../../../support/clock.ts";
import { type Cloud, type CloudOptions, MIRA, openNumber, until } from "./set-up.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function setUp(options: CloudOptions = {}): Promise<Cloud> {
  const at = await openNumber({ clock: manualClock(), ...options });
  cleanups.push(() => at.close());
  return at;
}

const MESSAGE = { from: MIRA, id: "wamid.1", timestamp: "1", type: "text", text: { body: "Hi" } };

/** A payload that Meta would post. */
function message({ graph }: Cloud, more: Readonly<Record<string, unknown>> = {}): string {
  return graph.hook.bodyOf([
    {
      metadata: { phone_number_id: graph.phoneNumberId },
      messages: [MESSAGE],
      ...more,
    },
  ]);
}

async function post(
  { graph, url }: Cloud,
  body: string,
  signature = graph.hook.signatureOf(body),
): Promise<number> {
  const headers = { "content-type": "application/json", "x-hub-signature-256": signature };
  const answer = await fetch(url, { method: "POST", body, headers });
  expect(await answer.text()).toBe("");
  return answer.status;
}

describe("the handshake of the webhook", () => {
  it("gives the challenge back to whoever knows the token, and to nobody else", async () => {
    const { url, graph } = await setUp();
    const ask = async (query: Record<string, string>): Promise<readonly [number, string]> => {
      const answer = await fetch(`${url}?${new URLSearchParams(query).toString()}`);
      return [answer.status, await answer.text()];
    };
    const right = {
      "hub.mode": "subscribe",
      "hub.verify_token": graph.verifyToken,
      "hub.challenge": "1158201444",
    };
    expect(await ask(right)).toEqual([200, "1158201444"]);
    expect(await ask({ ...right, "hub.verify_token": graph.verifyToken.slice(1) })).toEqual([403, ""]);
    expect(await ask({ ...right, "hub.mode": "unsubscribe" })).toEqual([403, ""]);
    expect(await ask({ ...right, "hub.challenge": "<script>" })).toEqual([403, ""]);
    expect(await ask({})).toEqual([403, ""]);
  });
});

describe("what knocks at the webhook", () => {
  it("is turned away unless Meta has signed every byte of it", async () => {
    const at = await setUp();
    const body = message(at);
    const signature = at.graph.hook.signatureOf(body);
    expect([
      await post(at, body, ""),
      await post(at, body, signature.replace("sha256=", "sha1=")),
      await post(at, body, `sha256=${"0".repeat(64)}`),
      await post(at, `${body} `, signature),
      await post(at, "{", at.graph.hook.signatureOf("{")),
      await post(at, " ".repeat(3 * 1024 * 1024 + 1)),
      (await fetch(at.url, { method: "PUT", body })).status,
    ]).toEqual([401, 401, 401, 401, 400, 413, 405]);
    expect(at.host.accepts()).toBe(0);
    expect(await post(at, body)).toBe(200);
    expect(at.host.accepted).toHaveLength(1);
  });

  it("is answered and left alone where it is about another number, another field or another product", async () => {
    const at = await setUp();
    const other = message(at, { metadata: { phone_number_id: "999999999999999" } });
    const bodies = [
      other,
      message(at).replace('"field":"messages"', '"field":"account_update"'),
      message(at).replace("whatsapp_business_account", "page"),
      '{"object":"whatsapp_business_account","entry":[null,{"changes":"none"},{"changes":[{"field":"messages"}]}]}',
    ];
    for (const body of bodies) expect(await post(at, body)).toBe(200);
    expect([at.host.accepts(), at.host.logged]).toEqual([0, []]);
  });

  it.each([
    ["contacts that are none", { contacts: "none" }],
    ["a contact that is nothing", { contacts: [null, { wa_id: "15550100001", profile: { name: 5 } }] }],
    ["a trouble without words", { errors: [null, { code: "?", title: 5 }] }],
    ["a message without an id that is one", { messages: [{ id: 5, from: "15550100001" }, MESSAGE] }],
    [
      "a status of no known name",
      { statuses: [{ id: "wamid.2", status: "constructor", recipient_id: MIRA }] },
    ],
    [
      "a failure without words",
      {
        statuses: [{ id: "wamid.2", status: "failed", recipient_id: MIRA, errors: [{ code: 5, title: 5 }] }],
      },
    ],
  ])("is taken in beside %s", async (_what, more) => {
    const at = await setUp();
    expect(await post(at, message(at, more))).toBe(200);
    const said = at.host.accepted.filter(({ type }) => type === "message");
    expect(said).toMatchObject([{ id: "wamid.1", content: [{ text: "Hi" }] }]);
    for (const event of at.host.accepted)
      if (event.type === "delivery")
        expect(event).toMatchObject({ status: "refused", why: "Meta says: no reason (5)" });
  });

  it("needs no password and no known host name, which is not so of what stands beside it", async () => {
    const at = await setUp();
    const body = message(at);
    const { port, pathname } = new URL(at.url);
    const headers = { host: "bot.example.org", "x-hub-signature-256": at.graph.hook.signatureOf(body) };
    const asked = async (path: string): Promise<number | undefined> =>
      await new Promise((resolve, reject) => {
        const request = httpRequest({ port, path, method: "POST", headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        });
        request.on("error", reject);
        request.end(body);
      });
    expect([await asked(pathname), await asked("/elsewhere")]).toEqual([200, 421]);
  });
});

describe("what cannot be stored", () => {
  it("stays with Meta, which comes again until it is", async () => {
    const clock = manualClock();
    const at = await setUp({ clock });
    at.host.refuse(new GatewayError("store.unavailable", "the disk is full"));
    at.mira.say("do not lose this");
    await until(() => at.graph.hook.posted[0]?.statuses.length === 1);
    at.host.refuse(undefined);
    await clock.whenTimer(1_000);
    await clock.advance(1_000);
    await at.host.whenAccepted(1);
    await until(() => at.graph.hook.isSettled());
    expect(at.graph.hook.posted[0]?.statuses).toEqual([503, 200]);
    expect(at.host.logged.map(({ sentence }) => sentence)).toEqual([
      "a message could not be stored; Meta hands it over again",
    ]);
  });

  it("stays with Meta also where the commit was made and its answer was lost, and is no second message then", async () => {
    const clock = manualClock();
    const at = await setUp({ clock });
    let failing = true;
    at.host.afterAccept(() => {
      if (failing) throw new Error("the connection to the database broke");
    });
    at.mira.say("once");
    await until(() => at.graph.hook.posted[0]?.statuses.length === 1);
    failing = false;
    await clock.whenTimer(1_000);
    await clock.advance(1_000);
    await until(() => at.graph.hook.isSettled());
    expect([at.host.accepts(), at.host.accepted.length]).toEqual([2, 1]);
  });
});

describe("a connection that closes", () => {
  it("finishes what is being stored, and takes nothing in after that", async () => {
    const at = await setUp();
    let pass: () => void = () => {};
    const slow = new Promise<void>((resolve) => (pass = resolve));
    at.host.beforeAccept(() => slow);
    at.mira.say("one");
    await until(() => at.host.accepts() === 1);
    const closing = at.channel.close();
    expect(await post(at, message(at)).catch(() => 404)).toBe(404);
    await settle();
    expect(at.host.accepted).toHaveLength(0);
    pass();
    await closing;
    expect(at.host.accepted).toHaveLength(1);
    expect(at.timers()).toBe(0);
  });
});
