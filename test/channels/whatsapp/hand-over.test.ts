import { expect, it, onTestFinished } from "vitest";
import { handOver } from "../../../channels/whatsapp/baileys/keys/hand-over.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import { memoryState } from "../../support/channel-host.ts";
import { link, listening } from "./listening.ts";

const OWNER = { pn: "15550000001@s.whatsapp.net", lid: "90000000000001@lid" };
const CAROL = { pn: "15550000003@s.whatsapp.net", lid: "90000000000003@lid" };
const KEPT = [
  "contact/lid:1",
  "said/lid:1/A1",
  "sent/3EB0",
  "group/1@g.us",
  "disappears/lid:1",
  "restricted/lock",
];

it.each([
  ["the same account", OWNER, [OWNER], false],
  ["one whose number has changed", { ...OWNER, pn: "15550000077@s.whatsapp.net" }, [OWNER], false],
  ["one whose LID came later", OWNER, [{ pn: OWNER.pn }], false],
  ["another account", CAROL, [OWNER], true],
  ["the first account", OWNER, [], false],
  ["the first one again", OWNER, [OWNER, CAROL], true],
])("keeps or removes what there is for %s", async (_who, me, before, isRemoved) => {
  const state = memoryState();
  const seal = await sealWith(undefined, "test");
  let forgotten = false;
  const forget = async (): Promise<void> => void (forgotten = true);
  for (const other of before) await handOver(other, { state, seal, forget: async () => {} });
  await state.set(Object.fromEntries([...KEPT, "auth/creds", "ids/salt"].map((row) => [row, "x"])));
  await handOver(me, { state, seal, forget });
  await handOver(me, { state, seal, forget });
  const rows = (await state.list("", { limit: 100 }))
    .map(([row]) => row)
    .filter((row) => row !== "whose/rows");
  expect(rows).toEqual([...(isRemoved ? [] : KEPT), "auth/creds", "ids/salt"].toSorted());
  expect(forgotten).toBe(isRemoved);
});

it("leaves nothing of an account when another one is linked, in memory or on the disk", async () => {
  const on = await listening();
  onTestFinished(() => on.close());
  await on.bob.say(on.device, "to the owner", { id: "A1" });
  await on.bob.say(on.device, { reactionMessage: { key: { id: "A1", fromMe: true }, text: "👍" } });
  await on.heard(({ type }) => type === "reaction");
  await on.bob.say(on.device, "unread", { id: "A2", corrupt: "always" });
  await on.device.whenDrained();
  on.wa.unlink(on.device);
  await on.stood.whenCount(2, ({ is }) => is === "unpaired");
  const device = await link(on.channel, on.wa, on.carol);
  await on.stood.whenCount(2, ({ is }) => is === "open");
  const kept = await on.host.host.state.list("said/", { limit: 10 });
  expect(kept).toEqual([]);
  // Of the owner's chat with Bob, Carol's knows nothing: the answer shows what it claims to answer.
  const contextInfo = {
    stanzaId: "A1",
    participant: on.bob.lid,
    quotedMessage: { conversation: "something else" },
  };
  await on.bob.say(device, { extendedTextMessage: { text: "to Carol", contextInfo } }, { id: "A1" });
  expect(await on.hears("to Carol")).toMatchObject({ id: "A1", quote: { text: "something else" } });
  await on.clock.advance(120_000);
  expect(on.host.accepted.filter(({ id }) => id.startsWith("A2"))).toEqual([]);
}, 30_000);
