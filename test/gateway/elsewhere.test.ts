import { describe, expect, it } from "vitest";
import type { Channel, Progress } from "../../src/core/channel.ts";
import { inProcessWire } from "../../src/dispatch/wire-in-process.ts";
import { frontOf, showSigns } from "../../src/gateway/elsewhere.ts";
import { draftOf } from "../../src/reply/draft.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock, settle } from "../support/clock.ts";
import { ToyPlatform, toyKind } from "../support/toy-channel.ts";

const TO = { channel: "toy", chat: "c1" };

function setUp() {
  const clock = manualClock();
  const wire = inProcessWire(memoryLog([]));
  const ending = new AbortController();
  const shown: Progress[] = [];
  const taken: (readonly string[])[] = [];
  const reactions: (readonly [string, string | undefined])[] = [];
  /** How the platform lets the next sign wait. */
  const gates: Promise<void>[] = [];
  const channel: Pick<Channel, "progress" | "taken" | "react"> = {
    progress: async (_to, progress) => {
      shown.push(progress);
      await gates.shift();
    },
    taken: async (_to, refs) => void taken.push(refs),
    react: async (_to, ref, sign) => void reactions.push([ref, sign]),
  };
  const stop = showSigns(wire, {
    channel: (id) => (id === "toy" ? (channel as Channel) : undefined), // nothing else of it is used
    draft: draftOf,
    closing: ending.signal,
  });
  const front = frontOf(toyKind(new ToyPlatform()).face({}), wire, clock, ending.signal);
  return { clock, front, shown, taken, reactions, gates, stop, ending };
}

describe("a connection that is open in another process", () => {
  it("shows there what a turn has to show here: typing, the draft as the channel wants it, the end, what was read", async () => {
    const { clock, front, shown, taken } = setUp();
    await front.progress?.(TO, { kind: "typing" });
    await settle();
    const drafted = front.progress?.(TO, { kind: "draft", ...draftOf("**so far**"), live: "edit" });
    await clock.advance(400);
    await drafted;
    await front.progress?.(TO, { kind: "over" });
    await front.taken?.(TO, ["m1", "m2"]);
    await settle();
    expect(shown).toMatchObject([
      { kind: "typing" },
      { kind: "draft", text: "**so far**", live: "edit" },
      { kind: "over" },
    ]);
    const [, draft] = shown;
    expect(draft?.kind === "draft" && draft.tree?.()).toEqual(draftOf("**so far**").tree());
    expect(taken).toEqual([["m1", "m2"]]);
  });

  it("reacts there to a message, and takes that back", async () => {
    const { front, reactions, ending } = setUp();
    await front.react?.(TO, "m1", "👀", ending.signal);
    await front.react?.(TO, "m1", undefined, ending.signal);
    await settle();
    expect(reactions).toEqual([
      ["m1", "👀"],
      ["m1", undefined],
    ]);
  });

  it("shows the beginning of a draft that is larger than what goes between processes, in whatever signs", async () => {
    const { clock, front, shown } = setUp();
    for (const sign of ["a", "\u0001", "€"]) {
      const drafted = front.progress?.(TO, { kind: "draft", ...draftOf(sign.repeat(300_000)) });
      await clock.advance(400);
      await drafted;
    }
    expect(shown.map((sign) => sign.kind === "draft" && sign.text.length)).toEqual([40_000, 40_000, 40_000]);
  });

  it("shows one sign after the other, and of those that come meanwhile the newest", async () => {
    const { front, shown, gates } = setUp();
    let open = (): void => {};
    gates.push(new Promise((resolve) => (open = resolve)));
    const draft = (text: string) => front.progress?.(TO, { kind: "draft", ...draftOf(text) });
    void draft("one");
    await settle();
    void draft("one two");
    void draft("one two three");
    await settle();
    expect(shown).toHaveLength(1);
    open();
    await settle();
    expect(shown).toMatchObject([{ text: "one" }, { text: "one two three" }]);
  });

  it("keeps nobody waiting longer than it ends, and is silent once nobody listens", async () => {
    const { front, shown, stop, ending } = setUp();
    const drafted = front.progress?.(TO, { kind: "draft", ...draftOf("half") });
    ending.abort();
    await drafted;
    await front.progress?.({ channel: "other", chat: "c1" }, { kind: "typing" });
    stop();
    await front.progress?.(TO, { kind: "typing" });
    await settle();
    expect(shown).toMatchObject([{ kind: "draft" }]);
  });
});
