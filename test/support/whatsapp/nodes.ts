import { randomBytes } from "node:crypto";
import { type BinaryNode, getBinaryNodeChild, getBinaryNodeChildBuffer } from "@whiskeysockets/baileys";

/** A stanza or a part of one. */
export function node(
  tag: string,
  attrs: BinaryNode["attrs"] = {},
  content?: BinaryNode["content"],
): BinaryNode {
  return content === undefined ? { tag, attrs } : { tag, attrs, content };
}

export function firstChild(parent: BinaryNode): BinaryNode | undefined {
  return Array.isArray(parent.content) ? parent.content[0] : undefined;
}

export function child(parent: BinaryNode, tag: string): BinaryNode {
  const found = getBinaryNodeChild(parent, tag);
  if (!found) throw new Error(`<${parent.tag}> has no <${tag}>`);
  return found;
}

export function childBytes(parent: BinaryNode, tag: string): Buffer {
  const bytes = getBinaryNodeChildBuffer(parent, tag);
  if (!bytes) throw new Error(`<${parent.tag}> has no bytes in <${tag}>`);
  return Buffer.from(bytes);
}

export function bytesOf(part: BinaryNode): Buffer {
  if (!(part.content instanceof Uint8Array)) throw new Error(`<${part.tag}> has no bytes`);
  return Buffer.from(part.content);
}

export function attr(stanza: BinaryNode, name: string): string {
  const value = stanza.attrs[name];
  if (value === undefined) throw new Error(`<${stanza.tag}> has no ${name}`);
  return value;
}

export function bigEndian(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

export function unixSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** An id as phones make them. */
export function newId(prefix = "3A"): string {
  return prefix + randomBytes(9).toString("hex").toUpperCase();
}
