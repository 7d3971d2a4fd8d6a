import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LIMITS as telegramLimits } from "../../channels/telegram/limits.ts";
import { render as renderTelegram } from "../../channels/telegram/render.ts";
import { LIMITS as webLimits } from "../../channels/web/channel.ts";
import { render as renderWeb } from "../../channels/web/render.ts";
import { LIMITS as whatsappLimits } from "../../channels/whatsapp/limits.ts";
import { render as renderWhatsapp } from "../../channels/whatsapp/render.ts";
import { inSigns } from "../../channels/whatsapp/signs.ts";
import type { Channel, PieceBody } from "../../src/core/channel.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Rendered } from "../../src/core/tree.ts";
import { inThisProcess } from "../../src/media/workshop.ts";
import { planReply } from "../../src/reply/plan.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { openBot } from "../channels/telegram/set-up.ts";
import { memoryLog } from "../support/channel-host.ts";
import { htmlFaults, htmlText, htmlCode } from "../support/html.ts";
import { captionText, messageText } from "../support/telegram/text.ts";
import { ToyPlatform, toyKind } from "../support/toy-channel.ts";
import { readSigns } from "../support/whatsapp-text.ts";
import { markdownDocument, random } from "./documents.ts";
import { ORDERED, spokenAnswer } from "./spoken.ts";

const COUNT = process.env["PERCH_LONG"] ? 20_000 : 500;
/** Of these, as many answers go through the real channel to Telegram's stand-in. */
const THROUGH_HTTP = 20;

type Under = Pick<Channel, "limits" | "render" | "lengthOf">;

let folder: string;
let toy: Under;
let by: Omit<Parameters<typeof planReply>[1], "channel">;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-fuzz-"));
  const outputs = join(folder, "outputs");
  await mkdir(outputs);
  await cp(join(import.meta.dirname, "../fixtures/media/red64.png"), join(outputs, "chart.png"));
  const blobs = new FileBlobs(join(folder, "blobs"));
  toy = await toyKind(new ToyPlatform()).open({}, undefined as never); // it only keeps the host
  by = {
    roots: { outputs },
    answers: { mediaHosts: [] },
    blobs,
    workshop: inThisProcess(blobs),
    imagePixels: 1_000_000,
    clock: systemClock,
    log: memoryLog([]),
    signal: new AbortController().signal,
  };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What a channel is tried with: how its pieces are looked at, each by a reader that is not the renderer. */
type Trial = {
  readonly channel: () => Under;
  /** Why the platform would refuse or spoil a text, in words. */
  readonly faults: (rendered: Rendered, isCaption: boolean) => readonly string[];
  readonly text: (rendered: Rendered) => string;
  /** Lines of blocks of code, in order; those of drawn tables may be among them. */
  readonly code: ((rendered: Rendered) => readonly string[]) | undefined;
};

const markedCode =
  (type: string) =>
  ({ text, marks }: Rendered): readonly string[] =>
    marks
      .filter((mark) => mark.type === type)
      .flatMap(({ offset, length }) => text.slice(offset, offset + length).split("\n"));

const TRIALS: Readonly<Record<string, Trial>> = {
  telegram: {
    channel: () => ({ limits: telegramLimits, render: renderTelegram }),
    faults({ text, marks }, isCaption) {
      try {
        const kept = isCaption ? captionText(text, [...marks]) : messageText(text, [...marks]);
        return bare(kept?.text ?? "") === bare(text) ? [] : ["the server changes the text"];
      } catch (refusal) {
        return [String(refusal)];
      }
    },
    text: ({ text }) => text,
    code: markedCode("pre"),
  },
  web: {
    // Small enough that answers are cut as trees.
    channel: () => ({ limits: { ...webLimits, textLength: 3_000 }, render: renderWeb }),
    faults: ({ text }) => htmlFaults(text),
    text: ({ text }) => htmlText(text),
    code: ({ text }) => htmlCode(text),
  },
  whatsapp: {
    channel: () => ({
      limits: { ...whatsappLimits, textLength: 600 },
      render: renderWhatsapp,
      lengthOf: (rendered) => inSigns(rendered).length,
    }),
    faults(rendered) {
      const read = readSigns(inSigns(rendered));
      const plain = (text: string): string => text.replaceAll("\u200b", "");
      const faults =
        plain(read.text) === plain(rendered.text) ? [] : ["signs are read as text, or text as signs"];
      const meant = new Set(rendered.marks.map(({ type }) => type));
      return [
        ...faults,
        ...read.marks.flatMap(({ type }) => (meant.has(type) ? [] : [`${type} that nobody meant`])),
      ];
    },
    text: (rendered) => readSigns(inSigns(rendered)).text,
    code: markedCode("block"),
  },
  toy: { channel: () => toy, faults: () => [], text: ({ text }) => text, code: undefined },
};

const bare = (text: string): string => text.normalize("NFC").replaceAll(/[\s\u200b\u200c\u200f\u202e]/g, "");

type Said = { readonly rendered: Rendered; readonly isCaption: boolean };

/** Texts and captions in the order of the pieces. */
function said(bodies: readonly PieceBody[]): readonly Said[] {
  return bodies.flatMap((body): readonly Said[] => {
    if (body.kind === "text") return [{ rendered: body.rendered, isCaption: false }];
    const items = body.kind === "album" ? body.items : [body];
    return items.flatMap(({ caption }) => (caption ? [{ rendered: caption, isCaption: true }] : []));
  });
}

function commonFaults(bodies: readonly PieceBody[], { limits, lengthOf }: Under): readonly string[] {
  return said(bodies).flatMap(({ rendered, isCaption }) => {
    const length = lengthOf?.(rendered) ?? rendered.text.length;
    return [
      ...(length > (isCaption ? limits.captionLength : limits.textLength) ? [`${length} units`] : []),
      ...(/\p{Surrogate}/u.test(rendered.text) ? ["half a pair of surrogates"] : []),
      ...(rendered.text.trim() === "" ? ["nothing in it"] : []),
      ...rendered.marks.flatMap(({ offset, length: of, head }) =>
        offset < 0 || offset + of > rendered.text.length || head !== undefined ? ["a mark that is none"] : [],
      ),
    ];
  });
}

describe.each(Object.entries(TRIALS))("%s", (name, trial) => {
  it(`takes ${COUNT} answers, and shows every word of them once, in order, and code to the letter`, async () => {
    const channel = trial.channel();
    let pieces = 0;
    for (let seed = 1; seed <= COUNT; seed++) {
      const { markdown, ordered, loose, code } = spokenAnswer(random(seed));
      const bodies = await planReply(markdown, { ...by, channel });
      const parts = said(bodies);
      pieces += bodies.length;
      const faults = [
        ...commonFaults(bodies, channel),
        ...parts.flatMap(({ rendered, isCaption }) => trial.faults(rendered, isCaption)),
      ];
      const text = bare(parts.map(({ rendered }) => trial.text(rendered)).join(""));
      const found = Array.from(text.matchAll(new RegExp(`(?<=\\D)\\d+${ORDERED}`, "g")), ([one]) => one);
      const lines = trial.code && parts.flatMap(({ rendered }) => trial.code?.(rendered) ?? []);
      expect({ name, seed, faults }).toEqual({ name, seed, faults: [] });
      expect({ name, seed, found }).toEqual({
        name,
        seed,
        found: ordered.map((_, at) => `${at}${ORDERED}`),
      });
      let at = 0;
      for (const one of ordered) {
        const place = text.indexOf(bare(one), at);
        expect({ seed, one, isThere: place >= at }).toEqual({ seed, one, isThere: true });
        at = place;
      }
      for (const one of loose)
        expect({ seed, one, isThere: text.includes(bare(one)) }).toEqual({ seed, one, isThere: true });
      if (lines)
        expect({ seed, code: lines.filter((line) => / line\d+$/.test(line)) }).toEqual({ seed, code });
    }
    if (process.env["PERCH_COUNTS"]) console.log(`${name}: ${COUNT} answers, ${pieces} pieces, 0 refused`);
  });

  it(`takes ${COUNT} answers in which everything may stand in everything`, async () => {
    const channel = trial.channel();
    for (let seed = 1; seed <= COUNT; seed++) {
      const bodies = await planReply(markdownDocument(random(seed)), { ...by, channel });
      const faults = [
        ...commonFaults(bodies, channel),
        ...said(bodies).flatMap(({ rendered, isCaption }) => trial.faults(rendered, isCaption)),
      ];
      expect({ name, seed, faults, none: bodies.length === 0 }).toEqual({
        name,
        seed,
        faults: [],
        none: false,
      });
    }
  });
});

it(`Telegram's server itself takes ${THROUGH_HTTP} of them`, async () => {
  const bot = await openBot();
  try {
    for (let seed = 1; seed <= THROUGH_HTTP; seed++) {
      const { markdown } = spokenAnswer(random(seed));
      const bodies = await planReply(markdown, { ...by, channel: bot.channel });
      for (const body of bodies) {
        const media = body.kind === "text" ? [] : body.kind === "album" ? body.items : [body];
        for (const { media: block } of media) bot.host.putBlob(await by.blobs.read(block.blob));
        await bot.send(body);
      }
      const texts = bot.emulator.sent.map(({ text, caption }) => text ?? caption ?? "").join("");
      expect(bare(texts)).toContain(bare(said(bodies)[0]?.rendered.text ?? ""));
    }
  } finally {
    await bot.close();
  }
});
