import { buildAckStanza } from "@whiskeysockets/baileys";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { LinkedDevice } from "./linked-device.ts";
import { node, unixSeconds } from "./nodes.ts";
import { paired, type Parties } from "./set-up.ts";

let all: Parties & { readonly device: LinkedDevice };

beforeAll(async () => {
  all = await paired();
  await all.device.whenDrained();
});

afterAll(async () => {
  await all.close();
});

it("lets a status through that is read and confirmed", async () => {
  const { bob, plain, device } = all;
  await bob.say(device, "my day", { id: "S1", broadcast: "status@broadcast" });
  await bob.say(device, "and a message", { id: "A0" });
  await plain.message("A0");
  expect(device.heldBackBy).toBeUndefined();
});

it("holds everything back behind a <status> until it is acknowledged", async () => {
  const { wa, bob, plain, device } = all;
  const status = node("status", {
    id: "S2",
    from: "status@broadcast",
    participant: bob.lid,
    t: String(unixSeconds()),
  });
  device.push(status);
  await bob.say(device, "and a message", { id: "A1" });
  // The library answers nothing: what it is asked next shows that it had the time.
  await plain.socket.fetchPrivacySettings(true);
  expect(device.heldBackBy?.attrs["id"]).toBe("S2");
  expect(wa.nodes.filter(({ tag, attrs }) => tag === "ack" && attrs["class"] === "status")).toEqual([]);
  await plain.socket.sendNode(buildAckStanza(status));
  await plain.message("A1");
  expect(device.heldBackBy).toBeUndefined();
});

it("holds everything back behind a status that the client refuses", async () => {
  const { bob, plain, device } = all;
  await bob.say(device, "my day", { id: "S3", broadcast: "status@broadcast", corrupt: "always" });
  await bob.say(device, "and a message", { id: "A2" });
  expect(await device.whenTaken("S3")).toMatchObject({ error: 500 });
  expect(device.heldBackBy?.attrs["id"]).toBe("S3");
  plain.close();
  await plain.open();
  await device.taken.whenCount(2, ({ stanza }) => stanza.attrs["id"] === "S3");
  expect(device.waiting.map(({ attrs }) => attrs["id"])).toEqual(["S3", "A2"]);
});
