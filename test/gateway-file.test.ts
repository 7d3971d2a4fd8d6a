import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { afterEach, describe, expect, it } from "vitest";
import { GatewayError } from "../src/core/errors.ts";
import { manualClock } from "./support/clock.ts";
import { testGateway, type TestGateway, type TestGatewayOptions, textOf } from "./support/gateway.ts";

// What takes a server too long, or is no server's to show; the rest is in gateway.test.ts.

const opened: TestGateway[] = [];

async function setUp(
  options: TestGatewayOptions = {},
): Promise<TestGateway & { clock: ReturnType<typeof manualClock> }> {
  const clock = manualClock();
  const gateway = await testGateway({ clock, ...options });
  opened.push(gateway);
  return { ...gateway, clock };
}

afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

describe("a gateway on a file", () => {
  it("sends an answer of two thousand pieces, and goes on", async () => {
    const paragraph = "word ".repeat(30).trim();
    const { platform, clock } = await setUp({
      answer: (turn) => (textOf(turn) === "long" ? Array(2_000).fill(paragraph).join("\n\n") : "short"),
    });
    await platform.say("c1", "long", { whole: true });
    await platform.say("c1", "next", { whole: true });
    await clock.advance(0);
    await platform.until((shown) => shown.at(-1)?.text === "short");
    expect(platform.textsIn("c1")).toEqual([...Array<string>(2_000).fill(paragraph), "short"]);
  });

  it("keeps an answer back that /stop overtakes while its files are read", async () => {
    let overtake = async (): Promise<unknown> => undefined;
    const { platform, clock, folder, asked, gateway } = await setUp({
      answer: () => {
        setImmediate(() => void overtake());
        return "![a file](notes.txt)";
      },
    });
    overtake = () => platform.say("c1", "/stop");
    const outputs = join(folder, "chats", "1", "outputs");
    await mkdir(outputs, { recursive: true });
    await writeFile(join(outputs, "notes.txt"), "notes");
    await platform.say("c1", "a file, please", { whole: true });
    await clock.advance(0);
    await gateway.stop(10_000);
    expect(asked).toHaveLength(1);
    expect(platform.shown.map(({ text, media }) => [text, media])).toEqual([["Stopped.", []]]);
  });

  it("gives up after a day, and says so when it can", async () => {
    const { platform, clock } = await setUp();
    platform.outcome = (_piece, _attempt, send) =>
      send < 400 ? new GatewayError("send.not_written", "refused") : "shown";
    await platform.say("c1", "hello", { whole: true });
    await clock.advance(0);
    platform.outcome = (piece) =>
      piece.body.kind === "text" && piece.body.rendered.text.startsWith("A part")
        ? "shown"
        : new GatewayError("send.not_written", "refused");
    await clock.advance(25 * 3_600_000);
    expect(platform.textsIn("c1")).toEqual(["A part of my answer could not be sent: a text."]);
  });

  it("does not acknowledge what a full disk has no room for, says so, and goes on when there is room", async () => {
    const { platform, gateway, database, clock } = await setUp();
    const pages = async (most: number): Promise<void> => {
      await sql`pragma max_page_count = ${sql.raw(String(most))}`.execute(database.db);
    };
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(database.db);
    await pages(rows[0]?.page_count ?? 0);
    await expect(platform.say("c1", "x".repeat(100_000), { whole: true })).rejects.toMatchObject({
      code: "store.unavailable",
    });
    expect(gateway.health()).toMatchObject({
      ok: false,
      intake: expect.stringContaining("could not be committed"),
    });
    await pages(1_000_000);
    await platform.say("c1", "there is room again", { whole: true });
    await clock.advance(0);
    expect(platform.textsIn("c1")).toEqual(["heard: there is room again"]);
    expect(gateway.health()).toMatchObject({ ok: true, intake: "open" });
  });
});
