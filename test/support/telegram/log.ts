/** What happened, oldest first. Only the newest `most` are kept; `count` goes on. */
export class Log<T> {
  readonly items: T[] = [];
  /** How many there have been. */
  count = 0;
  readonly #most: number;
  readonly #added: (item: T) => void;

  constructor(most: number, added: (item: T) => void) {
    this.#most = most;
    this.#added = added;
  }

  add(item: T): void {
    this.count += 1;
    this.items.push(item);
    if (this.items.length > this.#most) this.items.shift();
    this.#added(item);
  }

  /** Those that came after the first `count`, as far as they are kept. */
  since(count: number): readonly T[] {
    return this.items.slice(Math.max(count - this.count + this.items.length, 0));
  }
}
