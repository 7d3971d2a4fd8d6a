/** Pixels of three bytes. */
export type RawPicture = { readonly data: Buffer; readonly width: number; readonly height: number };

/** Takes pictures out of a stream of binary PPMs as ffmpeg writes them; one is in memory at a time. */
export class PpmReader {
  #head = Buffer.alloc(0);
  #picture: RawPicture | undefined;
  #filled = 0;

  /** The pictures that this chunk completes. A stream that is none gives none. */
  *push(chunk: Buffer): Generator<RawPicture> {
    let rest = chunk;
    while (rest.length > 0) {
      if (!this.#picture) {
        this.#head = Buffer.concat([this.#head, rest]);
        const header = /^P6\n(\d{1,5}) (\d{1,5})\n255\n/.exec(this.#head.toString("latin1", 0, 32));
        if (!header) return;
        const [width, height] = [Number(header[1]), Number(header[2])];
        rest = this.#head.subarray(header[0].length);
        this.#head = Buffer.alloc(0);
        this.#picture = { data: Buffer.allocUnsafe(width * height * 3), width, height };
        this.#filled = 0;
      }
      const { data } = this.#picture;
      const taken = rest.copy(data, this.#filled);
      this.#filled += taken;
      rest = rest.subarray(taken);
      if (this.#filled < data.length) return;
      yield this.#picture;
      this.#picture = undefined;
    }
  }
}
