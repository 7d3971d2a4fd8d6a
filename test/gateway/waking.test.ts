import { describe, expect, it } from "vitest";
import type { Dispatcher } from "../../src/core/dispatcher.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { type Places, Waking } from "../../src/gateway/waking.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock, settle } from "../support/clock.ts";

const CHAT = 7 as ChatId;

function setUp(places?: Places) {
  const clock = manualClock(1_000);
  const woken: unknown[][] = [];
  const dispatcher: Pick<Dispatcher, "wake"> = { wake: (...what) => void woken.push(what) };
  const waking = new Waking({
    dispatcher: dispatcher as Dispatcher, // nothing else of it is used
    clock,
    log: memoryLog([]),
    places,
  });
  return { waking, woken };
}

describe("wake-ups", () => {
  it("are for now where no time is said, and for no place where all connections are this process's", () => {
    const { waking, woken } = setUp();
    waking.turn(CHAT);
    waking.deliver(CHAT, 5_000);
    waking.fetch(3);
    waking.schedule(9, 8_000);
    expect(woken).toEqual([
      ["turn", "7", 1_000],
      ["deliver", "7", 5_000],
      ["fetch", "3", 1_000],
      ["schedule", "9", 8_000],
    ]);
  });

  it("go where the connection of a chat is, which is asked once", async () => {
    const asked: number[] = [];
    const { waking, woken } = setUp({
      ofChat: async (chat) => {
        asked.push(chat);
        return "family";
      },
      ofAttachment: async () => "work",
    });
    waking.deliver(CHAT);
    await settle();
    waking.deliver(CHAT);
    waking.deliver(8 as ChatId, 2_000, "work");
    waking.fetch(3);
    await settle();
    expect(asked).toEqual([7]);
    expect(woken).toEqual([
      ["deliver", "7", 1_000, "family"],
      ["deliver", "7", 1_000, "family"],
      ["deliver", "8", 2_000, "work"],
      ["fetch", "3", 1_000, "work"],
    ]);
  });

  it("ask again when a connection may have another name, and are lost where the store is away", async () => {
    let name: string | undefined = "family";
    const { waking, woken } = setUp({
      ofChat: async () => {
        if (name === undefined) throw new Error("the store is away");
        return name;
      },
      ofAttachment: async () => undefined,
    });
    waking.deliver(CHAT);
    await settle();
    name = "kin";
    waking.renamed();
    waking.deliver(CHAT);
    await settle();
    name = undefined;
    waking.renamed();
    waking.deliver(CHAT);
    waking.fetch(1);
    await settle();
    expect(woken.map(([, , , place]) => place)).toEqual(["family", "kin"]);
  });

  it("are done when they are waited for, or lost", async () => {
    const { waking, woken } = setUp({
      async ofChat() {
        await new Promise(setImmediate);
        return "family";
      },
      ofAttachment: () => Promise.reject(new Error("the store is away")),
    });
    waking.deliver(CHAT);
    waking.fetch(3);
    await waking.settled();
    expect(woken).toEqual([["deliver", "7", 1_000, "family"]]);
  });
});
