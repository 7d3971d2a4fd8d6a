import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { Helper } from "./helper.ts";
import { type Kind, Measured, type Shown, type World } from "./measured.ts";
import type { ModelQuestions } from "./model-process.ts";
import type { TelegramQuestions } from "./telegram-process.ts";

/** How long Perch waits for more of the same intent after a text: src/intake/gather.ts. */
export const WINDOW_MS = 300;

/** What bots are measured in: a folder, the model, and a Telegram for each. Nothing that was begun outlives it. */
export class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), "perch-bench-"));
  readonly model = new Helper<ModelQuestions>(join(import.meta.dirname, "model-process.js"));
  readonly #ends: (() => void)[] = [() => this.model.end()];

  /** What figures depend on, in words. */
  machine(): string {
    return `Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}`;
  }

  async openWorld(chats: number): Promise<World> {
    const telegram = new Helper<TelegramQuestions>(join(import.meta.dirname, "telegram-process.js"));
    this.#ends.push(() => telegram.end());
    const address = await telegram.ask("address", { chats });
    return { telegram, ...address, modelUrl: await this.model.ask("address") };
  }

  /** See `Measured.start`. */
  async start(kind: Kind, home: string, world: World, live?: Shown): Promise<Measured> {
    const bot = await Measured.start(kind, home, world, live);
    this.#ends.push(() => bot.kill());
    return bot;
  }

  end(): void {
    for (const end of this.#ends) end();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
