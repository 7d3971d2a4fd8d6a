import type { SocketConfig } from "@whiskeysockets/baileys";
import { guardConsole } from "../../../channels/whatsapp/baileys/life/console-guard.ts";
import { Contacts } from "../../../channels/whatsapp/baileys/people/contacts.ts";
import { Groups } from "../../../channels/whatsapp/baileys/people/groups.ts";
import type { Account, Line } from "../../../channels/whatsapp/baileys/line.ts";
import { Said, saidKey } from "../../../channels/whatsapp/baileys/reading/said.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import { Sender } from "../../../channels/whatsapp/baileys/sending/sender.ts";
import { upload } from "../../../channels/whatsapp/baileys/media/upload.ts";
import type { WhatsAppSettings } from "../../../channels/whatsapp/settings.ts";
import type { MediaForm, MediaItem, Piece, PieceBody } from "../../../src/core/channel.ts";
import { asError, type GatewayError } from "../../../src/core/errors.ts";
import type { MessageEvent } from "../../../src/core/events.ts";
import { plainText } from "../../../src/core/rendered.ts";
import { type TestHost, testHost } from "../../support/channel-host.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "../../support/whatsapp/loopback.ts";
import type { LinkedDevice } from "../../support/whatsapp/linked-device.ts";
import type { Person } from "../../support/whatsapp/person.ts";
import { PlainSocket } from "../../support/whatsapp/plain-socket.ts";
import type { Shown } from "../../support/whatsapp/world.ts";

export const CHANNEL = "wa";

/** An account that sends, over the library's own socket, to a WhatsApp on this machine. Its own time is the test's. */
export class Sending {
  readonly wa: LoopbackWhatsApp;
  readonly clock: ManualClock;
  readonly host: TestHost;
  readonly owner: Person;
  readonly bob: Person;
  readonly carol: Person;
  readonly contacts: Contacts;
  readonly said: Said;
  readonly groups: Groups;
  readonly #plain: PlainSocket;
  readonly #openSender: (account: Account) => Promise<Sender>;
  #sender: Sender | undefined;
  #device: LinkedDevice | undefined;
  #line: Line | undefined;
  #generation = 0;
  #pieces = 0;

  private constructor(
    parts: Pick<Sending, "wa" | "clock" | "host" | "owner" | "bob" | "carol">,
    seal: Awaited<ReturnType<typeof sealWith>>,
    settings: Partial<WhatsAppSettings>,
    config: Partial<SocketConfig>,
  ) {
    ({ wa: this.wa, clock: this.clock, host: this.host } = parts);
    ({ owner: this.owner, bob: this.bob, carol: this.carol } = parts);
    const { host } = this.host;
    this.contacts = new Contacts({ host, seal });
    for (const { lid, phone } of [this.owner, this.bob, this.carol]) this.contacts.learn(lid, phone);
    this.said = new Said({ state: host.state, seal, clock: host.clock });
    this.groups = new Groups({ host, seal, contacts: this.contacts, account: this.account });
    const uploading = {
      account: this.account,
      settings: { testServer: { url: this.wa.url, ca: this.wa.ca } },
      blobs: host.blobs,
      studio: host.studio,
      clock: host.clock,
    };
    this.#openSender = (account) =>
      Sender.open({
        account,
        settings: { chatSeconds: 0, perMinute: 100_000, readReceipts: true, ...settings },
        host,
        seal,
        contacts: this.contacts,
        groups: this.groups,
        said: this.said,
        upload: (item, signal) => upload(item, uploading, signal),
        random: () => 0,
      });
    this.#plain = new PlainSocket(this.wa, {
      getMessage: (key) => this.sender.getMessage(key),
      cachedGroupMetadata: (jid) => this.groups.metadata(jid),
      ...config,
    });
  }

  /** @param config of the library's socket. */
  static async open(
    settings: Partial<WhatsAppSettings> = {},
    config: Partial<SocketConfig> = {},
  ): Promise<Sending> {
    guardConsole();
    const wa = await startWhatsApp();
    wa.trust();
    const owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
    const bob = await wa.addPerson({ phone: "15550000002", lid: "90000000000002", name: "Bob" });
    const carol = await wa.addPerson({ phone: "15550000003", lid: "90000000000003", name: "Carol" });
    const clock = manualClock(Date.now());
    const host = await testHost({ clock });
    const seal = await sealWith("a key for tests only, of 32 characters", "test");
    const sending = new Sending({ wa, clock, host, owner, bob, carol }, seal, settings, config);
    await sending.restart();
    sending.#device = await sending.#plain.pair(owner);
    sending.#attach();
    return sending;
  }

  readonly account: Account = {
    line: () => this.#line,
    me: () => ({ pn: this.owner.phone, lid: this.owner.lid }),
  };

  get sender(): Sender {
    if (!this.#sender) throw new Error("there is no sender");
    return this.#sender;
  }

  get device(): LinkedDevice {
    if (!this.#device) throw new Error("the account is not paired");
    return this.#device;
  }

  get socket(): PlainSocket["socket"] {
    return this.#plain.socket;
  }

  /** As after a restart of the process: only what was stored is left. The line stays. */
  async restart(): Promise<void> {
    this.#sender = await this.#openSender(this.account);
    if (this.#line) this.#attach();
  }

  /** A new socket with the same keys. */
  async reconnect(): Promise<void> {
    this.#plain.close();
    await this.#plain.open();
    this.#attach();
  }

  piece(
    body: PieceBody | string,
    more: Partial<Omit<Piece, "body" | "to">> & { readonly chat?: string } = {},
  ): Piece {
    const { chat = this.keyOf(this.bob), ...rest } = more;
    return {
      id: (this.#pieces += 1),
      to: { channel: CHANNEL, chat },
      body: typeof body === "string" ? { kind: "text", rendered: plainText(body) } : body,
      ...rest,
    };
  }

  send(piece: Piece, form?: string): Promise<readonly string[]> {
    const attempt = { number: 1, ...(form === undefined ? {} : { form }) };
    return this.sender.send(piece, attempt, new AbortController().signal);
  }

  /** What a send fails with; undefined where it does not. */
  async failureOf(sent: Promise<unknown>): Promise<Partial<GatewayError> | undefined> {
    try {
      await sent;
      return undefined;
    } catch (thrown) {
      return asError(thrown);
    }
  }

  say(text: string, more: Parameters<Sending["piece"]>[1] = {}): Promise<readonly string[]> {
    return this.send(this.piece(text, more));
  }

  file(
    as: MediaForm,
    bytes: string,
    more: Partial<MediaItem["media"]> & { readonly caption?: string } = {},
  ): MediaItem {
    const { caption, ...media } = more;
    const content = Buffer.from(bytes);
    return {
      as,
      media: {
        type: as === "image" || as === "video" || as === "file" ? as : as === "animation" ? "video" : "audio",
        mimeType: "application/octet-stream",
        blob: this.host.putBlob(content),
        bytes: content.length,
        ...media,
      },
      ...(caption === undefined ? {} : { caption: plainText(caption) }),
    };
  }

  keyOf(person: Person): string {
    return `lid:${person.lid.split("@")[0]}`;
  }

  /** How a message was written to WhatsApp each time: where to, and what became of it. */
  writesOf(id: string): readonly string[] {
    return this.wa.sends
      .filter((sent) => sent.id === id)
      .map(({ to, outcome, error }) => `${to} ${outcome}${error === undefined ? "" : ` ${error}`}`);
  }

  /** What a person has said, as the reading side keeps it. */
  async hasSaid(person: Person, id: string, text: string, group?: string): Promise<void> {
    const from = this.keyOf(person);
    const chat = group ?? from;
    const eventId = group === undefined ? id : `${from}/${id}`;
    const event: MessageEvent = {
      type: "message",
      id: eventId,
      ref: group === undefined ? id : `${id}/${person.lid}`,
      place: { chat, kind: group === undefined ? "private" : "group" },
      from: { id: from, name: person.name },
      sentAt: new Date(this.clock.now()).toISOString(),
      content: [{ type: "text", text }],
      addressed: true,
    };
    await this.said.keep(new Map([[saidKey(chat, eventId), { event }]]));
  }

  /** Something else is said over the line, by which it is known to live. */
  async hearSomething(): Promise<void> {
    await this.socket.fetchPrivacySettings(true);
  }

  /** What a person's phone shows under an id, once it does. */
  async shownTo(person: Person, id: string): Promise<Shown> {
    return await this.wa.waitForMessage((shown) => shown.person === person && shown.id === id);
  }

  async close(): Promise<void> {
    await this.#sender?.close();
    this.#plain.close();
    await this.wa.close();
    await this.host.close();
  }

  #attach(): void {
    const line: Line = { socket: this.#plain.socket, generation: (this.#generation += 1) };
    const { sender } = this;
    const undo = [sender.hear(line), this.groups.hear(line)];
    line.socket.ev.on("connection.update", ({ connection }) => {
      if (connection !== "close") return;
      for (const stop of undo) stop();
      if (this.#line === line) this.#line = undefined;
    });
    this.#line = line;
  }
}
