import type { WASocket } from "@whiskeysockets/baileys";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { LinkedDevice } from "./linked-device.ts";
import { node } from "./nodes.ts";
import { PlainSocket } from "./plain-socket.ts";
import { paired, type Parties } from "./set-up.ts";

let all: Parties & { readonly device: LinkedDevice };
let heard: number;

beforeAll(async () => {
  all = await paired();
});

afterAll(async () => {
  await all.close();
});

beforeEach(() => {
  heard = all.plain.closes.items.length;
});

/** The code of this test's next close. */
async function nextClose(): Promise<number | undefined> {
  heard += 1;
  return (await all.plain.closes.whenCount(heard)).at(-1);
}

async function open(): Promise<void> {
  if (!all.plain.socket.ws.isOpen) await all.plain.open();
}

async function close(): Promise<void> {
  if (!all.plain.socket.ws.isOpen) return;
  all.plain.close();
  await nextClose();
}

it.each([401, 402, 403, 405, 406, 409, 411, 419, 500, 503])("refuses a login with %i", async (reason) => {
  await close();
  all.wa.faults.logins.add({ kind: "failure", reason, attrs: { expire: "3600" } });
  all.plain.begin();
  expect(await nextClose()).toBe(reason);
});

it.each([
  ["<stream:error code=503>", { code: "503" }, undefined, 503],
  ["a stream error without a code", {}, "xml-not-well-formed", 500],
  ["an unacknowledged status", {}, "ack", 500],
])("ends a connection with %s", async (_, attrs: Record<string, string>, reason, code) => {
  await open();
  all.wa.streamError(attrs, reason === undefined ? undefined : node(reason));
  expect(await nextClose()).toBe(code);
});

it("asks for a restart later than after pairing as well (515)", async () => {
  await open();
  all.wa.streamError({ code: "515" });
  expect(await nextClose()).toBe(515);
});

it("ends a connection as a network does, and as a server that goes away", async () => {
  await open();
  all.wa.cut();
  expect(await nextClose()).toBe(428);
  await open();
  all.wa.tell(node("xmlstreamend"));
  expect(await nextClose()).toBe(428);
});

it("ends a connection of a client that speaks an old protocol (411)", async () => {
  await open();
  all.wa.tell(node("ib", {}, [node("downgrade_webclient")]));
  expect(await nextClose()).toBe(411);
});

it("replaces a connection when the same device logs in again (440)", async () => {
  await open();
  const second = all.plain.open();
  expect(await nextClose()).toBe(440);
  await second;
  expect(all.plain.socket.ws.isOpen).toBe(true);
});

it("breaks off, or says nothing after the handshake", async () => {
  await close();
  all.wa.faults.logins.add({ kind: "cut" });
  all.plain.begin();
  expect(await nextClose()).toBe(428);
  const registering = new PlainSocket(all.wa);
  const socket = await new Promise<WASocket>((resolve) => {
    const when = (): boolean => {
      resolve(begun);
      return true;
    };
    all.wa.faults.logins.add({ kind: "silence" }, { when });
    const begun = registering.begin();
  });
  expect([socket.ws.isOpen, registering.qrs.items]).toEqual([true, []]);
  all.wa.cut();
});

it("falls silent while the connection stays open", async () => {
  await open();
  all.wa.silence();
  const ping = node("iq", { to: "s.whatsapp.net", type: "get", xmlns: "w:p" });
  await expect(all.plain.socket.query(ping, 100)).rejects.toThrow("Timed Out");
  expect(all.plain.socket.ws.isOpen).toBe(true);
  all.wa.cut();
  expect(await nextClose()).toBe(428);
});

it("unlinks a device from the phone, after which it may not log in (401)", async () => {
  await open();
  all.wa.unlink(all.device);
  expect(await nextClose()).toBe(401);
  all.plain.begin();
  expect(await nextClose()).toBe(401);
  expect(all.wa.devices).toEqual([]);
});
