import { linkSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { render } from "../../channels/telegram/render.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { loadMedia, type MediaRoots } from "../../src/reply/load-media.ts";
import { takeMedia } from "../../src/reply/media-refs.ts";
import { parseMarkdown } from "../../src/reply/tree.ts";
import { outboundTree, SECRET } from "./outbound-tree.ts";

type Case = {
  readonly id: string;
  readonly symptom: string;
  readonly input: { readonly text: string; readonly setup?: string; readonly root_config?: string };
  readonly expected: {
    readonly media: readonly string[];
    readonly error: string | null;
    readonly error_also?: readonly string[];
    readonly text_has?: readonly string[];
    readonly text_lacks?: readonly string[];
    readonly may_send_nothing?: boolean;
    readonly may_also_send?: readonly string[];
  };
};

const fixture = new URL("../fixtures/cases/outbound-references.json", import.meta.url);
const cases = JSON.parse(readFileSync(fixture, "utf8")) as readonly Case[]; // a fixture of ours

let tree: ReturnType<typeof outboundTree>;
beforeEach(() => {
  tree = outboundTree();
});
afterEach(() => tree.close());

/** What an answer comes to: the files that would be sent, the codes of refusals, and the text with its links. */
async function outcome(text: string, roots: MediaRoots) {
  const sent: string[] = [];
  const errors: string[] = [];
  const words: string[] = [];
  for (const part of takeMedia(parseMarkdown(text)).parts) {
    if (part.kind === "text") {
      const rendered = render(part.tree);
      words.push(rendered.text, ...rendered.marks.map(({ url }) => url ?? ""));
      continue;
    }
    words.push(part.alt);
    try {
      await loadMedia(part.path, roots, 1_000_000, async (chunks) => {
        for await (const chunk of chunks) sent.push(Buffer.from(chunk).toString());
      });
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      errors.push(error.code.replace(".", "_"));
      words.push(error.message);
    }
  }
  return { sent: [...new Set(sent)], errors, text: words.join("\n") };
}

describe("references in an answer", () => {
  // The race has a test of its own, with the swapping.
  const driven = cases.filter(({ id }) => id !== "PTH-17");

  it.each(driven)("$id: $symptom", async ({ input, expected }) => {
    if (input.setup?.includes("second hard link"))
      linkSync(join(tree.root, "chart.png"), join(tree.root, "other.png"));
    const place = (text: string) => text.replaceAll("{ROOT}", tree.root).replaceAll("{BASE}", tree.base);
    // A folder that the operator has set may be a link; the chat's own must be in its place.
    const rootsOf = (config: string | undefined): MediaRoots => ({
      outputs: config === undefined ? tree.root : join(tree.base, "none"),
      ...(config === undefined ? {} : { assets: place(config) }),
    });
    const result = await outcome(place(input.text), rootsOf(input.root_config));

    // A file holds its own name, a link the name of what it leads to.
    const media = expected.media.map((name) => (name === "link_inside.png" ? "chart.png" : name));
    const tolerated = new Set([...media, ...(expected.may_also_send ?? [])]);
    const tells = [expected.error, ...(expected.error_also ?? [])].filter((code) => code !== null);
    // What the case leaves open: whether anything is sent, and whether a refusal is told.
    const either = expected.may_send_nothing === true;
    const told = either || tells.length === 0 || result.errors.some((code) => tells.includes(code));
    const silent =
      either || tells.length > 0 || expected.may_also_send !== undefined || result.errors.length === 0;

    expect(result.sent.filter((name) => !tolerated.has(name))).toEqual([]);
    expect(result.sent.filter((name) => media.includes(name))).toEqual(
      media.filter((name) => !either || result.sent.includes(name)),
    );
    expect({ errors: result.errors, told, silent }).toEqual({
      errors: result.errors,
      told: true,
      silent: true,
    });
    // Code keeps its words, not its backticks.
    for (const part of expected.text_has ?? []) expect(result.text).toContain(part.replaceAll("`", ""));
    for (const part of [...(expected.text_lacks ?? []), SECRET, "[]("])
      expect(result.text).not.toContain(part);
  });

  it("names no folder of this machine when it refuses", async () => {
    const { text } = await outcome(
      `![](${tree.root}/chart.png) ![](file://${tree.root}/chart.png) ![](../secret.png) ![](gone.png)`,
      { outputs: tree.root },
    );
    expect(text).not.toContain(tree.base);
    expect(text).toContain('"chart.png" is not within the outputs folder');
    expect(text).toContain('there is no file "gone.png"');
  });
});
