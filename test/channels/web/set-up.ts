import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import web from "../../../channels/web/index.ts";
import type { Shown } from "../../../channels/web/shown.ts";
import type { Channel, Piece, PieceBody, PlatformId } from "../../../src/core/channel.ts";
import type { BlockNode, InlineNode } from "../../../src/core/tree.ts";
import { type TestHost, type TestHostOptions, testHost } from "../../support/channel-host.ts";

/** The web chat on a real server, with the gateway's side played by the test. */
export type WebChat = TestHost & {
  readonly channel: Channel;
  readonly origin: string;
  /** Sends what the page would: fields and files in their order. */
  post(chat: string, parts: readonly PostedPart[]): Promise<PostAnswer>;
  entries(chat: string): Promise<readonly Shown[]>;
  titles(): Promise<readonly string[]>;
  /** Sends a piece as the gateway would. */
  send(chat: string, id: number, body: PieceBody): Promise<readonly PlatformId[]>;
  say(chat: string, id: number, ...inline: readonly InlineNode[]): Promise<readonly PlatformId[]>;
  /** Names of the files under uploads/. */
  uploads(): Promise<readonly string[]>;
  /** Bytes of what an accepted event's ref names. */
  fetched(ref: string): Promise<Buffer>;
};

export type PostedPart =
  | readonly [name: string, value: string]
  | readonly [name: string, bytes: Uint8Array<ArrayBuffer>, filename: string, mimeType: string];

export type PostAnswer = { readonly status: number; readonly seq?: number; readonly error?: string };

export const text = (words: string): InlineNode => ({ type: "text", text: words });

export async function openWebChat(options: TestHostOptions = {}): Promise<WebChat> {
  const host = await testHost({ id: "web", ...options });
  const channel = await web.open({}, host.host);
  const { origin } = host.http;

  const send = (chat: string, id: number, body: PieceBody): Promise<readonly PlatformId[]> => {
    const piece: Piece = { id, to: { channel: "web", chat }, body };
    return channel.send(piece, { number: 1 }, AbortSignal.timeout(10_000));
  };

  return {
    ...host,
    channel,
    origin,
    async post(chat, parts) {
      const form = new FormData();
      for (const [name, value, filename, mimeType] of parts)
        if (typeof value === "string") form.append(name, value);
        else form.append(name, new Blob([value], { type: mimeType ?? "" }), filename);
      const response = await fetch(`${origin}/api/chats/${chat}/messages`, { method: "POST", body: form });
      const answer = (await response.json()) as Omit<PostAnswer, "status">; // the two forms the route gives
      return { status: response.status, ...answer };
    },
    async entries(chat) {
      const response = await fetch(`${origin}/api/chats/${chat}/entries`);
      return ((await response.json()) as { entries: readonly Shown[] }).entries; // what the route gives
    },
    async titles() {
      const response = await fetch(`${origin}/api/chats`);
      const { chats } = (await response.json()) as { chats: readonly { title: string }[] }; // what the route gives
      return chats.map(({ title }) => title);
    },
    send,
    say(chat, id, ...inline) {
      const blocks: readonly BlockNode[] = [{ type: "paragraph", inline }];
      return send(chat, id, { kind: "text", rendered: channel.render({ blocks }) });
    },
    uploads: async () => (await readdir(join(host.host.stateDir, "uploads"))).toSorted(),
    async fetched(ref) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of await channel.fetch(ref, AbortSignal.timeout(10_000))) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    async close() {
      await channel.close();
      await host.close();
    },
  };
}

export const PICTURE = new URL("../../fixtures/web/feeder.png", import.meta.url);

export async function picture(): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await readFile(PICTURE));
}
