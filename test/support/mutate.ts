import { random } from "../reply/documents.ts";

/** A file damaged in one to three ways, the same for the same seed; `others` are spliced into it. */
export function mutated(bytes: Uint8Array, others: readonly Uint8Array[], seed: number): Buffer {
  const next = random(seed);
  const below = (most: number): number => Math.floor(next() * most);
  let result: Buffer = Buffer.from(bytes);
  for (let times = 1 + below(3); times > 0; times -= 1) {
    const damage = DAMAGES[below(DAMAGES.length)] as Damage; // below the length
    result = damage(result, below, others);
  }
  return result;
}

type Damage = (bytes: Buffer, below: (most: number) => number, others: readonly Uint8Array[]) => Buffer;

const LENGTHS = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x00ff_ffff];

const DAMAGES: readonly Damage[] = [
  function flipBits(bytes, below) {
    for (let flips = 1 + below(20); flips > 0 && bytes.length > 0; flips -= 1) {
      const at = below(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
    }
    return bytes;
  },
  function flipHead(bytes, below) {
    const at = below(Math.min(bytes.length, 64));
    if (bytes.length > 0) bytes[at] = below(256);
    return bytes;
  },
  (bytes, below) => bytes.subarray(0, below(bytes.length + 1)),
  (bytes, below) => bytes.subarray(below(Math.min(bytes.length, 64) + 1)),
  function changeLength(bytes, below) {
    if (bytes.length < 4) return bytes;
    const at = below(bytes.length - 3);
    const value = LENGTHS[below(LENGTHS.length)] ?? 0;
    if (below(2) === 0) bytes.writeUInt32BE(value, at);
    else bytes.writeUInt32LE(value, at);
    return bytes;
  },
  function changeHeadLength(bytes, below) {
    if (bytes.length < 4) return bytes;
    const at = below(Math.min(bytes.length - 3, 200));
    const value = LENGTHS[below(LENGTHS.length)] ?? 0;
    if (below(2) === 0) bytes.writeUInt32BE(value, at);
    else bytes.writeUInt32LE(value, at);
    return bytes;
  },
  function fill(bytes, below) {
    const from = below(bytes.length + 1);
    return bytes.fill([0, 0xff, 0x20, 0x41][below(4)] ?? 0, from, Math.min(bytes.length, from + below(300)));
  },
  function repeatPart(bytes, below) {
    const from = below(bytes.length + 1);
    const part = bytes.subarray(from, from + below(2_000));
    return Buffer.concat([
      bytes.subarray(0, from),
      ...Array<Buffer>(1 + below(4)).fill(part),
      bytes.subarray(from),
    ]);
  },
  function splice(bytes, below, others) {
    const other = others[below(others.length)] ?? bytes;
    const at = below(bytes.length + 1);
    const from = below(other.length + 1);
    const part = other.subarray(from, from + below(4_000));
    return Buffer.concat([
      bytes.subarray(0, at),
      part,
      bytes.subarray(at + (below(2) === 0 ? 0 : part.length)),
    ]);
  },
];
