import type { CrashPoint } from "./crash-run.ts";

export type RoundSize = {
  /** In all conversations together. */
  readonly messages: number;
  readonly kills: number;
};

/** One stretch of talk with kills at one point in it. */
export class CrashRound {
  readonly point: CrashPoint;
  readonly said = new Set<string>();
  readonly answered = new Set<string>();
  readonly #size: RoundSize;
  #kills = 0;
  /** What must be answered before the next kill. */
  #first: readonly string[] = [];

  constructor(point: CrashPoint, size: RoundSize) {
    this.point = point;
    this.#size = size;
  }

  get kills(): number {
    return this.#kills;
  }

  /**
   * What was in flight at two crashes is run alone and would rightly be set aside at a third. So the process ends twice in a
   * row, and then again only when everything that was said before has been answered. The pairs are spread over the round.
   */
  get mayEnd(): boolean {
    const { kills, messages } = this.#size;
    const saidBefore = (Math.floor(this.#kills / 2) / Math.ceil(kills / 2)) * messages;
    return this.#kills < kills && this.#isThrough && this.said.size >= saidBefore;
  }

  /** Something must be left to say for the kills that are still to come. */
  get holdsBack(): boolean {
    return this.#kills < this.#size.kills && !this.#isThrough;
  }

  ended(): void {
    this.#kills += 1;
    if (this.#kills % 2 === 0) this.#first = [...this.said];
  }

  get #isThrough(): boolean {
    return this.#first.every((token) => this.answered.has(token));
  }
}
