import type { SocketConfig } from "@whiskeysockets/baileys";
import { guardConsole } from "../../../channels/whatsapp/baileys/life/console-guard.ts";
import type { Group } from "./group.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { type LoopbackWhatsApp, startWhatsApp, type WhatsAppOptions } from "./loopback.ts";
import type { Person } from "./person.ts";
import { PlainSocket } from "./plain-socket.ts";

export type Parties = {
  readonly wa: LoopbackWhatsApp;
  /** Whose account it is. */
  readonly owner: Person;
  readonly bob: Person;
  readonly carol: Person;
  /** Of all three. */
  readonly group: Group;
  readonly plain: PlainSocket;
  close(): Promise<void>;
};

/** A WhatsApp with three people, and the library as it comes, unpaired. */
export async function parties(
  config: Partial<SocketConfig> = {},
  options: WhatsAppOptions = {},
): Promise<Parties> {
  guardConsole(); // the library's Signal prints keys, at this end as at the other
  const wa = await startWhatsApp(options);
  wa.trust();
  const owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
  const bob = await wa.addPerson({ phone: "15550000002", lid: "90000000000002", name: "Bob" });
  const carol = await wa.addPerson({ phone: "15550000003", lid: "90000000000003", name: "Carol" });
  const group = wa.addGroup({ members: [owner, bob, carol], admins: [carol] });
  const plain = new PlainSocket(wa, config);
  const close = async (): Promise<void> => {
    plain.close();
    await wa.close();
  };
  return { wa, owner, bob, carol, group, plain, close };
}

/** The same, paired; `before` that, what the phones should already know can be set. */
export async function paired(
  config: Partial<SocketConfig> = {},
  before: (all: Parties) => void = () => {},
): Promise<Parties & { readonly device: LinkedDevice }> {
  const all = await parties(config);
  before(all);
  return { ...all, device: await all.plain.pair(all.owner) };
}
