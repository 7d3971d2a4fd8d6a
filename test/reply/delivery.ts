import type { KyselyPlugin } from "kysely";
import type { Channel, MediaItem, PieceBody } from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import type { InboundEvent, Place } from "../../src/core/events.ts";
import type { ChatAddress, ChatId } from "../../src/core/identity.ts";
import { type Deliver, deliver } from "../../src/reply/deliver.ts";
import { chatOf } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { insertEvent } from "../../src/store/inbox.ts";
import { insertPieces, type NewPiece } from "../../src/store/pieces.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { type ToyAbilities, ToyPlatform, toyKind } from "../support/toy-channel.ts";

/** A toy platform, a real database, and what delivers to the one from the other; nothing else of the gateway. */
export type Delivery = {
  readonly platform: ToyPlatform;
  readonly clock: ManualClock;
  readonly database: Database;
  readonly chat: ChatId;
  readonly logged: LoggedLine[];
  plan(...bodies: readonly (PieceBody | Partial<NewPiece>)[]): Promise<void>;
  /** Another topic of the same chat of the platform. */
  chatIn(topic: string): Promise<{ readonly chat: ChatId; readonly to: ChatAddress }>;
  /** Runs until nothing is left to do before `ms` from now. */
  run(ms?: number, lane?: ChatId): Promise<void>;
  /** The process ends at its `step`-th step, which is a statement, or the beginning or the end of a call to the platform. */
  runUntilKilled(step: number): Promise<"killed" | "done">;
  /** Another process that sends there, over a connection of its own. */
  another(over?: Database): Deliver;
  states(): Promise<readonly string[]>;
};

export const TO: ChatAddress = { channel: "toy", chat: "c1" };

export async function delivery(
  database: Database,
  abilities: ToyAbilities = { finds: true },
  /** Whether other processes may send as well. */
  others = false,
): Promise<Delivery> {
  const platform = new ToyPlatform(abilities);
  const clock = manualClock();
  const logged: LoggedLine[] = [];
  const host = {
    clock,
    accept: async (events: readonly InboundEvent[]) => {
      for (const event of events) await said(database, event, clock.now());
      return new Map<string, string>();
    },
  } as unknown as ChannelHost; // as much of it as the toy uses
  const channel = await toyKind(platform).open({}, host);
  const place = { chat: TO.chat, kind: "private" } as const;
  const chatAt = (at: Place): Promise<ChatId> =>
    database.db.transaction().execute((trx) => chatOf(trx, "toy", at));
  const chat = await chatAt(place);
  // What came before: without it nothing could be looked for.
  await platform.say(TO.chat, "hello");
  await clock.advance(1);

  let processes = 0;
  const process = (by: Pick<Parameters<typeof deliver>[0], "database" | "cutOff">, toy: Channel): Deliver =>
    deliver({
      ...by,
      channel: () => toy,
      clock,
      log: memoryLog(logged),
      ...(others ? { owner: `process ${(processes += 1)}` } : {}),
    });
  /** The process that lives on from one run to the next. */
  let alive: Deliver | undefined;
  const run = async (work: Deliver, ms: number, lane = chat): Promise<void> => {
    const until = clock.now() + ms;
    for (;;) {
      const at = await work.run(lane);
      if (at === undefined || at > until) return;
      await clock.advance(at - clock.now());
    }
  };

  return {
    platform,
    clock,
    database,
    chat,
    logged,
    async plan(...bodies) {
      const pieces = bodies.map((body): NewPiece => {
        const own = "kind" in body ? { body } : body;
        return { chat, to: TO, turn: 1, seq: 0, body: text(""), ...own };
      });
      await insertPieces(database.db, pieces, clock.now());
    },
    chatIn: async (topic) => ({ chat: await chatAt({ ...place, topic }), to: { ...TO, topic } }),
    run(ms = others ? 120_000 : 60_000, lane = chat) {
      alive ??= process({ database, cutOff: new AbortController().signal }, channel);
      return run(alive, ms, lane);
    },
    another: (over = database) => process({ database: over, cutOff: new AbortController().signal }, channel),
    async runUntilKilled(step) {
      alive = undefined;
      const cutOff = new AbortController();
      let steps = 0;
      const stepped = (): void => {
        steps += 1;
        if (steps >= step) cutOff.abort(new Error("killed"));
        cutOff.signal.throwIfAborted();
      };
      const plugin: KyselyPlugin = {
        transformQuery({ node }) {
          stepped();
          return node;
        },
        transformResult: async ({ result }) => result,
      };
      const mortal: Database = { ...database, db: database.db.withPlugin(plugin) };
      const around = async <T>(call: () => Promise<T> | undefined): Promise<T> => {
        stepped();
        const result = await call();
        stepped();
        return result as T; // the toy has all of them
      };
      const toy: Channel = {
        ...channel,
        send: (...call) => around(() => channel.send(...call)),
        ...(channel.find ? { find: (...call) => around(() => channel.find?.(...call)) } : {}),
        takeBack: (...call) => around(() => channel.takeBack?.(...call)),
      };
      await run(process({ database: mortal, cutOff: cutOff.signal }, toy), 120_000).catch(
        (error: unknown) => {
          if (!cutOff.signal.aborted) throw error;
        },
      );
      return cutOff.signal.aborted ? "killed" : "done";
    },
    async states() {
      const rows = await database.db.selectFrom("piece").select("state").orderBy("id").execute();
      return rows.map(({ state }) => state);
    },
  };
}

export function text(words: string): PieceBody {
  return { kind: "text", rendered: { text: words, marks: [] } };
}

export function photo(name: string): PieceBody & MediaItem {
  const media = { type: "image", mimeType: "image/png", blob: `sha256:${name}`, bytes: 1 } as const;
  return { kind: "media", as: "image", media };
}

async function said(database: Database, event: InboundEvent, now: number): Promise<void> {
  if (event.type !== "message") return;
  await database.db.transaction().execute(async (trx) => {
    await insertEvent(trx, {
      type: "message",
      channel: "toy",
      chat: await chatOf(trx, "toy", event.place),
      key: event.id,
      payload: "",
      payloadHash: "",
      contentHash: "",
      sender: event.from.id,
      ref: event.ref,
      state: "consumed",
      why: "",
      agent: "",
      thread: "",
      intent: 0,
      album: "",
      receivedAt: now,
      dueAt: now,
      trace: { at: now, step: "said" },
    });
  });
}
