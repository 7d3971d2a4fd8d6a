import { afterEach, expect, it, vi } from "vitest";
import { flushing } from "../../../channels/whatsapp/baileys/life/flush.ts";
import { idleProbe } from "../../../channels/whatsapp/baileys/life/probe.ts";
import { watchdog } from "../../../channels/whatsapp/baileys/life/watchdog.ts";
import { memoryLog } from "../../support/channel-host.ts";
import { type TestAccount, testAccount } from "./account.ts";

const RECONNECTS = process.env["PERCH_LONG"] ? 500 : 30;

const MOST_QUESTIONS = 6;

let account: TestAccount | undefined;

afterEach(async () => {
  await account?.close();
  account = undefined;
});

it(
  `leaves no socket, timer or listener behind after ${RECONNECTS} reconnects`,
  { timeout: 300_000 },
  async () => {
    let hearing = 0;
    account = await testAccount({
      hearings: (clock) => [
        watchdog(clock, memoryLog([])),
        flushing(clock),
        idleProbe(clock, memoryLog([])),
        () => {
          hearing += 1;
          return () => void (hearing -= 1);
        },
      ],
    });
    const { wa, life } = account;
    await account.link();
    await reconnect(account);
    const before = rest();

    for (let round = 0; round < RECONNECTS; round += 1) await reconnect(account);

    expect(hearing).toBe(1);
    expect(wa.connections).toBe(1);
    expect(life.account.line()?.generation).toBe(RECONNECTS + 3);
    const after = rest();
    expect(after.sockets).toBe(before.sockets);
    // Questions on their way have timers of their own; a leak would leave one for each reconnect.
    expect(after.timers).toBeLessThanOrEqual(before.timers + MOST_QUESTIONS);
    await life.close();
    expect(hearing).toBe(0);
    await vi.waitFor(() => expect(wa.connections).toBe(0));
  },
);

async function reconnect({ wa, clock, nextStands }: TestAccount): Promise<void> {
  const waiting = nextStands("waiting");
  wa.cut();
  const stands = await waiting;
  const open = nextStands("open");
  if (stands.is === "waiting") await clock.advance(stands.until - clock.now());
  await open;
}

/** What keeps the process busy. */
function rest(): { readonly sockets: number; readonly timers: number } {
  const kinds = process.getActiveResourcesInfo();
  const count = (kind: string): number => kinds.filter((other) => other === kind).length;
  return { sockets: count("TCPSocketWrap"), timers: count("Timeout") };
}
