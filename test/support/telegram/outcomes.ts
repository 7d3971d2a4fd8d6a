/** How calls ended, counted by method: "ok", the code of a refusal, or the fault that the client met. */
export class Outcomes {
  readonly #counts = new Map<string, Map<string, number>>();

  add(method: string, outcome: string): void {
    const counts = this.#counts.get(method) ?? new Map<string, number>();
    this.#counts.set(method, counts);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }

  /** Of one method, or of all of them together. */
  counts(method?: string): Readonly<Record<string, number>> {
    const sums: Record<string, number> = {};
    for (const [name, counts] of this.#counts) {
      if (method !== undefined && name !== method) continue;
      for (const [outcome, count] of counts) sums[outcome] = (sums[outcome] ?? 0) + count;
    }
    return sums;
  }
}
