import type { ChannelState } from "../../../../src/core/host.ts";
import type { Me } from "../line.ts";
import { rowsUnder } from "./auth-rows.ts";
import type { Seal } from "./seal.ts";

/** Where rows stand that are of one account: who is who, what was said and sent, what WhatsApp has forbidden it. */
const OF_ACCOUNT = ["contact/", "disappears/", "group/", "restricted/", "said/", "sent/"];
const WHOSE = "whose/rows";

export type HandOverParts = {
  readonly state: ChannelState;
  readonly seal: Seal;
  /** Drops what is held in memory. */
  readonly forget: () => Promise<void>;
};

/**
 * Before an account connects: where the connection was another one's before, what is kept of that is removed, so that nobody
 * is taken for somebody else and nothing said to one account is shown to those who write to the other.
 * @throws GatewayError "store.unavailable", or "data.unusable" where it was sealed with another key.
 */
export async function handOver(me: Me, { state, seal, forget }: HandOverParts): Promise<void> {
  const sealed = (await state.get([WHOSE])).get(WHOSE);
  const before = sealed === undefined ? undefined : seal.open(sealed, WHOSE).toString();
  const now = JSON.stringify([me.pn, me.lid ?? ""]);
  if (before === now) return;
  if (before !== undefined && !isSame(JSON.parse(before) as readonly string[], me)) {
    await forget();
    for (const prefix of OF_ACCOUNT)
      for await (const page of rowsUnder(state, prefix))
        await state.set(Object.fromEntries(page.map(([row]) => [row, undefined])));
  }
  await state.set({ [WHOSE]: seal.seal(Buffer.from(now), WHOSE) });
}

/** A number can be changed, and a LID come later. */
function isSame([pn, lid]: readonly string[], me: Me): boolean {
  return pn === me.pn || (me.lid !== undefined && lid === me.lid);
}
