import type { GraphEmulator } from "./emulator.ts";
import { sha256Of } from "./files.ts";

export type PersonOptions = {
  /** "15550100001"; absent of somebody who hides it. */
  readonly phone?: string;
  readonly name?: string;
  readonly userId?: string;
};

export type SentMedia = {
  readonly caption?: string;
  readonly filename?: string;
  readonly voice?: boolean;
  readonly animated?: boolean;
};

type More = Readonly<Record<string, unknown>>;

/** Somebody who writes to the number. */
export class GraphPerson {
  readonly phone: string | undefined;
  readonly name: string;
  userId: string | undefined;
  /** From now on the number is not told any more. */
  hidesPhone = false;
  /** Nothing can be handed to them, with this code: 131026 of a number without WhatsApp. */
  refuses: number | undefined;
  lastWroteAt = Number.NEGATIVE_INFINITY;
  readonly #graph: GraphEmulator;

  constructor(graph: GraphEmulator, { phone, name = "Mira", userId }: PersonOptions) {
    this.#graph = graph;
    this.phone = phone;
    this.name = name;
    this.userId = userId;
  }

  /** How the Graph API is told whom to write to. */
  isFor(body: Readonly<Record<string, unknown>>): boolean {
    return body["to"] === undefined ? body["recipient"] === this.userId : body["to"] === this.phone;
  }

  say(words: string, more: More = {}): string {
    return this.send({ type: "text", text: { body: words }, ...more });
  }

  sendFile(
    kind: "image" | "video" | "audio" | "document" | "sticker",
    bytes: Uint8Array,
    type: string,
    { caption, filename, voice, animated }: SentMedia = {},
    more: More = {},
  ): string {
    const { id } = this.#graph.files.receive(type, Buffer.from(bytes));
    const media = {
      id,
      mime_type: type,
      sha256: sha256Of(bytes, "base64"),
      ...(caption === undefined ? {} : { caption }),
      ...(filename === undefined ? {} : { filename }),
      ...(voice === undefined ? {} : { voice }),
      ...(animated === undefined ? {} : { animated }),
    };
    return this.send({ type: kind, [kind]: media, ...more });
  }

  react(ref: string, emoji?: string): string {
    return this.send({
      type: "reaction",
      reaction: { message_id: ref, ...(emoji === undefined ? {} : { emoji }) },
    });
  }

  /** Presses what stands at this place below a message of ours. */
  press(wamid: string, at: number): string {
    const { body } = this.#graph.message(wamid);
    const interactive = body["interactive"] as Interactive; // it was checked when it was sent
    const context = { from: this.#graph.displayNumber, id: wamid };
    const { action } = interactive;
    if (interactive.type === "button")
      return this.send({
        type: "interactive",
        context,
        interactive: { type: "button_reply", button_reply: action.buttons?.[at]?.reply },
      });
    const row = action.sections?.flatMap(({ rows }) => rows)[at];
    return this.send({ type: "interactive", context, interactive: { type: "list_reply", list_reply: row } });
  }

  /** Any message; gives its id. */
  send(message: More): string {
    const id = this.#graph.newId();
    this.lastWroteAt = this.#graph.clock.now();
    const timestamp = String(Math.floor(this.#graph.clock.now() / 1_000));
    this.#graph.inbound.add(id);
    this.#graph.happened({
      contacts: [
        {
          profile: { name: this.name },
          ...(this.#shown === undefined ? {} : { wa_id: this.#shown }),
          ...(this.userId === undefined ? {} : { user_id: this.userId }),
        },
      ],
      messages: [
        {
          ...(this.#shown === undefined ? {} : { from: this.#shown }),
          ...(this.userId === undefined ? {} : { from_user_id: this.userId }),
          id,
          timestamp,
          ...message,
        },
      ],
    });
    return id;
  }

  get #shown(): string | undefined {
    return this.hidesPhone ? undefined : this.phone;
  }
}

type Interactive = {
  readonly type: string;
  readonly action: {
    readonly buttons?: readonly { readonly reply: object }[];
    readonly sections?: readonly { readonly rows: readonly object[] }[];
  };
};
