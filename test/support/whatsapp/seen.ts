/** A list that only grows, and waiting for what will be in it. */
export class Seen<T> {
  readonly #items: T[] = [];
  readonly #looks = new Set<() => void>();

  get items(): readonly T[] {
    return this.#items;
  }

  add(item: T): void {
    this.#items.push(item);
    for (const look of this.#looks) look();
  }

  /** The first that matches, of those that are there or else of those that come. */
  async when(matches: (item: T) => boolean): Promise<T> {
    const [first] = await this.whenCount(1, matches);
    return first as T; // one was waited for
  }

  /** The first `count` that match. */
  whenCount(count: number, matches: (item: T) => boolean = () => true): Promise<readonly T[]> {
    return new Promise((resolve) => {
      const found: T[] = [];
      let next = 0;
      const look = (): void => {
        for (; next < this.#items.length && found.length < count; next++) {
          const item = this.#items[next] as T; // within the list
          if (matches(item)) found.push(item);
        }
        if (found.length < count) return;
        this.#looks.delete(look);
        resolve(found);
      };
      this.#looks.add(look);
      look();
    });
  }
}
