const HEADER_BYTES = 27;
const FIRST_PAGE = 2;
const LAST_PAGE = 4;
const SAMPLES_PER_SECOND = 48_000; // RFC 7845: granule positions of Opus count at 48 kHz

type Page = { readonly bytes: Buffer; readonly granule: bigint };

/** An Ogg Opus stream that says the same again until it lasts so many seconds: one stream, its pages numbered on. */
export function repeatedOgg(stream: Buffer, seconds: number): Buffer {
  const pages = pagesOf(stream);
  // A page of headers has no samples before its end.
  const heads = pages.filter(({ granule }) => granule === 0n);
  const sound = pages.filter(({ granule }) => granule !== 0n);
  const length = sound.at(-1)?.granule ?? 0n;
  const times = Math.ceil((seconds * SAMPLES_PER_SECOND) / Number(length));
  const out: Buffer[] = heads.map(({ bytes }) => bytes);
  for (let round = 0; round < times; round += 1) {
    for (const [at, { bytes, granule }] of sound.entries()) {
      const last = round === times - 1 && at === sound.length - 1;
      out.push(renumbered(bytes, out.length, granule + length * BigInt(round), last));
    }
  }
  return Buffer.concat(out);
}

function pagesOf(stream: Buffer): readonly Page[] {
  const pages: Page[] = [];
  for (let at = 0; at < stream.length;) {
    if (stream.toString("latin1", at, at + 4) !== "OggS") throw new Error(`no Ogg page at ${at}`);
    const segments = stream.readUInt8(at + 26);
    const lacing = stream.subarray(at + HEADER_BYTES, at + HEADER_BYTES + segments);
    const end = at + HEADER_BYTES + segments + lacing.reduce((sum, bytes) => sum + bytes, 0);
    pages.push({ bytes: stream.subarray(at, end), granule: stream.readBigInt64LE(at + 6) });
    at = end;
  }
  return pages;
}

function renumbered(page: Buffer, number: number, granule: bigint, last: boolean): Buffer {
  const bytes = Buffer.from(page);
  bytes.writeUInt8((bytes.readUInt8(5) & ~(FIRST_PAGE | LAST_PAGE)) | (last ? LAST_PAGE : 0), 5);
  bytes.writeBigInt64LE(granule, 6);
  bytes.writeUInt32LE(number, 18);
  bytes.writeUInt32LE(0, 22);
  bytes.writeUInt32LE(checksum(bytes), 22);
  return bytes;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit += 1) value = value & 0x80000000 ? (value << 1) ^ 0x04c11db7 : value << 1;
  return value;
});

/** RFC 3533: CRC-32 with the polynomial 0x04c11db7, not reflected, from zero. */
function checksum(bytes: Buffer): number {
  let value = 0;
  for (const byte of bytes) value = ((value << 8) ^ (TABLE[((value >>> 24) ^ byte) & 0xff] ?? 0)) >>> 0;
  return value;
}
