import { afterEach, describe, expect, it } from "vitest";
import type { MediaBlock } from "../../../src/core/blocks.ts";
import type { Reply } from "../../support/models/server.ts";
import { base64, medium } from "../media-blocks.ts";
import { closeServers, served, type Served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;
const limits = { turnSeconds: 60, messages: 1_000, characters: 1_000_000, mediaTurns: 40 };

const photo = (told: Served, name: string, side: number | undefined): Promise<MediaBlock> =>
  medium(
    told.blobs,
    {
      type: "image",
      mimeType: "image/jpeg",
      filename: `${name}.jpg`,
      ...(side === undefined ? {} : { width: side, height: 600 }),
    },
    { bytes: `<${name}>` },
  );

const world = () => served("anthropic", { limits });

const show = async (told: Served, id: string, ...sides: readonly (number | undefined)[]) => {
  const photos = sides.map((side, at) => photo(told, `${id}.${at}`, side));
  return await told.runner.run(turn(told.agent, id, await Promise.all(photos)), never);
};

/** The names of the pictures in a request. */
function seen(told: Served, request = -1): readonly string[] {
  const body = JSON.stringify(told.server.requests.at(request)?.body);
  const images = [...body.matchAll(/"data":"([^"]+)"/g)].map(([, data = ""]) => data);
  return images.map((data) => Buffer.from(data, "base64").toString().slice(1, -1));
}

const names = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `${from + at}.0`);

/** As Anthropic says it; `most` is how many pictures may stand beside a large one. */
const manyImages =
  (told: Served, most: number): Reply =>
  () =>
    seen(told).length > most
      ? {
          fault: "status",
          status: 400,
          message:
            "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
        }
      : "seen";

describe("a request of more than twenty pictures", () => {
  it("has no large one in it: twenty-four photos of a conversation push out the large one before them (IMG-25)", async () => {
    const told = await world();
    await show(told, "1", 4_000);
    for (let id = 2; id <= 25; id += 1) await show(told, String(id), 1_280);
    expect(seen(told, 19)).toEqual(names(1, 20));
    expect(seen(told)).toEqual(names(2, 25));
    expect(JSON.stringify(told.server.requests.at(-1)?.body)).toContain(
      "left out, too large for a request of so many pictures",
    );
  });

  it("keeps the newest where that is a large one, and nineteen before it", async () => {
    const told = await world();
    for (let id = 1; id <= 24; id += 1) await show(told, String(id), 1_280);
    expect(seen(told)).toEqual(names(1, 24));
    await show(told, "25", 4_000);
    expect(seen(told)).toEqual(names(6, 25));
  });

  it("takes one of unknown size for a large one", async () => {
    const told = await world();
    await show(told, "1", undefined);
    for (let id = 2; id <= 22; id += 1) await show(told, String(id), 1_280);
    expect(seen(told)).toEqual(names(2, 22));
  });

  it("is never made of thirty large photos, whatever the provider's limit is on that (THR-11)", async () => {
    const told = await world();
    for (let id = 1; id <= 30; id += 1) {
      told.server.reply(manyImages(told, 20));
      expect(await show(told, String(id), 4_000)).toMatchObject({ markdown: "seen", refused: [] });
    }
    expect(told.server.requests).toHaveLength(30);
    expect(seen(told)).toEqual(names(11, 30));
  });
});

describe("a provider that takes fewer pictures at once", () => {
  it("is sent the newest alone, without the session sticking, and nothing is held against the others (THR-11)", async () => {
    const told = await world();
    for (let id = 1; id <= 30; id += 1) {
      told.server.reply(manyImages(told, 6), manyImages(told, 6), manyImages(told, 6));
      expect(await show(told, String(id), 4_000)).toMatchObject({ markdown: "seen", refused: [] });
      expect(seen(told).at(-1)).toBe(`${id}.0`);
      expect(seen(told).length).toBeLessThanOrEqual(6);
      // What was scripted and not needed.
      told.server.reply();
    }
    expect(told.server.requests.length).toBeLessThanOrEqual(30 + 2);
  });

  it("keeps some frames of a video, rather than none", async () => {
    const told = await served("openai");
    const stills = Array.from({ length: 12 }, (_, at) => `0:${at}`);
    const video = await medium(told.blobs, { type: "video", mimeType: "video/mp4" }, { stills });
    told.server.reply({
      fault: "status",
      status: 400,
      message: "At most 4 image(s) may be provided in one request.",
    });
    expect(await told.runner.run(turn(told.agent, "1", [video]), never)).toMatchObject({ refused: [] });
    const sent = stills.filter((label) => told.sentText().includes(base64(label)));
    expect(sent).toHaveLength(4);
    expect(told.server.requests).toHaveLength(2);
  });
});
