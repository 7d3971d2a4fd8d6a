import { crc32, deflateRawSync } from "node:zlib";

export type ZipPart = {
  readonly name: string;
  readonly data: string | Uint8Array;
  /** What the headers say that it has, where that is not so. */
  readonly declaredBytes?: number;
};

/** A zip of these parts, each packed: for documents that are zips, and for those that lie. */
export function zip(parts: readonly ZipPart[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data, declaredBytes } of parts) {
    const bytes = Buffer.from(data as Uint8Array); // of a string or of bytes: both are taken
    const packed = deflateRawSync(bytes);
    const named = Buffer.from(name);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0); // version
    fields.writeUInt16LE(0x800, 2); // names are UTF-8
    fields.writeUInt16LE(8, 4); // deflate
    fields.writeUInt32LE(crc32(bytes), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(declaredBytes ?? bytes.length, 18);
    fields.writeUInt16LE(named.length, 22);
    files.push(Buffer.from("PK\u0003\u0004", "latin1"), fields, named, packed);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from("PK\u0001\u0002\u0014\0", "latin1"), fields, place, named);
    offset += 30 + named.length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Math.min(parts.length, 0xff_ff), 4);
  end.writeUInt16LE(Math.min(parts.length, 0xff_ff), 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, listed, Buffer.from("PK\u0005\u0006", "latin1"), end]);
}
