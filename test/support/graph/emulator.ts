import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { GraphFaults, type GraphFault, type Route } from "./faults.ts";
import { GraphFiles } from "./files.ts";
import { Hook } from "./hook.ts";
import { GraphPerson, type PersonOptions } from "./person.ts";
import { GraphRefusal, wrong } from "./refusal.ts";
import { type Body, checkMessage } from "./rules.ts";
import { type GraphServer, serveGraph } from "./server.ts";

export type GraphOptions = { readonly clock?: Clock };

/** A message of ours that Meta has taken. */
export type Taken = { readonly id: string; readonly body: Body };

const WINDOW_MS = 24 * 3_600_000;

/** Meta's Cloud API for one number, in this process, on a free port: what people do, and what was sent to them. */
export async function startGraph(options: GraphOptions = {}): Promise<GraphEmulator> {
  const graph = new GraphEmulator(options.clock ?? systemClock);
  graph.server = await serveGraph(graph);
  return graph;
}

export class GraphEmulator {
  readonly clock: Clock;
  readonly phoneNumberId = "106540352242922";
  readonly displayNumber = "15550783881";
  readonly token = "EAAJEmulatedTokenOfASystemUser0123456789";
  readonly appSecret = "0123456789abcdef0123456789abcdef";
  readonly verifyToken = "a-verify-token-for-tests";
  readonly files: GraphFiles;
  readonly hook: Hook;
  readonly faults = new GraphFaults();
  /** What was sent and taken, oldest first. */
  readonly taken: Taken[] = [];
  /** Read marks and signs of life. */
  readonly marks: Body[] = [];
  /** Every call, by route. */
  readonly calls: Route[] = [];
  /** Ids of what people have sent. */
  readonly inbound = new Set<string>();
  readonly people: GraphPerson[] = [];
  server: GraphServer | undefined;
  /** Whether sent messages are told of as "sent" and "delivered". */
  tells = false;
  /** A closed window is told by a status, after the message was taken. */
  refusesLate = false;
  #count = 0;

  constructor(clock: Clock) {
    this.clock = clock;
    this.files = new GraphFiles(clock);
    this.hook = new Hook({ clock, secret: this.appSecret, account: "102290129340398" });
  }

  /** The keys of a connection under `cloud`. */
  get settings() {
    return {
      phoneNumberId: this.phoneNumberId,
      token: this.token,
      appSecret: this.appSecret,
      verifyToken: this.verifyToken,
      graphVersion: "v24.0",
      graphRoot: this.server?.origin ?? "",
    };
  }

  person(options: PersonOptions = {}): GraphPerson {
    const person = new GraphPerson(this, options);
    this.people.push(person);
    return person;
  }

  fault(route: Route, fault: GraphFault, times?: number): void {
    this.faults.place(route, fault, times);
  }

  message(wamid: string): Taken {
    const found = this.taken.find(({ id }) => id === wamid);
    if (!found) throw new Error(`no message ${wamid} was sent`);
    return found;
  }

  /** Tells of a change of this number. */
  happened(change: Readonly<Record<string, unknown>>): void {
    const metadata = { display_phone_number: this.displayNumber, phone_number_id: this.phoneNumberId };
    this.hook.add({ messaging_product: "whatsapp", metadata, ...change });
  }

  status(
    wamid: string,
    status: "sent" | "delivered" | "read" | "played" | "failed",
    failure?: { readonly code: number; readonly title: string },
  ): void {
    const { body } = this.message(wamid);
    this.happened({
      statuses: [
        {
          id: wamid,
          status,
          timestamp: String(Math.floor(this.clock.now() / 1_000)),
          ...(body["to"] === undefined ? {} : { recipient_id: body["to"] }),
          ...(body["recipient"] === undefined ? {} : { recipient_user_id: body["recipient"] }),
          ...(failure ? { errors: [{ ...failure, message: failure.title }] } : {}),
        },
      ],
    });
  }

  newId(): string {
    return `wamid.${Buffer.from(`message number ${++this.#count}`).toString("base64")}`;
  }

  /** Marks as read, or checks and takes a message; `commit` is its effect. @throws GraphRefusal. */
  accept(body: Body): { readonly commit: () => object } {
    if (body["status"] === "read") return this.#mark(body);
    checkMessage(body, this.files, (id) => this.inbound.has(id) || this.taken.some((each) => each.id === id));
    const person = this.people.find((each) => each.isFor(body));
    if (!person) throw new GraphRefusal(400, 131026, "Message undeliverable");
    if (person.refuses !== undefined) throw new GraphRefusal(400, person.refuses, "Message undeliverable");
    const closed = this.clock.now() - person.lastWroteAt > WINDOW_MS;
    if (closed && !this.refusesLate) throw new GraphRefusal(400, 131047, "Re-engagement message");
    return { commit: () => this.#take(body, closed) };
  }

  async close(): Promise<void> {
    await this.hook.close();
    await this.server?.close();
  }

  #mark(body: Body): { readonly commit: () => object } {
    if (!this.inbound.has(String(body["message_id"]))) throw wrong("message_id");
    return {
      commit: () => {
        this.marks.push(body);
        return { success: true };
      },
    };
  }

  #take(body: Body, closed: boolean): object {
    const id = this.newId();
    this.taken.push({ id, body });
    if (this.tells || closed) {
      this.status(id, "sent");
      if (closed) this.status(id, "failed", { code: 131047, title: "Re-engagement message" });
      else this.status(id, "delivered");
    }
    const input = body["to"] ?? body["recipient"];
    return { messaging_product: "whatsapp", contacts: [{ input, wa_id: input }], messages: [{ id }] };
  }
}
