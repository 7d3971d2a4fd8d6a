import { extname } from "node:path";
import { endingOf } from "../endings.ts";

// Office documents of before 2007, and others in the same container, by the names of the streams in it.
const OLE_STREAMS: readonly (readonly [string, string])[] = [
  ["WordDocument", "Word 97, .doc"],
  ["Workbook", "Excel 97, .xls"],
  ["Book", "Excel 95, .xls"],
  ["PowerPoint Document", "PowerPoint 97, .ppt"],
  ["__substg1.0_", "Outlook, .msg"],
  ["VisioDocument", "Visio, .vsd"],
  ["Quill", "Publisher, .pub"],
];

/** The name of what an OLE container holds; "encrypted" for a newer document behind a password. */
export function oleFormat(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const holds = (stream: string): boolean => buffer.includes(Buffer.from(stream, "utf16le"));
  if (holds("EncryptedPackage")) return "encrypted";
  return OLE_STREAMS.find(([stream]) => holds(stream))?.[1] ?? "Office 97";
}

/** What a person calls a format: in the languages of the sentences alike, so without words of one of them. */
const NAMES: Readonly<Record<string, string>> = {
  "application/x-7z-compressed": "7z",
  "application/x-rar-compressed": "RAR",
  "application/vnd.rar": "RAR",
  "application/x-xz": "xz",
  "application/x-bzip2": "bzip2",
  "application/zstd": "zstd",
  "application/x-lz4": "lz4",
  "application/x-msdownload": "Windows .exe",
  "application/x-elf": "ELF",
  "application/x-mach-binary": "macOS",
  "application/x-apple-diskimage": ".dmg",
  "application/x-sqlite3": "SQLite",
  "application/x-mobipocket-ebook": "Mobipocket, .mobi",
  "application/x-ms-shortcut": "Windows .lnk",
  "application/postscript": "PostScript",
  "application/x-cfb": "Office 97",
  "application/wasm": "WebAssembly",
  "application/octet-stream": "binary",
};

/** `mimeType` in a word or two, "PSD", with the ending of the name where the bytes say nothing. */
export function formatName(mimeType: string, filename = ""): string {
  const named = extname(filename).toLowerCase();
  if (mimeType === "application/octet-stream" && /^\.[a-z\d]{1,8}$/.test(named)) return named;
  const ending = endingOf(mimeType).slice(1);
  return NAMES[mimeType] ?? (ending || mimeType.replace(/^.*\/(x-|vnd\.)?/, "")).toUpperCase();
}

const SIGNED =
  /\.(jpe?g|png|gif|webp|bmp|tiff?|heic|avif|pdf|docx|xlsx|pptx|od[tsp]|epub|zip|gz|og[ga]|opus|wav|flac|m4a|mp4|mov|mkv|webm)$/i;

/** Whether a name promises a format that is read, and by whose signature the bytes would have been known. */
export function promisesSignature(filename: string | undefined): boolean {
  return SIGNED.test(filename ?? "");
}
