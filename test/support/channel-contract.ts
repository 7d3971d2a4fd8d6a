import { inspect } from "node:util";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import type { MediaBlock, MediaKind } from "../../src/core/blocks.ts";
import type {
  Attempt,
  Channel,
  KnownAround,
  Piece,
  PieceBody,
  PlatformId,
  Whereabouts,
} from "../../src/core/channel.ts";
import type { Clock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import type { Rendered } from "../../src/core/tree.ts";
import type { TestHost } from "./channel-host.ts";
import { settle } from "./clock.ts";

/** One open connection to a platform that stands for the real one, and the person at its other end. */
export type ContractWorld = {
  readonly host: TestHost;
  readonly channel: Channel;
  /** Where the person's messages come from, and answers go to. */
  readonly to: ChatAddress;
  readonly person: ContractPerson;
  readonly trouble: ContractTrouble;
  /** The platform does not say how large a file is before it is fetched. */
  readonly unsized?: true;
  /** Strings that must stand in no error and no log line: tokens, phone numbers. */
  readonly secrets: readonly string[];
  /** Timers of the host's clock that have not run and were not cancelled; see `watchedClock`. */
  readonly timers: () => number;
  /** Ends the platform; the channel may be closed already. */
  close(): Promise<void>;
};

export type ContractPerson = {
  /** Resolves when the message is on its way; what the platform does about a failed hand-over comes with `again`. */
  say(text: string): Promise<Said>;
  sendFile(bytes: Uint8Array<ArrayBuffer>, filename: string, mimeType: string): Promise<Said>;
  /** What the bot's messages look like, oldest first. */
  sees(): Promise<readonly Seen[]>;
};

export type Said = {
  /** Hands the same message over again as the platform would after a hand-over that failed. */
  again(): Promise<void>;
};

export type Seen = {
  /** As the channel rendered it; a caption where there are files. */
  readonly text: string;
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[];
  /** What stands on the buttons below it, where there are any. */
  readonly choices?: readonly string[];
};

/** How this platform can be made to misbehave; what it cannot do is absent, with the reason among the skips. */
export type ContractTrouble = {
  /** The next send is answered with a definite no that no simpler form helps. */
  readonly refuse?: () => void;
  /** From now on nothing can be written to the platform. */
  readonly unreachable?: () => Promise<void>;
  /** The next send is answered with "wait so long". */
  readonly wait?: (seconds: number) => void;
  /** The bot may not write to the chat any more. */
  readonly closeChat?: () => void;
  /** The next send is shown, and the connection breaks before its answer. */
  readonly loseAnswer?: () => void;
};

/**
 * What holds for every channel. `skips` gives the titles of the cases that cannot be put to this one, each with the
 * reason. Nothing sleeps: a platform's waits run on the clock that `setUp` chooses.
 */
export function channelContract(
  name: string,
  setUp: () => Promise<ContractWorld>,
  skips: Readonly<Record<string, string>> = {},
): void {
  const worlds: ContractWorld[] = [];

  async function open({ task, skip }: TestContext): Promise<ContractWorld> {
    const reason = skips[task.name];
    if (reason !== undefined) skip(reason);
    const world = await setUp();
    worlds.push(world);
    return world;
  }

  describe(`${name} as a channel`, () => {
    afterEach(async () => {
      for (const world of worlds.splice(0)) {
        await world.channel.close();
        await world.close();
      }
    });

    it("makes one event of one text", async (context) => {
      const { host, person } = await open(context);
      await person.say("Which bird is this?");
      await person.say("And this?");
      expect((await host.whenAccepted(2)).map(contentOf)).toEqual([
        [{ type: "text", text: "Which bird is this?" }],
        [{ type: "text", text: "And this?" }],
      ]);
      expect(new Set(host.accepted.map(({ id }) => id)).size).toBe(2);
      expect(messageOf(host).addressed).toBe(true);
    });

    it("announces a file without its bytes, and fetches exactly those", async (context) => {
      const { host, channel, person, unsized } = await open(context);
      const bytes = someBytes(300_000);
      await person.sendFile(bytes, "tide table.pdf", "application/pdf");
      await host.whenAccepted(1);
      const file = fileIn(host);
      expect(file).toMatchObject({
        kind: "file",
        declared: { filename: "tide table.pdf", ...(unsized ? {} : { bytes: 300_000 }) },
      });
      const fetched = await bytesOf(await channel.fetch(file.ref, new AbortController().signal));
      expect(fetched.equals(bytes)).toBe(true);
    });

    it("announces no path and no control character as a file's name", async (context) => {
      const { host, person } = await open(context);
      await person.sendFile(someBytes(10), "../../etc/\u202epass\u0007wd.txt", "text/plain");
      await host.whenAccepted(1);
      expect(fileIn(host).declared.filename).toBe("passwd.txt");
    });

    it("acknowledges nothing that was not accepted: it comes again under the same id", async (context) => {
      const { host, person } = await open(context);
      const handedOver: string[] = [];
      let down = true;
      const refused = withResolvers();
      host.beforeAccept((event) => {
        handedOver.push(event.id);
        if (!down) return;
        refused.resolve();
        throw new GatewayError("store.unavailable", "the disk is full");
      });
      const said = await person.say("Do not lose this.");
      await refused.promise;
      expect(host.accepted).toEqual([]);
      down = false;
      await said.again();
      await host.whenAccepted(1);
      expect([...new Set(handedOver)]).toEqual([messageOf(host).id]);
    });

    it("refuses to fetch what it does not know", async (context) => {
      const { channel } = await open(context);
      const fetching = channel.fetch("no-such-file", new AbortController().signal).then(bytesOf);
      await expect(fetching).rejects.toMatchObject({ code: "media.unavailable" });
    });

    it("ends a download when its signal aborts", async (context) => {
      const { host, channel, person } = await open(context);
      await person.sendFile(someBytes(5_000_000), "long.bin", "application/octet-stream");
      await host.whenAccepted(1);
      const stop = new AbortController();
      let bytes = 0;
      const fetching = (async () => {
        for await (const chunk of await channel.fetch(fileIn(host).ref, stop.signal)) {
          bytes += chunk.length;
          stop.abort(new Error("enough"));
        }
      })();
      await expect(fetching).rejects.toBeInstanceOf(Error);
      expect(bytes).toBeLessThan(5_000_000);
    });

    it("shows a text of exactly textLength as it was rendered, and gives its id", async (context) => {
      const world = await open(context);
      const rendered = longest(world.channel);
      expect(rendered.text).toHaveLength(world.channel.limits.textLength);
      const ids = await sent(world, { kind: "text", rendered });
      expect(await world.person.sees()).toEqual([{ text: rendered.text, files: [] }]);
      expect(ids).toEqual([expect.stringMatching(/./)]);
    });

    it("shows a picture with its caption and the same bytes", async (context) => {
      const world = await open(context);
      const caption = words(world.channel, "A kingfisher");
      await sent(world, { kind: "media", as: "image", media: picture(world), caption });
      const [seen] = await world.person.sees();
      expect(seen?.text).toBe(caption.text);
      expect(seen?.files.map(({ bytes }) => Buffer.from(bytes))).toEqual([PNG]);
    });

    it("shows a document under its name with the same bytes", async (context) => {
      const world = await open(context);
      const bytes = someBytes(200_000);
      const media = block(world, bytes, "application/pdf", "file", "tide table.pdf");
      await sent(world, { kind: "media", as: "file", media });
      const files = (await world.person.sees()).flatMap((seen) => seen.files);
      expect(files.map((file) => file.name)).toEqual(["tide table.pdf"]);
      expect(Buffer.from(files[0]?.bytes ?? []).equals(bytes)).toBe(true);
    });

    it("shows an album's pictures, in order, and gives an id for each", async (context) => {
      const world = await open(context);
      expect(world.channel.limits.album?.size).toBeGreaterThan(1);
      const other = Buffer.concat([PNG, Buffer.from("another")]);
      const items = [PNG, other].map((bytes) => ({
        as: "image" as const,
        media: block(world, bytes, "image/png", "image", "a.png"),
      }));
      const ids = await sent(world, { kind: "album", items });
      expect(new Set(ids).size).toBe(2);
      const files = (await world.person.sees()).flatMap((seen) => seen.files);
      expect(files.map(({ bytes }) => Buffer.from(bytes))).toEqual([PNG, other]);
    });

    it("sends a file with a hostile name as one file under a harmless one", async (context) => {
      const world = await open(context);
      // No path and no control character: those a MediaBlock's name is promised not to have.
      const hostile = 'a"; filename=evil%2e.exe; name=1.pdf';
      const bytes = someBytes(1_000);
      const media = block(world, bytes, "application/pdf", "file", hostile);
      await sent(world, { kind: "media", as: "file", media });
      const files = (await world.person.sees()).flatMap((seen) => seen.files);
      expect(files).toHaveLength(1);
      expect(Buffer.from(files[0]?.bytes ?? []).equals(bytes)).toBe(true);
      expect(files[0]?.name).toMatch(/^[^/\\\r\n]+1\.pdf$/);
    });

    it("tells a definite no as send.refused", async (context) => {
      const world = await open(context);
      the(world.trouble.refuse)();
      const error = await failing(world);
      expect([codeOf(error), (error as GatewayError).stepDown]).toEqual(["send.refused", undefined]);
      expect(await world.person.sees()).toEqual([]);
    });

    it("tells what could not be written as send.not_written", async (context) => {
      const world = await open(context);
      await the(world.trouble.unreachable)();
      expect(codeOf(await failing(world))).toBe("send.not_written");
    });

    it("tells a wait as send.rate_limited with its milliseconds", async (context) => {
      const world = await open(context);
      the(world.trouble.wait)(23);
      const error = await failing(world);
      expect([codeOf(error), (error as GatewayError).retryAfterMs]).toEqual(["send.rate_limited", 23_000]);
    });

    it("tells a closed chat as send.chat_closed", async (context) => {
      const world = await open(context);
      the(world.trouble.closeChat)();
      expect(codeOf(await failing(world))).toBe("send.chat_closed");
    });

    it("tells a lost answer as neither sent nor failed", async (context) => {
      const world = await open(context);
      the(world.trouble.loseAnswer)();
      expect(codeOf(await failing(world))).not.toMatch(/^send\./);
      expect(await world.person.sees()).toHaveLength(1);
    });

    it("shows a piece once, however often it is sent", async (context) => {
      const world = await open(context);
      expect(world.channel.idempotent).toBe(true);
      const body: PieceBody = { kind: "text", rendered: words(world.channel, "Once.") };
      const first = await sent(world, body);
      expect(await sent(world, body)).toEqual(first);
      expect(await world.person.sees()).toHaveLength(1);
    });

    it("shows as many choices below a text as it says", async (context) => {
      const world = await open(context);
      const { choices: most } = world.channel.limits;
      if (most === undefined) return context.skip("it has no buttons");
      const choices = Array.from({ length: most }, (_, n) => ({ label: `Way ${n}`, key: `key${n}` }));
      await sent(world, { kind: "text", rendered: words(world.channel, "Which one?"), choices });
      const [seen] = await world.person.sees();
      expect(seen?.choices).toEqual(choices.map(({ label }) => label));
    });

    it("puts a text in the place of an earlier one, or asks for a message of its own", async (context) => {
      const world = await open(context);
      const [id = ""] = await sent(world, { kind: "text", rendered: words(world.channel, "Yes?") });
      const body: PieceBody = { kind: "text", rendered: words(world.channel, "Yes.") };
      const piece: Piece = { id: PIECE + 1, to: world.to, body, replaces: id };
      const put = (form: Attempt): Promise<readonly PlatformId[]> =>
        world.channel.send(piece, form, new AbortController().signal);
      const outcome: unknown = await put(ATTEMPT).catch((error: unknown) => error);
      const shown = async () => (await world.person.sees()).map(({ text }) => text);
      const said = (text: string) => words(world.channel, text).text;
      if (outcome instanceof Error) {
        expect(outcome).toMatchObject({ code: "send.refused", stepDown: "new" });
        await put({ number: 2, form: "new" });
        expect(await shown()).toEqual([said("Yes?"), said("Yes.")]);
      } else {
        expect(outcome).toEqual([id]);
        expect(await shown()).toEqual([said("Yes.")]);
      }
    });

    it("asks for a message of its own where the one to be replaced is not there", async (context) => {
      const world = await open(context);
      const body: PieceBody = { kind: "text", rendered: words(world.channel, "Yes.") };
      const piece: Piece = { id: PIECE, to: world.to, body, replaces: "987654" };
      const outcome = world.channel.send(piece, ATTEMPT, new AbortController().signal);
      await expect(outcome).rejects.toMatchObject({ code: "send.refused", stepDown: "new" });
    });

    it("takes its messages back, also such as are gone", async (context) => {
      const world = await open(context);
      const { channel, to, person } = world;
      if (!channel.takeBack) return context.skip("it takes nothing back");
      const ids = await sent(world, { kind: "text", rendered: words(channel, "Oops.") });
      const signal = new AbortController().signal;
      await channel.takeBack(to, ids, signal);
      await channel.takeBack(to, ids, signal);
      expect(await person.sees()).toEqual([]);
    });

    it("is ready for a first message at once", async (context) => {
      const { host, channel, to } = await open(context);
      if (!channel.readyAt) return context.skip("it keeps no pace");
      expect(channel.readyAt(to)).toBeLessThanOrEqual(host.host.clock.now());
    });

    it("finds a message whose answer was lost, and shows nobody anything new", async (context) => {
      const world = await open(context);
      const { channel, host, person } = world;
      if (!channel.find) return context.skip("it cannot be searched");
      const before = await heard(world, "Hello?");
      the(world.trouble.loseAnswer)();
      await failing(world);
      const after = await heard(world, "Are you there?");
      const shown = await person.sees();
      const found = await searched(world, { before: [before], after: [after] });
      expect(found).toEqual({ kind: "found", ids: [expect.stringMatching(/./)] });
      expect(await person.sees()).toEqual(shown);
      expect(shown).toHaveLength(1);
      expect(host.logged.filter(({ level }) => level === "error")).toEqual([]);
    });

    it("finds nothing where nothing was sent", async (context) => {
      const world = await open(context);
      if (!world.channel.find) return context.skip("it cannot be searched");
      const before = await heard(world, "Hello?");
      await heard(world, "Hello?");
      const after = await heard(world, "Are you there?");
      expect(await searched(world, { before: [before], after: [after] })).toEqual({ kind: "absent" });
      expect(await world.person.sees()).toEqual([]);
    });

    it("never throws from progress, also when the platform is down", async (context) => {
      const { channel, to, trouble } = await open(context);
      const signs = [{ kind: "typing" }, { kind: "draft", text: "A king" }, { kind: "over" }] as const;
      const show = () => Promise.allSettled(signs.map(async (sign) => channel.progress?.(to, sign)));
      const shown = await show();
      await trouble.unreachable?.();
      shown.push(...(await show()));
      expect(shown.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => "fulfilled"));
    });

    it("takes nothing in after close, and leaves no timer", async (context) => {
      const { host, channel, person, timers } = await open(context);
      await person.say("before");
      await host.whenAccepted(1);
      await channel.close();
      await person.say("after").catch(() => undefined);
      await settle();
      expect(host.accepted).toHaveLength(1);
      expect(timers()).toBe(0);
    });

    it("puts no secret into an error or a log line", async (context) => {
      const told: unknown[] = [];
      const secrets: string[] = [];
      const troubles = ["refuse", "unreachable", "wait", "closeChat", "loseAnswer"] as const;
      for (const trouble of troubles) {
        const world = await open(context);
        secrets.push(...world.secrets);
        await world.trouble[trouble]?.(1);
        told.push(await failing(world).catch(() => undefined));
        const fetching = world.channel.fetch("no-such-file", new AbortController().signal).then(bytesOf);
        told.push(await fetching.catch((error: unknown) => error));
        told.push(world.host.logged, world.host.failures);
      }
      const everything = inspect(told, { depth: 20, maxStringLength: null, showHidden: true });
      expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
    });
  });
}

/** A clock that can be asked how many timers are waiting. */
export function watchedClock(clock: Clock): Clock & { readonly waiting: () => number } {
  const waiting = new Set<object>();
  return {
    now: () => clock.now(),
    after(ms, call) {
      const key = {};
      waiting.add(key);
      const timer = clock.after(ms, () => {
        waiting.delete(key);
        call();
      });
      return {
        cancel() {
          waiting.delete(key);
          timer.cancel();
        },
      };
    },
    waiting: () => waiting.size,
  };
}

const PIECE = 7;
const ATTEMPT: Attempt = { number: 1 };
/** A picture of one pixel, whole. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

async function sent({ channel, to }: ContractWorld, body: PieceBody): Promise<readonly PlatformId[]> {
  const piece: Piece = { id: PIECE, to, body };
  return await channel.send(piece, ATTEMPT, new AbortController().signal);
}

/** What a person says, once it was taken in: what a reply to it would name. */
async function heard({ host, person }: ContractWorld, text: string): Promise<string> {
  const count = host.accepted.length + 1;
  await person.say(text);
  const event = (await host.whenAccepted(count)).at(-1);
  if (event?.type !== "message") throw new Error("no message was accepted last");
  return event.ref;
}

/** Looks for the text whose sending fails in `failing`. */
async function searched({ channel, to }: ContractWorld, known: KnownAround): Promise<Whereabouts> {
  const piece: Piece = { id: PIECE, to, body: { kind: "text", rendered: words(channel, "Hello") } };
  if (!channel.find) throw new Error("it cannot be searched");
  return await channel.find(piece, ATTEMPT, known, new AbortController().signal);
}

/** What a send of a text is answered with; it must fail. */
async function failing(world: ContractWorld): Promise<unknown> {
  const outcome = await sent(world, { kind: "text", rendered: words(world.channel, "Hello") }).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (!outcome) throw new Error("the send went through");
  return outcome.error;
}

function words(channel: Channel, said: string): Rendered {
  return channel.render({ blocks: [{ type: "paragraph", inline: [{ type: "text", text: said }] }] });
}

function longest(channel: Channel): Rendered {
  const around = words(channel, "a").text.length - 1;
  return words(channel, "a".repeat(channel.limits.textLength - around));
}

function picture(world: ContractWorld): MediaBlock {
  return { ...block(world, PNG, "image/png", "image", "kingfisher.png"), width: 1, height: 1 };
}

function block(
  { host }: ContractWorld,
  bytes: Uint8Array,
  mimeType: string,
  type: MediaKind,
  filename: string,
): MediaBlock {
  return { type, mimeType, blob: host.putBlob(bytes), bytes: bytes.length, filename };
}

function messageOf(host: TestHost): MessageEvent {
  const [event] = host.accepted;
  if (event?.type !== "message") throw new Error("no message was accepted first");
  return event;
}

function contentOf(event: TestHost["accepted"][number]): unknown {
  return event.type === "message" ? event.content : event.type;
}

function fileIn(host: TestHost) {
  const file = messageOf(host).content.find((part) => part.type === "unfetched");
  if (!file) throw new Error("the message announces no file");
  return file;
}

async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function someBytes(length: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 1) bytes[at] = (at * 7 + (at >> 8)) % 256;
  return bytes;
}

function codeOf(error: unknown): string {
  return error instanceof GatewayError ? error.code : "none";
}

function the<T>(means: T | undefined): T {
  if (means === undefined) throw new Error("this platform lacks the trouble: skip the case with a reason");
  return means;
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve!: () => void; // the executor runs before this function returns
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
