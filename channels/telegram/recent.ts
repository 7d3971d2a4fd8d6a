/** What was added last, up to so many. */
export class Recent<T> {
  readonly #most: number;
  readonly #items = new Set<T>();

  constructor(most: number) {
    this.#most = most;
  }

  add(item: T): void {
    this.#items.delete(item);
    this.#items.add(item);
    for (const oldest of this.#items) {
      if (this.#items.size <= this.#most) return;
      this.#items.delete(oldest);
    }
  }

  has(item: T): boolean {
    return this.#items.has(item);
  }
}
