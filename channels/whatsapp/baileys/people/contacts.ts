import type { ChannelHost } from "../../../../src/core/host.ts";
import type { ChatMovedEvent } from "../../../../src/core/events.ts";
import { type Form, formOf, isLid, jidIn, plain } from "./jids.ts";
import type { Hearing } from "../line.ts";
import { rowsUnder } from "../keys/auth-rows.ts";
import type { Seal } from "../keys/seal.ts";

/** A person: the key that stays, and every form that they are known by, the key among them. */
type Person = {
  key: Form;
  lid?: Form;
  phone?: Form;
  name?: string;
  /** Whether there is a chat with them alone. */
  chat?: true;
};

export type ContactParts = {
  readonly host: Pick<ChannelHost, "state" | "accept" | "log">;
  readonly seal: Seal;
};

/**
 * Who is who. WhatsApp knows people by a number of its own (LID) and by phone, and says now one, now the other, now both;
 * a person keeps the key under which they were seen first. Only what the server and the account's own phone say counts:
 * names are whatever somebody chooses.
 */
export class Contacts {
  readonly #host: ContactParts["host"];
  readonly #seal: Seal;
  readonly #people = new Map<Form, Person>();
  /** Rows to be written; a person that is no more is to be deleted. */
  #changed = new Map<Form, Person | undefined>();
  #moved: ChatMovedEvent[] = [];
  #saving: Promise<void> = Promise.resolve();

  constructor({ host, seal }: ContactParts) {
    this.#host = host;
    this.#seal = seal;
  }

  /** @throws GatewayError "store.unavailable", or "data.unusable" where it was sealed with another key. */
  async load(): Promise<void> {
    for await (const page of rowsUnder(this.#host.state, ROWS))
      for (const [key, sealed] of page) {
        const person = JSON.parse(this.#seal.open(sealed, key).toString("utf8")) as Person; // as `#save` writes it
        for (const form of formsIn(person)) this.#people.set(form, person);
      }
  }

  /** Knows nobody any more, and writes nothing that it has known. Never rejects. */
  async forget(): Promise<void> {
    await this.#saving;
    this.#people.clear();
    this.#changed.clear();
    this.#moved = [];
  }

  readonly hear: Hearing = ({ socket: { ev } }) => {
    const onPair = ({ lid, pn }: Pair): void => this.#hearPairs([{ lid, pn }]);
    const onContacts = (
      contacts: readonly {
        readonly id?: string;
        readonly lid?: string;
        readonly phoneNumber?: string;
        readonly name?: string;
      }[],
    ): void => {
      this.#hearPairs(
        contacts.flatMap(({ id, lid, phoneNumber: pn }) => [
          ...(id && lid ? [{ lid, pn: id }] : []),
          ...(id && pn ? [{ lid: id, pn }] : []),
          ...(lid && pn ? [{ lid, pn }] : []),
        ]),
      );
    };
    const onHistory = ({
      contacts,
      lidPnMappings,
    }: {
      readonly contacts: Parameters<typeof onContacts>[0];
      readonly lidPnMappings?: readonly Pair[];
    }): void => {
      this.#hearPairs(lidPnMappings ?? []);
      onContacts(contacts);
    };
    ev.on("lid-mapping.update", onPair);
    ev.on("contacts.upsert", onContacts);
    ev.on("contacts.update", onContacts);
    ev.on("messaging-history.set", onHistory);
    return () => {
      ev.off("lid-mapping.update", onPair);
      ev.off("contacts.upsert", onContacts);
      ev.off("contacts.update", onContacts);
      ev.off("messaging-history.set", onHistory);
    };
  };

  /**
   * The key of whoever an address is of, a group's own id for a group; undefined for a list or a channel. `alt` is the
   * same person's other address, as the server tells it beside the first.
   */
  keyOf(jid: string | null | undefined, alt?: string | null): string | undefined {
    const form = formOf(jid);
    if (form === undefined) return jid?.endsWith("@g.us") ? plain(jid) : undefined;
    this.learn(jid, alt);
    return this.#personOf(form).key;
  }

  /** As `keyOf`, of somebody whom a message only names: anybody can name anybody, so nothing is kept of it. */
  keyNamed(jid: string | null | undefined): string | undefined {
    const form = formOf(jid);
    return form && (this.#people.get(form)?.key ?? form);
  }

  /** All that a chat or a person goes by, its key first: for the rules of operators, who know people by phone. */
  formsOf(key: string): readonly string[] {
    const person = this.#people.get(key as Form); // whatever else it is, nobody has that form
    return person ? formsIn(person) : [key];
  }

  /** Where to write to a chat: to its LID where it is known, since accounts that have moved refuse their number. */
  jidOf(chat: string): string {
    return jidIn(this.#people.get(chat as Form)?.lid ?? chat); // as above
  }

  nameOf(key: string): string | undefined {
    return this.#people.get(key as Form)?.name; // as above
  }

  /** A person's own name for themselves, to be shown where a message has none. */
  callThem(key: string, name: string): void {
    const person = this.#people.get(key as Form);
    if (!person || person.name === name) return;
    person.name = name;
    this.#mark(person);
  }

  /** There is a chat with them: where they turn out to be somebody known, it moves there. */
  hasChat(key: string): void {
    const person = this.#people.get(key as Form);
    if (!person || person.chat) return;
    person.chat = true;
    this.#mark(person);
  }

  /** Two addresses are one person's, as the server or the account's own phone says. Anything else is passed over. */
  learn(one: string | null | undefined, other: string | null | undefined): void {
    const forms = [formOf(one), formOf(other)];
    const lid = forms.find((form) => form !== undefined && isLid(form));
    const phone = forms.find((form) => form !== undefined && !isLid(form));
    if (lid === undefined || phone === undefined) return;
    const byLid = this.#people.get(lid);
    const byPhone = this.#people.get(phone);
    if (byLid && byLid === byPhone) return;
    if (byPhone?.lid !== undefined) this.#takeNumber(byPhone); // it has been given to somebody else since
    const former = byPhone?.lid === undefined ? byPhone : undefined;
    if (byLid && former) this.#join(former, byLid);
    if (byLid) return this.#giveNumber(byLid, phone);
    if (former) former.lid = lid;
    this.#enter(former ?? { key: lid, lid, phone });
  }

  /**
   * Writes down what was learnt, moved chats first: a crash before the rest leaves it to be learnt again.
   * @throws GatewayError "store.unavailable"; then it is done with the next call.
   */
  save(): Promise<void> {
    const saved = this.#saving.then(() => this.#save());
    this.#saving = saved.catch(() => {});
    return saved;
  }

  async #save(): Promise<void> {
    if (this.#moved.length > 0) {
      const moved = [...this.#moved];
      await this.#host.accept(moved);
      this.#moved = this.#moved.slice(moved.length);
    }
    if (this.#changed.size === 0) return;
    const changed = this.#changed;
    this.#changed = new Map();
    try {
      await this.#host.state.set(
        Object.fromEntries(
          [...changed].map(([form, person]) => {
            const key = `${ROWS}${form}`;
            return [key, person && this.#seal.seal(Buffer.from(JSON.stringify(person)), key)];
          }),
        ),
      );
    } catch (error) {
      this.#changed = new Map([...changed, ...this.#changed]);
      throw error;
    }
  }

  #hearPairs(pairs: readonly Pair[]): void {
    for (const { lid, pn } of pairs) this.learn(lid, pn);
    if (this.#changed.size + this.#moved.length === 0) return;
    this.save().catch((err: unknown) =>
      this.#host.log.warn({ err }, "who is who could not be stored; it is tried again with the next message"),
    );
  }

  #personOf(form: Form): Person {
    const known = this.#people.get(form);
    if (known) return known;
    const person: Person = { key: form, ...(isLid(form) ? { lid: form } : { phone: form }) };
    this.#enter(person);
    return person;
  }

  /** `from` turns out to be `into`: one key wins, and a chat under the other one goes on under it. */
  #join(from: Person, into: Person): void {
    this.#changed.set(from.key, undefined);
    if (from.chat) {
      this.#move(from.key, into.key);
      into.chat = true;
    }
    if (into.name === undefined && from.name !== undefined) into.name = from.name;
  }

  #giveNumber(person: Person, phone: Form): void {
    if (person.phone !== undefined && person.phone !== phone) this.#takeNumber(person);
    person.phone = phone;
    this.#enter(person);
  }

  /** They have another number now: whoever has theirs must not be taken for them, nor they for the other. */
  #takeNumber(person: Person): void {
    const { phone, lid } = person;
    if (phone === undefined || lid === undefined) return; // then it is all that they are known by
    this.#people.delete(phone);
    delete person.phone;
    if (person.key === phone) {
      this.#changed.set(phone, undefined);
      if (person.chat) this.#move(phone, lid);
      person.key = lid;
    }
    this.#enter(person);
  }

  #enter(person: Person): void {
    for (const form of formsIn(person)) this.#people.set(form, person);
    this.#mark(person);
  }

  #mark(person: Person): void {
    this.#changed.set(person.key, person);
  }

  #move(from: Form, to: Form): void {
    this.#moved.push({ type: "chatMoved", id: `moved/${from}/${to}`, from, to });
  }
}

type Pair = { readonly lid: string; readonly pn: string };

const ROWS = "contact/";

function formsIn({ key, lid, phone }: Person): readonly Form[] {
  return [...new Set([key, lid, phone])].filter((form) => form !== undefined);
}
