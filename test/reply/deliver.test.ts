import { sql } from "kysely";
import { afterEach, describe, expect, it } from "vitest";
import { GatewayError } from "../../src/core/errors.ts";
import { manualClock } from "../support/clock.ts";
import { testGateway, type TestGateway } from "../support/gateway.ts";

let opened: TestGateway | undefined;
afterEach(() => opened?.close());

async function setUp() {
  const clock = manualClock();
  opened = await testGateway({ clock });
  return { ...opened, clock };
}

describe("a piece that the platform refuses", () => {
  it("is tried once in each simpler form, also where the channel names them in turns", async () => {
    const { platform, clock } = await setUp();
    const forms: (string | undefined)[] = [];
    platform.outcome = (_piece, { form }) => {
      if (forms.length > 20) return "shown";
      forms.push(form);
      if (forms.length > 3) return "shown";
      return new GatewayError("send.refused", "no", { stepDown: form === "plain" ? "document" : "plain" });
    };
    await platform.say("c1", "hello");
    await clock.advance(300);
    await clock.advance(60_000);
    expect(forms).toEqual([undefined, "plain", "document", undefined]);
    expect(platform.textsIn("c1")).toEqual(["A part of my answer could not be sent: a text."]);
  });
});

describe("a piece that was sent, while the store does not take that down", () => {
  it("is not sent again: it is the commit that is tried again", async () => {
    const { platform, clock, database, logged } = await setUp();
    const { db } = database;
    await sql`create trigger full_disk before update on piece when new.state = 'sent'
      begin select raise(abort, 'the disk is full'); end`.execute(db);
    await platform.say("c1", "hello");
    await clock.advance(300);
    await platform.until((shown) => shown.length > 0);
    await clock.advance(500);
    await sql`drop trigger full_disk`.execute(db);
    await clock.advance(60_000);

    expect(platform.sends).toBe(1);
    expect(platform.textsIn("c1")).toEqual(["heard: hello"]);
    const states = await sql<{ state: string }>`select state from piece`.execute(db);
    expect(states.rows).toEqual([{ state: "sent" }]);
    expect(logged.filter(({ sentence }) => /unknown/.test(sentence))).toEqual([]);
  });
});
