/** So much of what a command says is kept: its beginning and its end. */
const HEAD_BYTES = 50_000;
const TAIL_BYTES = 50_000;

/** What a command has said, in bounded memory however much that is. */
export class Output {
  #head = Buffer.alloc(0);
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #left = 0;

  add(chunk: Uint8Array): void {
    const room = HEAD_BYTES - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const rest = chunk.subarray(Math.max(0, room));
    if (rest.length === 0) return;
    this.#tail.push(Buffer.from(rest));
    this.#tailBytes += rest.length;
    for (;;) {
      const [first] = this.#tail;
      if (first === undefined || this.#tailBytes - first.length < TAIL_BYTES) return;
      this.#tail.shift();
      this.#tailBytes -= first.length;
      this.#left += first.length;
    }
  }

  text(): string {
    const tail = Buffer.concat(this.#tail);
    const end = tail.subarray(Math.max(0, tail.length - TAIL_BYTES));
    const left = this.#left + tail.length - end.length;
    // What was cut in the middle of a letter is one sign that says so.
    const [beginning, ending] = [this.#head.toString("utf8"), end.toString("utf8")];
    return left === 0
      ? Buffer.concat([this.#head, end]).toString("utf8")
      : `${beginning}\n[… ${left} bytes are left out here …]\n${ending}`;
  }
}
