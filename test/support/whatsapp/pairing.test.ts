import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { getBinaryNodeChildren, type proto } from "@whiskeysockets/baileys";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { LinkedDevice } from "./linked-device.ts";
import { node } from "./nodes.ts";
import { paired, type Parties, parties } from "./set-up.ts";

let all: Parties & { readonly device: LinkedDevice };

beforeAll(async () => {
  all = await paired({}, ({ owner, bob }) => {
    owner.history = [{ id: bob.lid, messages: [{ message: webMessage(bob.lid, "OLD1", "of before") }] }];
  });
});

afterAll(async () => {
  await all.close();
});

it("links by a QR code: 515, login, keys, history with who is who", async () => {
  const { wa, bob, plain, device } = all;
  await device.whenDrained();
  expect(plain.closes.items).toEqual([515]);
  expect(plain.socket.user).toMatchObject({ id: device.pn, lid: device.lid });
  expect(wa.devices).toEqual([device]);
  expect(device.bundle?.preKeys.size).toBeGreaterThan(800);
  const heard = await plain.updates.when((events) => events["messaging-history.set"] !== undefined);
  expect(heard["messaging-history.set"]?.messages.map(({ key }) => key.id)).toEqual(["OLD1"]);
  expect(await plain.socket.signalRepository.lidMapping.getPNForLID(bob.lid)).toContain("15550000002");
});

it("links by a code that the person types", async () => {
  const { wa, owner, plain, close } = await parties();
  const opened = plain.open();
  await plain.qrs.when(() => true);
  const code = await plain.socket.requestPairingCode("15550000001");
  await wa.waitForNode((stanza) => getBinaryNodeChildren(stanza, "link_code_companion_reg").length > 0);
  const device = await wa.typeCode(code);
  await opened;
  expect(device.phone).toBe(owner);
  expect(plain.closes.items).toEqual([515]);
  await close();
});

it("gives a client so many references, after which it closes by itself", async () => {
  const { plain, close } = await parties({ qrTimeout: 30 }, { qrReferences: 2 });
  plain.begin();
  await plain.closes.whenCount(1);
  expect(plain.qrs.items).toHaveLength(2);
  expect(plain.closes.items).toEqual([408]);
  await close();
});

it("is logged in to again with the routing that it gave", async () => {
  const { wa, plain, device } = all;
  const routing = node("edge_routing", {}, [node("routing_info", {}, Buffer.from("near here"))]);
  wa.tell(node("ib", {}, [routing]));
  await plain.updates.when((events) => events["creds.update"]?.routingInfo !== undefined);
  plain.close();
  await plain.open();
  expect(wa.logins).toEqual([device, device]);
});

it("has more history, in parts and when it is asked for", async () => {
  const { wa, owner, bob, plain, device } = all;
  await wa.tellHistory(device, "RECENT", [
    { id: bob.lid, messages: [{ message: webMessage(bob.lid, "OLD2", "of last week") }] },
  ]);
  owner.history = [{ id: bob.lid, messages: [{ message: webMessage(bob.lid, "OLD3", "of last year") }] }];
  await plain.socket.fetchMessageHistory(1, { remoteJid: bob.lid, fromMe: false, id: "OLD2" }, 1_700_000_000);
  const told = await plain.updates.whenCount(3, (events) =>
    Boolean(events["messaging-history.set"]?.messages.length),
  );
  expect(told.map((events) => events["messaging-history.set"]?.messages[0]?.key.id)).toEqual([
    "OLD1",
    "OLD2",
    "OLD3",
  ]);
});

it("asks for more keys when they run out", async () => {
  const { plain, device } = all;
  const before = device.bundle?.preKeys.size ?? 0;
  device.askForPreKeys();
  await device.whenDrained();
  await plain.updates.when((events) => events["creds.update"]?.nextPreKeyId !== undefined);
  expect(device.bundle?.preKeys.size).toBeGreaterThan(before);
});

it("is trusted by a child process that is told its root", async () => {
  const { wa, close } = await parties();
  const told =
    "import { WA_CERT_DETAILS as it } from '@whiskeysockets/baileys'; console.log(it.PUBLIC_KEY.toString('hex'))";
  const preload = new URL("trust-preload.mjs", import.meta.url).href;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", preload, "--input-type=module", "--eval", told],
    { env: { ...process.env, WA_TEST_ROOT: wa.rootKeyHex } },
  );
  expect(stdout.trim()).toBe(wa.rootKeyHex);
  await close();
});

function webMessage(chat: string, id: string, text: string): proto.IWebMessageInfo {
  return {
    key: { remoteJid: chat, fromMe: false, id },
    message: { conversation: text },
    messageTimestamp: 1_700_000_000,
  };
}
