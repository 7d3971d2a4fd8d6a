import { describe, expect, it } from "vitest";
import { FairLane } from "../../src/media/lanes.ts";
import { settle } from "../support/clock.ts";

function setUp(atOnce: number) {
  const lane = new FairLane(atOnce);
  const begun: string[] = [];
  const ends = new Map<string, (leave?: "leave") => void>();
  const never = new AbortController().signal;
  const bring = (key: number, name: string, signal: AbortSignal = never): Promise<void> =>
    lane.run(
      key,
      (leave) =>
        new Promise((resolve) => {
          begun.push(name);
          ends.set(name, (how) => (how === "leave" ? leave() : resolve()));
        }),
      signal,
    );
  return { bring, begun, ends };
}

describe("a lane", () => {
  it("takes so many at once, and of one key at most half of them", async () => {
    const { bring, begun } = setUp(4);
    for (const name of ["a1", "a2", "a3"]) void bring(1, name);
    for (const name of ["b1", "b2", "b3"]) void bring(2, name);
    void bring(3, "c1");
    await settle();
    expect(begun).toEqual(["a1", "a2", "b1", "b2"]);
  });

  it("takes the keys in turn", async () => {
    const { bring, begun, ends } = setUp(2);
    for (const name of ["a1", "a2", "a3"]) void bring(1, name);
    void bring(2, "b1");
    void bring(2, "b2");
    void bring(3, "c1");
    for (const name of ["a1", "b1", "a2", "b2"]) {
      await settle();
      ends.get(name)?.();
    }
    await settle();
    expect(begun).toEqual(["a1", "b1", "a2", "b2", "c1", "a3"]);
  });

  it("is left by what fails, and once by what leaves before it ends", async () => {
    const { bring, begun, ends } = setUp(1);
    const lane = new FairLane(1);
    const never = new AbortController().signal;
    await expect(lane.run(1, () => Promise.reject(new Error("no")), never)).rejects.toThrow("no");
    expect(await lane.run(1, async () => "yes", never)).toBe("yes");
    for (const name of ["a1", "a2", "a3"]) void bring(1, name);
    await settle();
    ends.get("a1")?.("leave");
    await settle();
    expect(begun).toEqual(["a1", "a2"]);
    ends.get("a1")?.();
    await settle();
    expect(begun).toEqual(["a1", "a2"]);
  });

  it("lets go of who waits and is called off, and of nobody else", async () => {
    const { bring, begun, ends } = setUp(1);
    const off = new AbortController();
    void bring(1, "a1");
    const waiting = bring(2, "b1", off.signal);
    void bring(2, "b2");
    off.abort(new Error("off"));
    await expect(waiting).rejects.toThrow("off");
    await expect(bring(3, "c1", off.signal)).rejects.toThrow("off");
    ends.get("a1")?.();
    await settle();
    expect(begun).toEqual(["a1", "b2"]);
  });
});
