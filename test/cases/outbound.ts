import {
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { extname, join } from "node:path";
import sharp from "sharp";
import { expect } from "vitest";
import { outboundTree, SECRET } from "../reply/outbound-tree.ts";
import type { Shown, ShownMedia } from "./phone.ts";
import { type Case, inFull, platformsOf } from "./cases.ts";
import { textsOf } from "./expected.ts";
import { caseFile } from "./files.ts";
import { codesOf } from "./notices.ts";
import type { Platform, World } from "./world.ts";

/** An answer as it came through on one platform. */
export type Answer = {
  readonly platform: Platform;
  readonly source: string;
  readonly shown: readonly Shown[];
  /** The files of the tree that were sent, in order. */
  readonly sent: readonly string[];
  /** The codes of references that were refused, on all platforms of the case. */
  readonly refused: readonly string[];
};

export type Tree = ReturnType<typeof outboundTree>;

/** The tree with real pictures in it; each ends with what the file held, so that it is known wherever it turns up. */
export async function pictureTree(): Promise<Tree> {
  const tree = outboundTree();
  const pictures = new Map([
    [".png", await caseFile("red64.png")],
    [".jpg", await caseFile("photo.jpg")],
  ]);
  for (const name of readdirSync(tree.base, { recursive: true, encoding: "utf8" })) {
    const path = join(tree.base, name);
    const picture = pictures.get(extname(name));
    if (picture === undefined || !lstatSync(path).isFile()) continue;
    const held = readFileSync(path);
    // A file of two names is met twice.
    if (!held.subarray(0, 8).equals(picture.subarray(0, 8)))
      writeFileSync(path, Buffer.concat([picture, held]));
  }
  for (const [name, from] of DRAWN) writeFileSync(join(tree.root, name), await caseFile(from));
  return tree;
}

/** Files of the tree that are changed before they are sent, or may be, and what they are in the collection. */
const DRAWN = [
  ["anim.gif", "animated.gif"],
  ["drawing.svg", "script.svg"],
  ["ratio.png", "ratio_300x7000.png"],
  ["big16.png", "rgb16.png"],
] as const;
/** Leads to chart.png. */
const LINK = "link_inside.png";

/** Has an agent answer with what the case says, on each of its platforms. */
export async function answer(one: Case, world: World): Promise<readonly Answer[]> {
  const tree = await pictureTree();
  const files = readdirSync(tree.root, { recursive: true, encoding: "utf8" });
  const settled = setUp(one, tree);
  const logged = world.gateway.logged.length;
  const place = (text: string): string =>
    text.replaceAll("{ROOT}", tree.root).replaceAll("{BASE}", tree.base);
  const source = place(inFull(one.input.text ?? one.input.model_reply ?? ""));
  try {
    const answers = await Promise.all(
      platformsOf(one).map(async (platform) => {
        const assets = place(one.input.root_config ?? "{ROOT}");
        const talk = await world.talk({ platform, says: source, assets });
        await talk.ask("Please.");
        await talk.finish();
        const shown = talk.shown();
        const media = shown.flatMap((each) => each.media ?? []);
        const sent = await Promise.all(media.map((each) => nameOf(each, files, one.expected)));
        return { platform, source, shown, sent };
      }),
    );
    const lines = world.gateway.logged.slice(logged);
    const refused = lines.flatMap(({ fields }) =>
      typeof fields["code"] === "string" ? [fields["code"]] : [],
    );
    for (const { shown } of answers) expect(textOf(shown)).not.toContain(tree.base);
    return answers.map((each) => ({ ...each, refused }));
  } finally {
    await settled();
    tree.close();
  }
}

/** What has happened to the tree; gives how to make it stop. */
function setUp({ input: { setup = "" } }: Case, { root }: Tree): () => Promise<void> {
  if (setup.includes("second hard link")) linkSync(join(root, "chart.png"), join(root, "other.png"));
  if (!setup.includes("a loop swaps")) return async () => {};
  const ended = new AbortController();
  const [folder, aside] = [join(root, "sub"), join(root, "sub-aside")];
  const swapping = (async () => {
    while (!ended.signal.aborted) {
      renameSync(folder, aside);
      symlinkSync("../outside_dir", folder);
      await new Promise((resolve) => setImmediate(resolve));
      rmSync(folder);
      renameSync(aside, folder);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  return async () => {
    ended.abort();
    await swapping;
  };
}

/** Checks an answer against the fields of its case. */
export function checkAnswer({ expected }: Case, { source, shown, sent, refused }: Answer): void {
  const words = textOf(shown);
  for (const part of textsOf(expected)) expect(words).toContain(part);
  for (const part of [...(expected.text_lacks ?? []), SECRET, "[]("]) expect(words).not.toContain(part);
  for (const { text } of shown) {
    expect(text.isWellFormed()).toBe(true);
    if (!source.includes("\n\n\n")) expect(text).not.toContain("\n\n\n");
  }
  if (expected.exact !== undefined) expect(shown.map(({ text }) => text)).toEqual([expected.exact]);
  checkMedia(expected, [...new Set(sent)]);
  const secret = shown.filter(({ media }) => media?.bytes.includes(SECRET));
  expect(secret.filter(({ media }) => !expected.may_also_send?.includes(media?.name ?? ""))).toEqual([]);
  if ("error" in expected) checkRefusals(expected, refused);
}

/** In their order, each once; where the case leaves open whether they go, those that went. */
function checkMedia(expected: Case["expected"], sent: readonly string[]): void {
  const { media = [], may_also_send: also = [], may_send_nothing: either = false } = expected;
  const wanted = either ? media.filter((name) => sent.includes(name)) : media;
  expect(sent.filter((name) => media.includes(name))).toEqual(wanted);
  expect(sent.filter((name) => !media.includes(name) && !also.includes(name))).toEqual([]);
}

/** A refusal is logged with its kind, and nothing else is refused; a case that leaves open what is sent leaves that open. */
function checkRefusals(expected: Case["expected"], refused: readonly string[]): void {
  if (expected.may_send_nothing) return;
  const kinds = [expected.error ?? [], expected.error_also ?? []].flat();
  if (kinds.length > 0) expect(refused.filter((code) => codesOf(kinds).includes(code))).not.toEqual([]);
  else if (expected.may_also_send === undefined) expect(refused).toEqual([]);
}

/**
 * Which of these files it is: by how it ends, else by its name, of which a conversion keeps the stem. Where a platform hands
 * no name over, by what is drawn there, and a link cannot be told from what it leads to.
 */
async function nameOf(
  { bytes, name }: ShownMedia,
  files: readonly string[],
  { media = [] }: Case["expected"],
): Promise<string> {
  const held = files.find((file) => bytes.subarray(-Buffer.byteLength(file)).equals(Buffer.from(file)));
  const mayBeLink = name === "" ? media.includes(LINK) : name === LINK;
  if (held !== undefined) return held === "chart.png" && mayBeLink ? LINK : held;
  if (name === "") return await drawnIn(bytes);
  const stem = name.replace(/\.\w+$/, "");
  return files.find((file) => file.startsWith(`${stem}.`)) ?? name;
}

async function drawnIn(bytes: Buffer): Promise<string> {
  const colours = await coarse(bytes);
  for (const [name, from] of DRAWN) {
    const others = await coarse(await caseFile(from));
    if (colours.every((colour, at) => Math.abs(colour - (others[at] ?? 0)) <= 8)) return name;
  }
  return "";
}

/** A picture in four fields. */
async function coarse(bytes: Buffer): Promise<readonly number[]> {
  const small = sharp(bytes).flatten({ background: "white" }).resize(2, 2, { fit: "fill" });
  return [...(await small.removeAlpha().toColourspace("srgb").raw().toBuffer())];
}

/** All that is read in an answer: its texts with the addresses of links, and once more with code in backticks. */
export function textOf(shown: readonly Shown[]): string {
  const plain = shown.map(({ text }) => text.replaceAll("\u200b", "")).join("\n");
  const links = shown.flatMap(({ marks }) => marks.map(({ url = "" }) => url)).filter((url) => url !== "");
  return [plain, shown.map(inBackticks).join("\n"), ...links].join("\n");
}

function inBackticks({ text, marks }: Shown): string {
  let out = text;
  for (const { type, offset, length } of marks.toReversed())
    if (type === "code")
      out = `${out.slice(0, offset)}\`${out.slice(offset, offset + length)}\`${out.slice(offset + length)}`;
  return out;
}
