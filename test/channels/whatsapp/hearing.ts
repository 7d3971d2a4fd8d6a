import { EventEmitter } from "node:events";
import { readFile } from "node:fs/promises";
import {
  BufferJSON,
  type BinaryNode,
  type GroupMetadata,
  proto,
  type WASocket,
} from "@whiskeysockets/baileys";
import { Contacts } from "../../../channels/whatsapp/baileys/people/contacts.ts";
import { Groups } from "../../../channels/whatsapp/baileys/people/groups.ts";
import type { Line, Me } from "../../../channels/whatsapp/baileys/line.ts";
import { Outbox } from "../../../channels/whatsapp/baileys/sending/outbox.ts";
import { Receiver } from "../../../channels/whatsapp/baileys/reading/receive.ts";
import { Said } from "../../../channels/whatsapp/baileys/reading/said.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import type { WhatsAppSettings } from "../../../channels/whatsapp/settings.ts";
import type { InboundEvent } from "../../../src/core/events.ts";
import { memoryJournal, memoryState, testHost, type TestHost } from "../../support/channel-host.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";

export type Told = { readonly event: string; readonly data: unknown };
export type Sample = { readonly kind: string; readonly events: readonly Told[] };

export const ME = { pn: "15550000001@s.whatsapp.net", lid: "90000000000001@lid" };
export const BOB = { id: "lid:90000000000002", name: "Bob", also: ["+15550000002"] };
export const CAROL = { id: "lid:90000000000003", name: "Carol", also: ["+15550000003"] };
export const WITH_BOB = { chat: BOB.id, kind: "private", also: BOB.also };
export const GROUP = "120363000000000001@g.us";
export const IN_GROUP = { chat: GROUP, kind: "group", title: "Friends" };

/** What the real library emitted for 49 kinds of messages. */
export async function samples(): Promise<readonly Sample[]> {
  const text = await readFile(new URL("../../fixtures/whatsapp-events.json", import.meta.url), "utf8");
  const revive = (key: string, value: unknown): unknown =>
    key === "date" ? new Date(String(value)) : BufferJSON.reviver(key, value);
  return (JSON.parse(text, revive) as { readonly samples: readonly Sample[] }).samples;
}

export type HearingOptions = {
  readonly settings?: Partial<Pick<WhatsAppSettings, "selfChat" | "calls">>;
  /** Those of an earlier one, as after a restart. */
  readonly state?: ReturnType<typeof memoryState>;
  readonly journal?: ReturnType<typeof memoryJournal>;
  readonly clock?: ManualClock;
  readonly metadata?: Partial<GroupMetadata>;
  /** WhatsApp refuses to say what is known of groups, or does not answer. */
  readonly refuses?: boolean;
  readonly hangs?: boolean;
};

/** Everything that reads, and in the place of the library's socket one whose events the test makes up. */
export type Hearing = {
  readonly host: TestHost;
  readonly clock: ManualClock;
  readonly contacts: Contacts;
  readonly groups: Groups;
  readonly outbox: Outbox;
  readonly receiver: Receiver;
  readonly state: ReturnType<typeof memoryState>;
  readonly journal: ReturnType<typeof memoryJournal>;
  /** How often groups were asked for. */
  readonly asked: string[];
  readonly rejected: string[];
  /** Which connections were broken off. */
  readonly terminated: number[];
  /** A new socket takes the place of the one before. */
  reconnect(): void;
  /** There is none any more. */
  disconnect(): void;
  /** The account is not linked any more. */
  unlink(): void;
  stanza(node: BinaryNode): void;
  emit(event: string, data: unknown): void;
  /** Lets the events of samples happen, one after the other; own ones are brought by a stanza before. */
  hears(...kinds: readonly string[]): Promise<readonly InboundEvent[]>;
  /** What was committed, once all that was heard is. */
  events(): Promise<readonly InboundEvent[]>;
  close(): Promise<void>;
};

export async function hearing(options: HearingOptions = {}): Promise<Hearing> {
  const clock = options.clock ?? manualClock(1_796_000_600_000);
  const state = options.state ?? memoryState();
  const journal = options.journal ?? memoryJournal();
  const host = await testHost({ clock, state, journal });
  const seal = await sealWith(undefined, "test");
  const asked: string[] = [];
  const rejected: string[] = [];
  const terminated: number[] = [];
  let line: Line | undefined;
  let me: Me | undefined = ME;
  const account = { me: () => me, line: () => line };
  const contacts = new Contacts({ host: host.host, seal });
  await contacts.load();
  const groups = new Groups({ host: host.host, seal, contacts, account });
  const outbox = new Outbox({ state, seal, clock });
  const said = new Said({ state, seal, clock });
  const receiver = new Receiver({
    host: host.host,
    settings: { selfChat: false, calls: "ignore", ...options.settings },
    account,
    contacts,
    groups,
    said,
    outbox,
    journal,
    seal,
  });
  let ev = new EventEmitter();
  let ws = new EventEmitter();
  let deafen: readonly (() => void)[] = [];

  function reconnect(): void {
    for (const stop of deafen) stop();
    ev = new EventEmitter();
    const generation = (line?.generation ?? 0) + 1;
    ws = Object.assign(new EventEmitter(), { socket: { terminate: () => void terminated.push(generation) } });
    const socket = {
      ev,
      ws,
      groupMetadata: async (id: string) => {
        asked.push(id);
        if (options.refuses) throw new Error("rate-overlimit");
        if (options.hangs) await new Promise<never>(() => {});
        return { id, subject: "Friends", participants: [], ...options.metadata };
      },
      rejectCall: async (id: string) => void rejected.push(id),
    } as unknown as WASocket; // no more than what reading uses
    const opened = { socket, generation };
    line = opened;
    deafen = [contacts, groups, receiver].map((part) => part.hear(opened));
  }
  reconnect();

  const all = await samples();
  const own = (told: Told): void => {
    const { messages } = told.data as { readonly messages?: readonly proto.IWebMessageInfo[] };
    for (const { key } of messages ?? []) {
      if (!key?.fromMe || !key.id || !key.remoteJid) continue;
      ws.emit("CB:message", ownStanza(key.id, key.remoteJid));
    }
  };
  return {
    host,
    clock,
    contacts,
    groups,
    outbox,
    receiver,
    state,
    journal,
    asked,
    rejected,
    terminated,
    reconnect,
    disconnect: () => (line = undefined),
    unlink: () => (me = undefined),
    stanza: (node) => void ws.emit("CB:message", node),
    emit: (event, data) => void ev.emit(event, data),
    async hears(...kinds) {
      for (const kind of kinds) {
        const sample = all.find((one) => one.kind === kind);
        if (!sample) throw new Error(`no sample ${kind}`);
        for (const told of sample.events) {
          own(told);
          ev.emit(told.event, told.data);
        }
        await receiver.settled();
      }
      return host.accepted;
    },
    async events() {
      await receiver.settled();
      return host.accepted;
    },
    async close() {
      for (const stop of deafen) stop();
      await receiver.close();
      await host.close();
    },
  };
}

/** A message that somebody sent the account, as the server brings it; nobody can decrypt it. */
export function stanza(id: string, attrs: Partial<BinaryNode["attrs"]> = {}): BinaryNode {
  const from = "90000000000002@lid";
  return {
    tag: "message",
    attrs: { id, from, sender_pn: "15550000002@s.whatsapp.net", t: "1796000500", notify: "Bob", ...attrs },
    content: [{ tag: "enc", attrs: { type: "msg", v: "2" }, content: Buffer.from(`of ${id}`) }],
  };
}

/** The account's own message to somebody, as the server brings it from the phone. */
export function ownStanza(
  id: string,
  recipient: string,
  attrs: Partial<BinaryNode["attrs"]> = {},
): BinaryNode {
  return stanza(id, { from: ME.lid, recipient, sender_pn: ME.pn, notify: "Owner", ...attrs });
}

/** What the library makes of a message of Bob's. */
export function fromBob(
  id: string,
  message: proto.IMessage,
  more: Partial<proto.IWebMessageInfo> = {},
): Told {
  return {
    event: "messages.upsert",
    data: {
      type: "notify",
      messages: [
        {
          key: {
            remoteJid: "90000000000002@lid",
            remoteJidAlt: "15550000002@s.whatsapp.net",
            fromMe: false,
            id,
            participant: "",
            addressingMode: "lid",
          },
          messageTimestamp: 1_796_000_500,
          pushName: "Bob",
          message,
          ...more,
        },
      ],
    },
  };
}

/** What the library makes of a message of Carol's in the group. */
export function fromCarol(id: string, message: proto.IMessage): Told {
  return {
    event: "messages.upsert",
    data: {
      type: "notify",
      messages: [
        {
          key: {
            remoteJid: GROUP,
            fromMe: false,
            id,
            participant: "90000000000003@lid",
            participantAlt: "15550000003@s.whatsapp.net",
            addressingMode: "lid",
          },
          messageTimestamp: 1_796_000_500,
          pushName: "Carol",
          message,
        },
      ],
    },
  };
}
