import type { BaileysEventMap, GroupMetadata } from "@whiskeysockets/baileys";
import type { ChannelHost } from "../../../../src/core/host.ts";
import { pause } from "../../../../src/core/clock.ts";
import type { Contacts } from "./contacts.ts";
import type { Account, Hearing } from "../line.ts";
import type { Seal } from "../keys/seal.ts";

export type GroupParts = {
  readonly host: Pick<ChannelHost, "state" | "clock" | "log">;
  readonly seal: Seal;
  readonly contacts: Pick<Contacts, "keyOf" | "learn">;
  readonly account: Pick<Account, "line">;
};

/** A title is waited for so long before a message is taken in without. */
const TITLE_MS = 5_000;
/** After a refusal a group is left alone for so long: who asks too often is asked to stop. */
const REFUSED_MS = 60_000;
const MOST_REMEMBERED = 300;

/**
 * What is known of groups. It is asked for once and kept up to date by what the server tells; a send that had to ask each
 * time would soon be refused.
 */
export class Groups {
  readonly #host: GroupParts["host"];
  readonly #seal: Seal;
  readonly #contacts: GroupParts["contacts"];
  readonly #account: GroupParts["account"];
  readonly #known = new Map<string, GroupMetadata>();
  readonly #asked = new Map<string, Promise<GroupMetadata | undefined>>();
  readonly #refusedAt = new Map<string, number>();
  readonly #titles = new Map<string, string>();

  constructor({ host, seal, contacts, account }: GroupParts) {
    this.#host = host;
    this.#seal = seal;
    this.#contacts = contacts;
    this.#account = account;
  }

  readonly hear: Hearing = ({ socket: { ev } }) => {
    // What happened while nobody heard is not told.
    this.#known.clear();
    this.#refusedAt.clear();
    const onUpsert = (groups: readonly GroupMetadata[]): void => groups.forEach((group) => this.#is(group));
    const onUpdate = (updates: readonly Partial<GroupMetadata>[]): void => {
      for (const update of updates) this.#changes(update);
    };
    const onPeople = (change: PeopleChange): void => this.#peopleChange(change);
    ev.on("groups.upsert", onUpsert);
    ev.on("groups.update", onUpdate);
    ev.on("group-participants.update", onPeople);
    return () => {
      ev.off("groups.upsert", onUpsert);
      ev.off("groups.update", onUpdate);
      ev.off("group-participants.update", onPeople);
    };
  };

  /** Undefined where it cannot be had now. Never rejects. */
  metadata(group: string): Promise<GroupMetadata | undefined> {
    const known = this.#known.get(group);
    if (known) return Promise.resolve(known);
    const asked = this.#asked.get(group) ?? this.#ask(group).finally(() => this.#asked.delete(group));
    this.#asked.set(group, asked);
    return asked;
  }

  /** What WhatsApp says now, where what was known of it was refused. Never rejects. */
  refresh(group: string): Promise<GroupMetadata | undefined> {
    this.#known.delete(group);
    return this.metadata(group);
  }

  /**
   * So that `titleOf` knows it: as it was last, while WhatsApp is asked for it; of a group never seen before, WhatsApp's
   * answer is waited for a little. @throws GatewayError "store.unavailable".
   */
  async findTitle(group: string): Promise<void> {
    if (this.#known.has(group)) return;
    const asked = this.metadata(group);
    if (this.#titles.has(group)) return;
    const key = `${ROWS}${group}`;
    const sealed = (await this.#host.state.get([key])).get(key);
    if (sealed !== undefined) return this.#remember(group, this.#seal.open(sealed, key).toString("utf8"));
    const waiting = new AbortController();
    await Promise.race([asked, pause(this.#host.clock, TITLE_MS, waiting.signal)]);
    waiting.abort();
  }

  forget(): void {
    this.#known.clear();
    this.#titles.clear();
  }

  titleOf(group: string): string | undefined {
    return this.#known.get(group)?.subject ?? this.#titles.get(group);
  }

  /** `who` by key. Nobody, where it is not known. */
  isAdmin(group: string, who: string): boolean {
    const people = this.#known.get(group)?.participants ?? [];
    return people.some(
      ({ id, phoneNumber, lid, admin }) => admin && this.#contacts.keyOf(id, phoneNumber ?? lid) === who,
    );
  }

  async #ask(group: string): Promise<GroupMetadata | undefined> {
    const socket = this.#account.line()?.socket;
    const now = this.#host.clock.now();
    if (!socket || now - (this.#refusedAt.get(group) ?? -Infinity) < REFUSED_MS) return undefined;
    try {
      const metadata = await socket.groupMetadata(group);
      if (this.#account.line()?.socket === socket) this.#is(metadata);
      return metadata;
    } catch (err) {
      this.#refusedAt.set(group, now);
      this.#host.log.warn({ err }, "WhatsApp did not say who is in a group; it is asked again in a minute");
      return undefined;
    }
  }

  #is(group: GroupMetadata): void {
    this.#known.delete(group.id);
    this.#known.set(group.id, group);
    bound(this.#known);
    for (const { id, phoneNumber, lid } of group.participants) this.#contacts.learn(id, phoneNumber ?? lid);
    if (group.subject) this.#title(group.id, group.subject);
  }

  #changes(update: Partial<GroupMetadata>): void {
    const { id, subject } = update;
    if (id === undefined) return;
    const known = this.#known.get(id);
    // All of it is told when the server has lost count of what we know.
    if (known || update.participants) this.#is({ ...known, ...update } as GroupMetadata); // then it is whole
    else if (subject) this.#title(id, subject);
  }

  #peopleChange({ id, participants, action }: PeopleChange): void {
    const known = this.#known.get(id);
    for (const { id: jid, phoneNumber, lid } of participants) this.#contacts.learn(jid, phoneNumber ?? lid);
    if (!known) return;
    const ids = new Set(participants.map((person) => person.id));
    const others = known.participants.filter((person) => !ids.has(person.id));
    const these = known.participants.filter((person) => ids.has(person.id));
    switch (action) {
      case "add":
        return this.#is({ ...known, participants: [...others, ...participants] });
      case "remove":
        return this.#is({ ...known, participants: others });
      case "promote":
      case "demote": {
        const admin = action === "promote" ? ("admin" as const) : null;
        return this.#is({
          ...known,
          participants: [...others, ...these.map((person) => ({ ...person, admin }))],
        });
      }
      case "modify":
        this.#known.delete(id);
    }
  }

  #title(group: string, title: string): void {
    if (this.#titles.get(group) === title) return;
    this.#remember(group, title);
    const key = `${ROWS}${group}`;
    this.#host.state.set({ [key]: this.#seal.seal(Buffer.from(title), key) }).catch((err: unknown) => {
      this.#host.log.warn({ err }, "the title of a group could not be stored; it is asked for again");
    });
  }

  #remember(group: string, title: string): void {
    this.#titles.set(group, title);
    bound(this.#titles);
  }
}

type PeopleChange = BaileysEventMap["group-participants.update"];

const ROWS = "group/";

function bound(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (map.size > MOST_REMEMBERED && oldest !== undefined) map.delete(oldest);
}
