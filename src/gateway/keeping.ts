import type { AgentAnswer, AgentDefinition } from "../core/agent.ts";
import type { PieceBody } from "../core/channel.ts";
import type { ChannelId } from "../core/identity.ts";
import { expireQuestions } from "../intake/expiring.ts";
import { exportChat } from "../memory/export.ts";
import { Forgetting } from "../memory/forgetting.ts";
import { Memory } from "../memory/memory.ts";
import { BlobUpkeep } from "../store/blob-upkeep.ts";
import { forgetValues } from "../store/channel-state.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { prune } from "../store/upkeep.ts";
import type { Budgets } from "./budgets.ts";
import type { GatewayParts } from "./parts.ts";
import type { Waking } from "./waking.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** What is done is kept this long for `perch why` and to recognise repeats, then forgotten. */
const KEEP_MS = 30 * DAY_MS;

/** What is kept of people for longer than a turn, and what is forgotten: by itself, or because somebody wishes so. */
export class Keeping {
  readonly memory: Memory;
  readonly forgetting: Forgetting;
  readonly #parts: GatewayParts;
  readonly #agent: (name: string) => AgentDefinition | undefined;
  readonly #wake: Waking;
  readonly #words: (channel: ChannelId, text: string) => readonly PieceBody[];
  readonly #uses: BlobUpkeep;
  #prunedAt = 0;

  constructor(
    parts: GatewayParts,
    by: {
      readonly agent: (name: string) => AgentDefinition | undefined;
      readonly words: (channel: ChannelId, text: string) => readonly PieceBody[];
      readonly budgets: Budgets;
      readonly wake: Waking;
    },
  ) {
    const { database, blobs, workspaces, runner } = parts;
    this.#parts = parts;
    this.#agent = by.agent;
    this.#wake = by.wake;
    this.#words = by.words;
    this.#uses = new BlobUpkeep(database, blobs);
    this.memory = new Memory({
      ...parts,
      desk: runner,
      agent: by.agent,
      folder: (chat) => workspaces.folderOf(chat),
      bounded: (owner, chat) => by.budgets.ofMemory(database.db, owner, chat),
      wake: (key, at) => by.wake.memory(key, at),
    });
    this.forgetting = new Forgetting({
      ...parts,
      uses: this.#uses,
      words: by.words,
      deliver: (chat) => by.wake.deliver(chat),
    });
  }

  async exporting(turn: ClaimedTurn): Promise<AgentAnswer> {
    const { database, runner, workspaces, clock } = this.#parts;
    const folder = workspaces.folderOf(turn.hold.chat);
    return await exportChat(turn, { database, desk: runner, agent: this.#agent, folder, now: clock.now() });
  }

  async wakeAll(soon: (at: number) => number): Promise<void> {
    await this.memory.wakeAll(soon);
    for (const chat of await this.forgetting.pending()) this.#wake.forget(chat);
  }

  /**
   * Ends questions whose time is over, forgets what ended long ago, once an hour, and goes over some of the chats for blobs
   * that nobody sees any more.
   */
  async goOver(): Promise<void> {
    const { database, blobs, workspaces, media, clock, log } = this.#parts;
    const now = clock.now();
    await expireQuestions({
      database,
      clock,
      words: this.#words,
      deliver: (chat) => this.#wake.deliver(chat),
    });
    const unseen = await this.#uses.step(now);
    if (unseen > 0) log.debug({ unseen }, "media that nobody sees any more were removed");
    if (now - this.#prunedAt <= HOUR_MS) return;
    this.#prunedAt = now;
    const rows = await prune(database, now - KEEP_MS);
    const values = await forgetValues(database, now);
    const uploads = await workspaces.sweep(now - media.uploadDays * DAY_MS);
    const halves = await blobs.sweep(now - DAY_MS); // no download takes as long
    if (rows + values + uploads + halves > 0)
      log.debug({ rows, values, uploads, halves }, "rows and files of long ago were forgotten");
  }
}
