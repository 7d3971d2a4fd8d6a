import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { examineCloud } from "../../../../channels/whatsapp/cloud/examine.ts";
import { openLine } from "../../../../channels/whatsapp/cloud/line.ts";
import { openCloud } from "../../../../channels/whatsapp/cloud/open.ts";
import { withoutSecrets } from "../../../../channels/whatsapp/cloud/secrets.ts";
import { settings } from "../../../../channels/whatsapp/settings.ts";
import { testHost } from "../../../support/channel-host.ts";
import { manualClock } from "../../../support/clock.ts";
import { httpProxy } from "../../telegram/edges.ts";
import { type Cloud, type CloudOptions, openNumber, until, words } from "./set-up.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function setUp(options: CloudOptions = {}): Promise<Cloud> {
  const at = await openNumber({ clock: manualClock(), ...options });
  cleanups.push(() => at.close());
  at.mira.lastWroteAt = at.graph.clock.now();
  return at;
}

describe("where a number stands", () => {
  it("is open once Meta has told it", async () => {
    const { host, timers } = await setUp();
    await until(() => host.states.length === 2);
    expect(host.states).toEqual([{ is: "connecting" }, { is: "open" }]);
    expect([timers(), host.logged]).toEqual([0, []]);
  });

  it("is stopped with a remedy by a token that is not taken, and open when Meta takes it again", async () => {
    const clock = manualClock();
    const fault = { kind: "refuse", status: 401, code: 190, message: "Session has expired" } as const;
    const { host } = await setUp({ clock, before: (graph) => graph.fault("number", fault) });
    await until(() => host.failures.length === 1);
    const why =
      "Meta answered 401, code 190: the token has expired or was taken back ((#190) Session has expired); set " +
      "channels.family.cloud.token to a token of a system user with whatsapp_business_messaging";
    expect(host.states).toEqual([{ is: "connecting" }, { is: "stopped", why }]);
    expect(host.failures).toMatchObject([
      { code: "channel.refused", message: `the channel “family” cannot send: ${why}` },
    ]);
    await clock.whenTimer(2_000);
    await clock.advance(2_000);
    await until(() => host.recoveries.length === 1);
    expect(host.states.at(-1)).toEqual({ is: "open" });
  });

  it("is stopped by an account that may not send until a message has gone through", async () => {
    const { host, graph, send } = await setUp();
    await until(() => host.states.at(-1)?.is === "open");
    const locked = { kind: "refuse", status: 403, code: 131_031 } as const;
    graph.fault("messages", locked, 2);
    await send(words("Hello")).catch(() => {});
    await send(words("Hello")).catch(() => {});
    expect(host.states.at(-1)).toMatchObject({
      is: "stopped",
      why: expect.stringContaining("WhatsApp Manager"),
    });
    expect(host.failures).toHaveLength(1);
    await send(words("Hello"));
    expect([host.states.at(-1), host.recoveries]).toEqual([{ is: "open" }, [1]]);
  });

  it("waits for a Meta that cannot be reached, which is told after a minute, and takes in all the while", async () => {
    const clock = manualClock();
    const down = { kind: "html", status: 502, when: "before" } as const;
    const { host, mira } = await setUp({ clock, before: (graph) => graph.fault("number", down, 6) });
    for (let waitMs = 2_000; waitMs <= 64_000; waitMs *= 2) {
      await clock.whenTimer(waitMs);
      expect(host.states.at(-1)).toMatchObject({ is: "waiting", until: clock.now() + waitMs });
      await clock.advance(waitMs);
    }
    await until(() => host.states.at(-1)?.is === "open");
    expect(host.failures).toMatchObject([{ code: "channel.unreachable" }]);
    expect(host.recoveries).toEqual([1]);
    mira.say("Hi");
    await host.whenAccepted(1);
  });

  it("cannot be without the keys of the Cloud API", async () => {
    const host = await testHost({ id: "family" });
    cleanups.push(() => host.close());
    await expect(openCloud(settings.parse({}), host.host)).rejects.toMatchObject({ code: "config.invalid" });
  });
});

describe("perch check", () => {
  it("finds the number, and says what to do where Meta does not take the token", async () => {
    const { graph } = await setUp();
    const given = settings.parse({ transport: "cloud", cloud: graph.settings });
    const { cloud } = given;
    if (!cloud) throw new Error("it was given");
    const by = { clock: manualClock() };
    expect(await examineCloud(cloud, given, by)).toEqual([
      { kind: "fact", text: "it is the number of “Fern & Co”, whose quality Meta rates green" },
    ]);
    expect(await examineCloud({ ...cloud, token: "EAAJsomethingElseEntirely" }, given, by)).toMatchObject([
      { kind: "fault", remedy: "set cloud.token and cloud.phoneNumberId to what the app's API setup shows" },
    ]);
    const nowhere = { ...cloud, graphRoot: "http://127.0.0.1:1" };
    expect(await examineCloud(nowhere, given, by)).toMatchObject([
      { kind: "fault", remedy: expect.stringContaining("proxy") },
    ]);
  });
});

describe("a proxy", () => {
  it("carries every call", async () => {
    const proxy = await httpProxy();
    cleanups.push(() => proxy.close());
    const at = await setUp({ settings: { proxy: proxy.url } });
    expect(await at.send(words("Hello"))).toHaveLength(1);
    expect(proxy.passed.length).toBeGreaterThan(0);
  });

  it("that turns a call away has written nothing", async () => {
    const proxy = await httpProxy({ verdict: () => ({ status: 503 }) });
    cleanups.push(() => proxy.close());
    const line = await openLine(proxy.url);
    const call = line.open("http://127.0.0.1:1/", { method: "POST", body: "x" });
    await expect(call).rejects.toMatchObject({ written: false, message: expect.stringContaining("503") });
  });
});

describe("what is said of a failed call", () => {
  it.each([
    ["token EAAJEmulatedTokenOfASystemUser0123456789 is bad", "token <token> is bad"],
    ["to +1 (555) 010-0001 and 15550100001", "to <number> and <number>"],
    ["Param \"text['body']\" of 'the words' is it", "Param “…” of “…” is it"],
    ["the user's choice", "the user's choice"],
    ["a\n\nb", "a b"],
    ["(#131026) code", "(#131026) code"],
  ])("%j becomes %j", (words_, expected) => {
    expect(withoutSecrets(words_)).toBe(expected);
  });

  it("holds no secret, whatever a socket says", async () => {
    const at = await setUp();
    await at.graph.server?.close();
    at.graph.server = undefined;
    const told: unknown = await at.send(words("my secret words")).catch((thrown: unknown) => thrown);
    const everything = inspect([told, at.host.logged, at.host.failures], { depth: 20, showHidden: true });
    for (const secret of [at.graph.token, at.graph.appSecret, "15550100001", "my secret words"])
      expect(everything).not.toContain(secret);
  });
});
