import { type BinaryNode } from "@whiskeysockets/baileys";
import { node } from "./nodes.ts";
import type { Person } from "./person.ts";

export type GroupOptions = {
  /** "120363…@g.us"; made up where it is left out. */
  readonly id?: string;
  readonly subject?: string;
  /** The account's own person is a member like others, and must be named to be in the group. */
  readonly members: readonly Person[];
  readonly admins?: readonly Person[];
  readonly addressing?: "lid" | "pn";
  /** Only admins may write. */
  readonly announce?: boolean;
  /** Messages disappear after this time. */
  readonly ephemeralSeconds?: number;
};

export class Group {
  readonly id: string;
  readonly members: Set<Person>;
  readonly admins: Set<Person>;
  subject: string;
  addressing: "lid" | "pn";
  announce: boolean;
  ephemeralSeconds: number | undefined;
  /** How often clients asked for this group's metadata. */
  queries = 0;

  constructor(id: string, options: GroupOptions) {
    this.id = id;
    this.subject = options.subject ?? "Group";
    this.members = new Set(options.members);
    this.admins = new Set(options.admins);
    this.addressing = options.addressing ?? "lid";
    this.announce = options.announce ?? false;
    this.ephemeralSeconds = options.ephemeralSeconds;
  }

  /** The form of a person's address that holds in this group. */
  addressOf(person: Person): string {
    return this.addressing === "lid" ? person.lid : person.phone;
  }

  /** What clients are told of it. */
  metadata(): BinaryNode {
    return node(
      "group",
      {
        id: this.id.replace("@g.us", ""),
        subject: this.subject,
        creation: "1700000000",
        s_t: "1700000000",
        addressing_mode: this.addressing,
        size: String(this.members.size),
      },
      [
        ...(this.announce ? [node("announcement")] : []),
        ...(this.ephemeralSeconds === undefined
          ? []
          : [node("ephemeral", { expiration: String(this.ephemeralSeconds) })]),
        ...[...this.members].map((person) => this.participant(person)),
      ],
    );
  }

  participant(person: Person): BinaryNode {
    const forms =
      this.addressing === "lid"
        ? { jid: person.lid, phone_number: person.phone }
        : { jid: person.phone, lid: person.lid };
    return node("participant", { ...forms, ...(this.admins.has(person) ? { type: "admin" } : {}) });
  }
}
